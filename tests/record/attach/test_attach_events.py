"""Events of a running tree: every FIFO is found, the past is kept, nothing is left behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

from mgtop.record.attach import events as events_module
from mgtop.record.attach.events import Translator, TreePipes
from mgtop.record.attach.fifos import FoundPipe, Place, places
from mgtop.record.attach.past import Past
from mgtop.record.attach.process import Process, find
from mgtop.record.attach.target import AttachedTarget
from mgtop.record.events import Intake
from mgtop.record.loss import LossAccount
from mgtop.record.pipes import PipeError
from mgtop.wire.records import AnyEvent, FrameEmit, Hello, Mark, RequestReceived, SourceState
from tests.record.attach.programs import FRAMES, IDLE, bytes_in, program, python, until


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "LOOK_PERIOD_NS", 10_000_000)


def fifo_of(runtime: Path, pid: int) -> Path:
    return runtime / f"{pid}.fifo"


def is_locked(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


class Reader:
    """Reads all events of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self.target = AttachedTarget(pid, find(pid).proc)
        self.pipes = TreePipes(self.target.members)
        self.losses = LossAccount(from_start=False)
        self.translator = Translator(
            self.target.members, lambda: any(place.owner is None for place in self.pipes.places)
        )
        self.intake = Intake(1, self.losses, self.translator)
        self.events: list[AnyEvent] = []

    def read(self) -> list[AnyEvent]:
        new = self.intake.feed(self.pipes.read(), time.monotonic_ns())
        self.events += new
        return new

    def frames(self) -> list[FrameEmit]:
        self.read()
        return [event for event in self.events if isinstance(event, FrameEmit)]

    def lost(self) -> int:
        taken = self.losses.take(time.monotonic_ns(), final=True)
        return sum(loss.dropped for loss in taken)

    def close(self) -> None:
        self.pipes.close(remove=False)
        self.target.close()


def test_the_pipe_holds_what_happened_before(tmp_path: Path) -> None:
    with program(*python(FRAMES, 0.005), runtime=tmp_path) as running:
        until(lambda: bytes_in(fifo_of(tmp_path, running.pid)) > 6_000)
        attached_ns = time.monotonic_ns()
        reader = Reader(running.pid)
        reader.pipes.look()
        reader.read()
        before = [frame for frame in reader.events if frame.t_ns < attached_ns]
        assert len(before) > 40
        assert reader.events[0].seq == 0
        assert isinstance(reader.events[0], Hello)
        until(lambda: reader.frames()[-1].t_ns > attached_ns + 200_000_000)
        frames = reader.frames()
        assert [frame.emit for frame in frames] == list(range(len(frames)))
        assert reader.lost() == 0
        reader.close()


def test_a_full_pipe_holds_the_newest_and_nothing_counts_as_lost(tmp_path: Path) -> None:
    with program(*python(FRAMES, 0), runtime=tmp_path) as running:
        fifo = fifo_of(tmp_path, running.pid)
        until(lambda: bytes_in(fifo) > 1_030_000)
        until(lambda: bytes_in(fifo) < 1_010_000)  # the oldest were thrown away
        reader = Reader(running.pid)
        reader.pipes.look()
        first = reader.read()
        assert len(first) > 6_000
        assert first[0].seq > 0
        until(lambda: len(reader.frames()) > 60_000)
        # The recorder reads every 20 ms; here at least as often.
        assert reader.lost() == 0
        assert first[-1].t_ns > time.monotonic_ns() - 20_000_000_000
        reader.close()


def test_descendants_have_pipes_of_their_own(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "import mgtop.probe as probe\n"
        "probe.mark('parent')\n"
        "children = [subprocess.Popen([sys.executable, '-c', sys.argv[1], '0.01'])]\n"
        "time.sleep(1)\n"
        "children.append(subprocess.Popen([sys.executable, '-c', sys.argv[1], '0.01']))\n"
        "try: time.sleep(60)\n"
        "finally: [child.kill() for child in children]\n"
    )
    with program(*python(code, FRAMES), runtime=tmp_path) as running:
        until(lambda: len(list(tmp_path.glob("*.fifo"))) == 2)
        reader = Reader(running.pid)
        until(lambda: len({frame.proc for frame in reader.frames()}) == 2)  # one came later
        marks = [event for event in reader.events if isinstance(event, Mark)]
        assert [mark.text for mark in marks] == ["parent"]
        assert len(reader.pipes.places) == 3
        pids = reader.target.pids()
        reader.close()
        for pid in pids[1:]:
            os.kill(pid, 9)


