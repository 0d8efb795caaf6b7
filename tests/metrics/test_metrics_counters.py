"""Counters only grow, whoever comes when; labels have an end."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.metrics.families import Family, HistogramValue
from mgtop.metrics.fleet import KEEP_NS, MOST_SESSIONS, Fleet
from mgtop.metrics.following import follow, live_folders
from mgtop.metrics.names import METRICS
from mgtop.metrics.otlp import endpoint_of
from mgtop.metrics.text import encode
from mgtop.session.lock import SessionLock
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

MS, S, START = 1_000_000, 1_000_000_000, 5_000_000_000
PROC = r.proc_of(4242, 77)
Told = dict[tuple[str, str], float]


class Recording:
    """A live session that a test writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.writer = LogWriter(folder)
        self.lock = SessionLock(folder)
        self.t_ns, self.request = START, 0
        self.writer.append([r.SessionStart(START, 10**18, 1, "0.1", folder.name)])

    def emits(self, number: int, late_at: int = -1, route: int = 0) -> None:
        """A request of so many frames, each 100 ms, one late by half a second; it ends."""
        self.request += 1
        key = self.request + route * r.REQUESTS_OF_A_ROUTE
        name = f"request {self.request}"
        self.writer.append([r.RequestReceived(self.t_ns, 0, PROC, 7, key, name, {}, route)])
        for emit in range(number):
            self.t_ns += (600 if emit == late_at else 100) * MS
            self.writer.append([r.FrameEmit(self.t_ns, 0, PROC, 7, key, emit, emit, 1, route)])
        self.writer.append([r.StreamEnd(self.t_ns, 0, PROC, 7, key)])

    def later(self, *records: r.AnyRecord) -> None:
        """Two seconds pass, so that what was late is judged."""
        self.t_ns += 3 * S
        self.writer.append([*records, r.SourceState(self.t_ns, "probe", "ok")])

    def end(self) -> None:
        self.lock.release()
        self.writer.close()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(tmp_path / "a")
    yield recording
    recording.end()


def told(fleet: Fleet, now_ns: int) -> Told:
    """Every value after all was read."""
    while not fleet.poll(now_ns):
        pass
    return values(fleet.families(now_ns))


def values(families: tuple[Family, ...]) -> Told:
    found: Told = {}
    for family in families:
        for point in family.points:
            labels = ",".join(f"{name}={value}" for name, value in point.labels)
            value = point.value
            if isinstance(value, HistogramValue):
                for index, count in value.exponential:
                    found[f"{family.name}_{index}", labels] = count
                found[family.name + "_sum", labels] = value.total
                value = float(value.count)
            assert (family.name, labels) not in found
            found[family.name, labels] = value
    return found


def fell(before: Told, after: Told) -> list[tuple[str, str]]:
    """Counters that went back."""
    grows = tuple(name for name, about in METRICS.items() if about.kind != "gauge")
    return [
        key for key, value in before.items()
        if key[0].startswith(grows) and after.get(key, 0) < value
    ]  # fmt: skip


def test_who_comes_late_counts_the_same(recording: Recording) -> None:
    early = Fleet(tuple, [recording.folder])
    told(early, recording.t_ns)
    for late_at in (5, 9, 12):
        recording.emits(20, late_at)
        recording.later()
        told(early, recording.t_ns)
    late = Fleet(tuple, [recording.folder])
    first, second = told(early, recording.t_ns), told(late, recording.t_ns)
    same = ("mgtop_frames_total", "mgtop_requests_total", "mgtop_late_frames_total")
    assert [v for k, v in first.items() if k[0] in same] == [
        v for k, v in second.items() if k[0] in same
    ]
    assert first["mgtop_frames_total", "session=a"] == 60
    assert first["mgtop_late_frames_total", "session=a,cause=unexplained"] == 3
    assert first["mgtop_late_seconds_total", "session=a,cause=unexplained"] == pytest.approx(1.5)
    assert first["mgtop_interval_seconds", "session=a"] == 3 * (20 - 2)


def test_a_log_still_being_read_has_no_counters_yet(recording: Recording) -> None:
    recording.emits(50)
    fleet = Fleet(tuple, [recording.folder])
    assert values(fleet.families(recording.t_ns)) == {
        ("mgtop_up", ""): 1,
        ("mgtop_sessions", ""): 1,
        ("mgtop_sessions_left_out", ""): 0,
        ("mgtop_session_live", "session=a"): 0,
        ("mgtop_session_caught_up", "session=a"): 0,
    }
    assert told(fleet, recording.t_ns)["mgtop_session_caught_up", "session=a"] == 1


def test_counters_never_go_back(recording: Recording) -> None:
    """A first request becomes warm-up; a better route speaks; the log is replaced, then ends."""
    fleet = Fleet(tuple, [recording.folder])
    before = told(fleet, recording.t_ns)

    def step() -> None:
        nonlocal before
        after = told(fleet, recording.t_ns)
        assert not fell(before, after)
        before = after

    recording.emits(30, 10, route=1)
    recording.later()
    step()
    recording.emits(30, 10, route=1)  # from here on the report leaves the first one out
    step()
    recording.emits(5)  # what hooks told was a guess
    step()
    recording.later()
    step()
    assert before["mgtop_frames_total", "session=a"] >= 60
    log = recording.folder / LOG_NAME
    rotated = recording.folder / "new"
    rotated.write_bytes(log.read_bytes()[:200])
    rotated.replace(log)
    step()
    log.write_bytes(b"")
    step()
    recording.end()
    step()
    assert before["mgtop_session_live", "session=a"] == 0