def test_a_forked_childs_pipe_is_found_beside_the_inherited_one(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "from mgtop import probe\n"
        "probe.mark('parent')\n"
        "if os.fork() == 0:\n"
        "    while True: probe.frame(); time.sleep(0.01)\n"
        "while True: time.sleep(1); probe.mark('parent')\n"
    )
    with program(*python(code), runtime=tmp_path) as running:
        reader = Reader(running.pid)
        frames = until(reader.frames)
        assert len(reader.pipes.places) == 2
        child = reader.target.pids()[1]
        assert {frame.proc for frame in frames} == {find(child).proc}
        reader.close()
        os.kill(child, 9)


def test_detaching_leaves_the_pipe_as_it_was(tmp_path: Path) -> None:
    with program(*python(FRAMES, 0.01), runtime=tmp_path) as running:
        fifo = fifo_of(tmp_path, running.pid)
        until(lambda: bytes_in(fifo))
        reader = Reader(running.pid)
        until(reader.frames)
        assert is_locked(fifo)
        reader.close()
        assert not is_locked(fifo)
        assert fifo.exists()
        until(lambda: bytes_in(fifo) > 3_000)
        again = Reader(running.pid)  # and whoever comes next finds the time between in it
        again.pipes.look()
        times = [frame.t_ns for frame in again.frames()]
        assert len(times) > 15
        assert times[-1] - times[0] > 150_000_000
        again.close()


def test_a_second_reader_is_refused(tmp_path: Path) -> None:
    with program(*python(FRAMES, 0.01), runtime=tmp_path) as running:
        until(lambda: bytes_in(fifo_of(tmp_path, running.pid)))
        first = Reader(running.pid)
        first.pipes.look()
        second = Reader(running.pid)
        second.pipes.look()
        assert isinstance(second.pipes.refused, PipeError)
        assert "already being read by another recorder" in str(second.pipes.absence)
        first.close()
        second.pipes.look()
        assert second.pipes.absence is None
        second.close()


def test_a_pipe_whose_name_is_gone_is_found_among_the_open_files(tmp_path: Path) -> None:
    with program(*python(FRAMES, 0.01), runtime=tmp_path) as running:
        fifo = fifo_of(tmp_path, running.pid)
        until(lambda: bytes_in(fifo))
        fifo.unlink()  # a cleaner of /tmp was here
        reader = Reader(running.pid)
        assert until(reader.frames)
        reader.close()


def test_the_runtime_folder_that_the_program_chose_itself(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    code = f"import os; os.environ['MGTOP_RUNTIME'] = {str(own)!r}\n" + FRAMES
    with program(*python(code, 0.01), runtime=tmp_path / "told") as running:
        reader = Reader(running.pid)
        assert until(reader.frames)
        reader.close()


def test_the_pipe_that_a_recorder_left_behind(tmp_path: Path) -> None:
    shared = tmp_path / "run-1.fifo"
    os.mkfifo(shared, 0o600)
    with program(*python(FRAMES, 0.01), env={"MGTOP_FIFO": str(shared)}) as running:
        reader = Reader(running.pid)
        assert until(reader.frames)
        assert [place.owner for place in reader.pipes.places] == [None]
        reader.close()


def test_events_of_a_process_before_it_of_the_same_pid_are_dropped(tmp_path: Path) -> None:
    runtime = tmp_path
    with program(*python(FRAMES, 0.01), runtime=runtime) as old:
        fifo = fifo_of(runtime, old.pid)
        until(lambda: bytes_in(fifo))
        keep = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        until(lambda: bytes_in(fifo) > 3_000)
    # The same FIFO under the new pid: as if the pid had come round again.
    with program(*python("import time; time.sleep(0.5)\n" + FRAMES, 0.01), runtime=runtime) as new:
        fifo.rename(fifo_of(runtime, new.pid))
        reader = Reader(new.pid)
        frames = until(reader.frames)
        assert {frame.proc for frame in frames} == {find(new.pid).proc}
        assert reader.translator.strangers > 10
        reader.close()
    os.close(keep)


def test_no_probe(tmp_path: Path) -> None:
    with program(*python(IDLE), runtime=tmp_path) as running:
        reader = Reader(running.pid)
        assert reader.read() == []
        assert reader.pipes.absence == "there is no probe in the process"
        reader.close()


def test_a_probe_that_speaks_later_is_found(tmp_path: Path) -> None:
    code = "import time; time.sleep(0.7)\n" + FRAMES
    with program(*python(code, 0.01), runtime=tmp_path) as running:
        reader = Reader(running.pid)
        reader.read()
        assert reader.pipes.absence is not None
        assert until(reader.frames)
        assert reader.pipes.absence is None
        assert reader.frames()[0].emit == 0
        reader.close()


def test_what_is_no_fifo_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "1.fifo"
    file.write_text("not one")
    other = tmp_path / "other.fifo"
    os.mkfifo(other)
    link = tmp_path / "2.fifo"
    link.symlink_to(other)
    with pytest.raises(FileNotFoundError):
        FoundPipe(Place(file, str(file), None))
    with pytest.raises(FileNotFoundError):
        FoundPipe(Place(tmp_path / "3.fifo", "3.fifo", None))
    with pytest.raises(PipeError):
        FoundPipe(Place(link, str(link), None))


def test_places_are_told_as_the_process_knows_them(tmp_path: Path) -> None:
    with program(*python(IDLE), env={"MGTOP_RUNTIME": "rel", "MGTOP_FIFO": "/x/run-3.fifo"}) as p:
        process = find(p.pid)
        found = list(places(process))
    assert [(str(place.path), place.name) for place in found] == [
        (f"/proc/{p.pid}/root/x/run-3.fifo", "/x/run-3.fifo"),
        (f"/proc/{p.pid}/cwd/rel/{p.pid}.fifo", f"rel/{p.pid}.fifo"),
    ]


def contained(process: Process, pid: int) -> Process:
    """The same process as it would be in a container, where its pid is 7."""
    inner = process.proc >> 22 << 22 | 7
    return Process(
        pid=pid, proc=process.proc, inner_pid=7, inner_proc=inner, uid=0, inner_uid=0,
        name="python", command=(),
    )  # fmt: skip


def test_events_of_a_container_are_said_under_the_pids_of_here() -> None:
    with program(*python(IDLE), stdout=subprocess.DEVNULL) as running:
        process = contained(find(running.pid), running.pid)
        translate = Translator(lambda: [process], lambda: False)
        event = Mark(t_ns=1, seq=0, proc=process.inner_proc, tid=running.pid, text="hello")
        here = translate(event)
        assert here is not None
        assert here.proc == process.proc
        assert here.tid == running.pid  # its thread ids are those of here in this test
        unknown = translate(Mark(t_ns=1, seq=0, proc=process.inner_proc, tid=3, text="hello"))
        assert unknown is not None
        assert unknown.tid == 0
        assert translate(Mark(t_ns=1, seq=0, proc=99, tid=3, text="who?")) is None


def event(kind: str, t_ns: int, seq: int, proc: int = 5) -> AnyEvent:
    if kind == "frame":
        return FrameEmit(t_ns=t_ns, seq=seq, proc=proc, tid=1, request=1, index=seq, emit=seq,
                         count=2)  # fmt: skip
    return RequestReceived(t_ns=t_ns, seq=seq, proc=proc, tid=1, request=1, id="a")


def test_the_past_begins_with_its_oldest_event() -> None:
    now = 10_000_000_000
    past = Past([event("frame", 9_000_000_000, 5), event("frame", 8_000_000_000, 4, 6)], now)
    assert past.begin_ns == 8_000_000_000
    assert past.seconds == 2.0
    assert past.frames == 4
    assert not past.reaches_the_start
    records = past.records(5)
    states = [record for record in records if isinstance(record, SourceState)]
    assert [(s.source, s.state, s.t_ns) for s in states] == [
        ("host", "absent", past.begin_ns), ("nvml", "absent", past.begin_ns),
    ]  # fmt: skip
    times = [record.t_ns for record in records[2:]]
    assert times == [8_000_000_000, 9_000_000_000, now]


def test_the_start_of_every_process_that_emits_must_be_there() -> None:
    whole = [event("request", 1, 0), event("frame", 2, 1)]
    assert Past(whole, 9).reaches_the_start
    assert not Past([*whole, event("frame", 3, 7, proc=6)], 9).reaches_the_start
    assert not Past([event("request", 1, 0)], 9).reaches_the_start
    assert Past([], 9).begin_ns == 9
    assert Past([], 9).records(5) == []


LONG_REQUEST = """
import time
from mgtop import probe
with probe.request("live", width=64, fps=20) as request:
    request.preprocess_done()
    while True:
        time.sleep(0.001)
        for _ in range(40 if request.emits < 20_000 else 1): request.frame()
"""


def test_parameters_of_a_request_that_began_long_ago_are_known(tmp_path: Path) -> None:
    """Its first event has left the pipe; it is told again once a second."""
    runtime = tmp_path / "runtime"
    with program(*python(LONG_REQUEST), runtime=runtime) as running:
        fifo = runtime / f"{running.pid}.fifo"
        until(lambda: bytes_in(fifo) > 950_000)
        time.sleep(2)  # it is told of once a second
        reader = Reader(running.pid)
        reader.pipes.look()
        now_ns = time.monotonic_ns()
        events = reader.read()
        reader.close()
    past = Past(events, now_ns)
    received = [event for event in events if isinstance(event, RequestReceived)]
    assert [(event.id, event.params["fps"]) for event in received] == [("live", 20)]
    assert received[0].t_ns < past.begin_ns
    assert past.begin_ns == min(e.t_ns for e in events if not isinstance(e, RequestReceived))