def test_labels_have_an_end(tmp_path: Path) -> None:
    """Requests are no label; sessions are so many at once; the newest live ones win."""
    with contextlib.ExitStack() as stack:
        made = []
        for number in range(MOST_SESSIONS + 6):
            recording = Recording(tmp_path / f"20260101-{number:06}-many")
            stack.callback(recording.end)
            made.append(recording)
        newest = made[-1]
        fleet = Fleet(lambda: live_folders(tmp_path))
        fleet.look(START)
        first = told(fleet, START)
        assert first["mgtop_sessions", ""] == MOST_SESSIONS
        assert first["mgtop_sessions_left_out", ""] == 6
        assert newest.folder in fleet.sessions
        for _ in range(300):
            newest.emits(3)
        newest.later(*(r.GpuMemory(newest.t_ns, gpu, 1 << 30) for gpu in range(100)))
        newest.later(*(r.GpuProcess(newest.t_ns, 0, pid, 1, "target", "pid") for pid in range(99)))
        second = told(fleet, newest.t_ns)
        mine: defaultdict[str, int] = defaultdict(int)
        for name, labels in second:
            if newest.folder.name in labels and "mgtop_interval_seconds_" not in name:
                mine[name] += 1
        assert max(mine.values()) == 16  # GPUs; causes are 15
        assert not [labels for _, labels in second if "request" in labels]
        for recording in made[10:20]:  # those that have ended make room at once
            recording.end()
        told(fleet, newest.t_ns)
        fleet.look(newest.t_ns)
        assert told(fleet, newest.t_ns)["mgtop_sessions_left_out", ""] == 0
        for recording in made:
            recording.end()
        told(fleet, newest.t_ns)
        fleet.look(newest.t_ns + KEEP_NS // 2)
        assert len(fleet.sessions) == MOST_SESSIONS
        fleet.look(newest.t_ns + KEEP_NS + 1)
        assert not fleet.sessions


def test_readings_are_in_base_units_and_grow_stale(recording: Recording) -> None:
    t_ns = START + S
    recording.writer.append(
        [
            r.GpuMemory(t_ns, 0, 1 << 30),
            r.GpuState(t_ns, 0, sm_mhz=1500, power_mw=250_000, temperature_c=60),
            r.GpuUtilisation(t_ns, 0, 50.0, None, 200 * MS, "poll"),
            r.HostMemory(t_ns, 8 << 30, 6 << 30, 1 << 20),
        ]
    )
    fleet = Fleet(tuple, [recording.folder])
    now = told(fleet, t_ns + S)
    gpu = "session=a,gpu=0"
    assert now["mgtop_gpu_memory_bytes", gpu] == 1 << 30
    assert now["mgtop_gpu_clock_hertz", gpu] == 1.5e9
    assert now["mgtop_gpu_power_watts", gpu] == 250
    assert now["mgtop_gpu_temperature_celsius", gpu] == 60
    assert now["mgtop_gpu_utilisation_ratio", gpu] == 0.5
    assert now["mgtop_process_resident_memory_bytes", "session=a"] == 1 << 20
    assert now["mgtop_recorder_age_seconds", "session=a"] == 1
    later = told(fleet, t_ns + 60 * S)
    assert ("mgtop_gpu_memory_bytes", gpu) not in later
    assert later["mgtop_recorder_age_seconds", "session=a"] == 60


def test_an_open_stall_grows(recording: Recording) -> None:
    recording.emits(5)
    recording.writer.append(
        [r.FrameEmit(recording.t_ns, 0, PROC, 7, 99, n, n, 1) for n in range(1)]
    )
    fleet = Fleet(tuple, [recording.folder])
    age = "mgtop_frame_age_seconds", "session=a"
    assert told(fleet, recording.t_ns + 2 * S)[age] == 2
    assert told(fleet, recording.t_ns + 7 * S)[age] == 7


def test_what_others_named_is_only_text(tmp_path: Path) -> None:
    folder = unpack(tmp_path / 'a "name"\nwith\\ends')
    fleet = Fleet(tuple, [folder])
    told(fleet, START)
    text, _ = encode(fleet.families(START), "")
    lines = [line for line in text.decode().splitlines() if line and not line.startswith("#")]
    assert all(line.startswith("mgtop_") for line in lines)
    assert b'a \\"name\\"\\\\nwith' in text


def test_all_that_are_live_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    root = tmp_path / "mgtop" / "sessions"
    recording = Recording(root / "20260101-000000-one")
    unpack(root / "20250101-000000-ended")
    seen: list[Told] = []
    follow(None, [lambda families: seen.append(values(tuple(families)))], lambda: bool(seen))
    recording.end()
    assert seen[0]["mgtop_sessions", ""] == 1
    assert ("mgtop_session_live", "session=20260101-000000-one") in seen[0]


def test_where_a_collector_takes_metrics() -> None:
    assert endpoint_of("http://h:4318") == "http://h:4318/v1/metrics"
    assert endpoint_of("h:4318") == "http://h:4318/v1/metrics"
    assert endpoint_of("https://h/otel/v1/metrics") == "https://h/otel/v1/metrics"
    assert endpoint_of("ftp://h") is None
    assert endpoint_of("http://") is None
