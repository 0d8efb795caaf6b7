"""``mgtop attach`` as a user runs it: every route, and a process that notices nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.status import read_status
from mgtop.record.tree import is_running
from mgtop.session.lock import is_live
from mgtop.session.reader import LogReader
from mgtop.wire.records import (
    AnyRecord,
    FrameEmit,
    HostCpu,
    TargetExit,
    TargetStart,
    TargetStopped,
)
from tests.e2e.attaching import LOGGING, Mgtop, last_line
from tests.e2e.test_run_in_a_terminal import Terminal
from tests.record.attach.programs import FRAMES, IDLE, bytes_in, program, python, until

pytestmark = pytest.mark.e2e


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Mgtop]:
    command = Mgtop(tmp_path)
    yield command
    command.close()


UNTIL = """
import os, sys, time
from mgtop import probe
with probe.request():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
        probe.frame()
"""
"""Makes frames until a file is there."""


def records_of(folder: Path) -> list[AnyRecord]:
    reader = LogReader(folder)
    records: list[AnyRecord] = []
    while more := reader.poll():
        records += more
    return records


def wait_for_recording(mgtop: Mgtop, number: int = 1) -> Path:
    """The session folder, once its recorder has attached."""

    def find() -> Path | None:
        for folder in mgtop.sessions()[number - 1 :]:
            status = read_status(folder)
            if status is not None and status.state == "recording":
                return folder
        return None

    return until(find, 20)


def test_a_program_with_a_probe_is_seen_with_its_past(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime) as running:
        until(lambda: bytes_in(mgtop.runtime / f"{running.pid}.fifo") > 12_000)
        done = mgtop.run("attach", running.pid, "--headless", "--seconds", 1)
        assert done.returncode == 0, done.stderr
        assert running.poll() is None
        assert "through the probe in it" in done.stderr
        assert "it goes on" in done.stderr
        folder = last_line(done.stdout)
        report = mgtop.report(folder)
        left = [path.name for path in mgtop.runtime.iterdir()]
        assert left == [f"{running.pid}.fifo"]
    assert report["target"]["route"] == "probe"
    assert report["target"]["exit_code"] is None
    assert report["target"]["advice"] is None
    assert report["session"]["live"] is False
    assert report["session"]["params"] == {"width": 64, "fps": 20}
    assert report["losses"]["events_dropped"] == report["losses"]["events_malformed"] == 0
    assert report["marks"][0]["note"] == "mgtop attached"
    before_ms = report["marks"][0]["t_ms"]
    assert before_ms > 500
    assert report["session"]["duration_ms"] > before_ms + 900
    records = records_of(folder)
    frames = [record for record in records if isinstance(record, FrameEmit)]
    assert [frame.seq for frame in frames] == sorted(frame.seq for frame in frames)
    emits = [frame.emit for frame in frames if frame.request == 1]
    assert emits == list(range(len(emits)))  # its very first frames were still there
    started = next(record for record in records if isinstance(record, TargetStart))
    assert started.launched is False


def test_what_is_late_before_the_attach_is_not_explained_by_what_was_not_seen(
    mgtop: Mgtop,
) -> None:
    code = FRAMES.replace("time.sleep(period)", "time.sleep(0.3 if _ == 25 else period)")
    with program(*python(code, 0.01), runtime=mgtop.runtime) as running:
        until(lambda: bytes_in(mgtop.runtime / f"{running.pid}.fifo") > 10_000)
        done = mgtop.run("attach", running.pid, "--headless", "--seconds", 0.5)
    tails = mgtop.report(last_line(done.stdout))["tails"]
    assert tails["count"] >= 1
    first = max(tails["frames"], key=lambda tail: tail["excess_ms"])
    assert first["index"] == 25
    states = {line["channel"]: line["state"] for line in first["evidence"]}
    assert states["vram_drop"] == "not_resolved"
    assert states["neighbour"] == "not_resolved"


def test_a_text_log_is_read_from_its_end(mgtop: Mgtop, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    with log.open("w") as out, program(*python(LOGGING), stdout=out) as running:
        until(lambda: log.stat().st_size > 2_000)
        done = mgtop.run("attach", running.pid, "--headless", "--seconds", 1)
    assert done.returncode == 0, done.stderr
    assert f"through its text log {log}" in done.stderr
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "log"
    assert report["session"]["params"] == {"w": 1280, "h": 720, "steps": 24, "fps": 16}
    assert report["playout"]["target_fps"] == 16
    (request,) = report["requests"]
    assert request["id"] == "7f3a"
    assert request["received_ms"] is None  # it was received before anybody looked
    assert 15 <= report["interval_ms"]["p50"] <= 60
    assert report["interval_ms"]["count"] > 15


def test_another_log_and_a_pattern_of_ones_own(mgtop: Mgtop, tmp_path: Path) -> None:
    log, config = tmp_path / "blocks.log", tmp_path / "run.yaml"
    log.write_text("")
    config.write_text(
        "name: mine\nparams: {fps: 24}\nframes: {log: {pattern: 'block (?P<index>\\d+) of 12'}}\n"
    )
    code = (
        "import sys, time\nfile, n = open(sys.argv[1], 'a'), 0\n"
        "while True: n += 1; print(f'block {n} of 12', file=file, flush=True); time.sleep(0.02)"
    )
    with program(*python(code, log)) as running:
        done = mgtop.run(
            "attach", running.pid, "--log", log, "--config", config, "--headless", "--seconds", 1
        )
    assert done.returncode == 0, done.stderr
    folder = last_line(done.stdout)
    assert folder.name.endswith("-mine")
    report = mgtop.report(folder)
    assert report["target"]["route"] == "log"
    assert report["playout"]["target_fps"] == 24


def test_without_frames_the_command_is_told_that_gives_them(mgtop: Mgtop, tmp_path: Path) -> None:
    script = tmp_path / "infer.py"
    script.write_text(IDLE)
    command = (sys.executable, "infer.py", "--steps", "24")
    env = {"CUDA_VISIBLE_DEVICES": "3"}
    with program(*command, cwd=tmp_path, stderr=subprocess.DEVNULL, env=env) as running:
        done = mgtop.run("attach", running.pid, "--headless", "--seconds", 1)
        assert running.poll() is None
    line = f"CUDA_VISIBLE_DEVICES=3 mgtop run -- {sys.executable} infer.py --steps 24"
    assert "/dev/null, which cannot be read from outside" in done.stderr
    assert line in done.stderr
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "observe"
    assert report["target"]["advice"] == line  # mgtop's own folder is the program's
    assert line in report["verdict"]["text"]
    assert report["cpu"]["process_p50"] is not None


def test_two_at_once_become_one(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime) as running:
        both = [mgtop.start("attach", running.pid, "--headless", "--seconds", 2) for _ in "ab"]
        ended = [process.communicate(timeout=40) for process in both]
        assert [process.returncode for process in both] == [0, 0], ended
        folders = {last_line(stdout) for stdout, _ in ended}
        assert len(folders) == 1
        said = "".join(stderr for _, stderr in ended)
        assert said.count("is being recorded already") == 1
        assert said.count("Attached to process") == 1
        assert mgtop.sessions() == [*folders]  # the second one's folder is gone
        assert running.poll() is None


def test_what_mgtop_runs_already_is_opened(mgtop: Mgtop) -> None:
    launched = mgtop.start("run", "--headless", "--", *python(FRAMES, 0.01))
    folder = wait_for_recording(mgtop)
    pid = until(lambda: getattr(read_status(folder), "target_pid", None))
    done = mgtop.run("attach", pid, "--headless", "--seconds", 0.3)
    assert done.returncode == 0
    assert last_line(done.stdout) == folder
    assert "is being recorded already" in done.stderr
    assert is_live(folder)
    mgtop.run("stop", folder, "--target")
    launched.communicate(timeout=20)


def test_the_end_of_the_process_ends_the_recording(mgtop: Mgtop) -> None:
    code = (
        "import time; from mgtop import probe\nfor _ in range(300): probe.frame(); time.sleep(0.01)"
    )
    with program(*python(code), runtime=mgtop.runtime) as running:
        watching = mgtop.start("attach", running.pid, "--headless")
        assert running.wait(20) == 0
        stdout, stderr = watching.communicate(timeout=20)
    assert watching.returncode == 0
    assert "has ended; with what exit code, only its parent knows" in stderr
    records = records_of(last_line(stdout))
    exits = [record for record in records if isinstance(record, TargetExit)]
    assert [(record.code, record.signal) for record in exits] == [(None, None)]
    frames = [record.emit for record in records if isinstance(record, FrameEmit)]
    assert frames == list(range(300))


def test_interrupting_it_does_not_reach_the_program(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime, start_new_session=True) as running:
        watching = mgtop.start("attach", running.pid, "--headless", start_new_session=True)
        folder = wait_for_recording(mgtop)
        until(lambda: any(isinstance(record, FrameEmit) for record in records_of(folder)))
        os.killpg(watching.pid, signal.SIGINT)
        stdout, _ = watching.communicate(timeout=20)
        assert watching.returncode == 130
        assert last_line(stdout) == folder
        assert running.poll() is None
        assert read_status(folder).reason == "stopped"  # type: ignore[union-attr]


def test_a_lost_command_leaves_the_recording(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime) as running:
        watching = mgtop.start("attach", running.pid, "--headless")
        folder = wait_for_recording(mgtop)
        watching.kill()
        watching.communicate()
        time.sleep(0.3)
        assert is_live(folder)
        done = mgtop.run("stop", folder)
        assert "the program goes on" in done.stdout
        assert not is_live(folder)
        assert running.poll() is None


def test_the_program_is_stopped_only_when_that_is_asked_for(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime) as running:
        watching = mgtop.start("attach", running.pid, "--headless")
        folder = wait_for_recording(mgtop)
        done = mgtop.run("stop", folder, "--target")
        assert done.returncode == 0, done.stderr
        assert running.wait(5) == -signal.SIGTERM
        _, stderr = watching.communicate(timeout=20)
        assert watching.returncode == 0
        assert "was stopped, as you asked" in stderr


def test_a_shell_is_watched_without_mgtop_itself(mgtop: Mgtop, tmp_path: Path) -> None:
    arguments = f"{sys.executable} -m mgtop attach $$ --headless --seconds 1.5 --out watched"
    with program("sh", "-c", f"{arguments}; exit 5", env=mgtop.env, cwd=tmp_path) as shell:
        assert shell.wait(30) == 5
    records = records_of(tmp_path / "watched")
    counts = {record.processes for record in records if isinstance(record, HostCpu)}
    assert counts == {1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["4194303"], "There is no process 4194303 here"),
        (["0"], "'0' is no pid"),
        (["4711x"], "'4711x' is no pid"),
        (["/nowhere/1.fifo"], "There is no event pipe /nowhere/1.fifo"),
        (["/dev/null.fifo"], "is no event pipe of a probe"),
        ([str(os.getpid()), "--log", "/nowhere.log"], "There is no log '/nowhere.log'"),
        ([str(os.getpid()), "--log", "/dev/null"], "is not a regular file"),
        ([str(os.getpid()), "--config", "/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_wrong_usage_is_explained_in_a_sentence(
    mgtop: Mgtop, arguments: list[str], said: str
) -> None:
    done = mgtop.run("attach", *arguments, "--headless")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert mgtop.sessions() == []


def test_a_stopped_process_is_attached_to_all_the_same(mgtop: Mgtop) -> None:
    with program(*python(FRAMES, 0.01), runtime=mgtop.runtime) as running:
        until(lambda: bytes_in(mgtop.runtime / f"{running.pid}.fifo") > 5_000)
        os.kill(running.pid, signal.SIGSTOP)
        done = mgtop.run("attach", running.pid, "--headless", "--seconds", 0.7)
        assert done.returncode == 0, done.stderr
        assert is_running(running.pid)
        state = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "T"  # as it was
        stops = [r.stopped for r in records_of(last_line(done.stdout)) if type(r) is TargetStopped]
        assert stops == [True]
        os.kill(running.pid, signal.SIGCONT)
    report = mgtop.report(last_line(done.stdout))
    assert sum(request["frames"] for request in report["requests"]) > 20


def test_the_screen_says_where_frames_come_from(mgtop: Mgtop, tmp_path: Path) -> None:
    with program(*python(FRAMES, 0.02), runtime=mgtop.runtime) as running:
        until(lambda: bytes_in(mgtop.runtime / f"{running.pid}.fifo") > 5_000)
        terminal = Terminal(tmp_path, "attach", str(running.pid))
        try:
            terminal.wait_for(f"(pid {running.pid}, frames from probe)".encode(), 20)
            terminal.wait_for(b"P50", 8)
            terminal.type(b"q")
            terminal.wait_for(b"Leave this view?")
            terminal.type(b"l")
            assert terminal.exit_code(20) == 0
        finally:
            terminal.close()
        assert b"Recording goes on." in terminal.seen
        (folder,) = mgtop.sessions()
        assert is_live(folder)
        mgtop.run("stop", folder)
        assert running.poll() is None


def test_a_pipe_in_a_shared_folder_where_the_program_cannot_be_seen(
    mgtop: Mgtop, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    with program(*python(UNTIL, over), runtime=mgtop.runtime) as running:
        fifo = mgtop.runtime / f"{running.pid}.fifo"
        until(lambda: bytes_in(fifo) > 5_000)
        shared = tmp_path / "shared" / "1.fifo"  # as that container calls it
        shared.parent.mkdir(mode=0o700)
        os.link(fifo, shared)
        watching = mgtop.start("attach", shared, "--headless")
        folder = wait_for_recording(mgtop)
        done = mgtop.run("attach", shared, "--headless")
        assert done.returncode == 2
        assert "already being read by another recorder" in done.stderr
        over.write_text("")
        assert running.wait(20) == 0
        stdout, stderr = watching.communicate(timeout=20)
        assert watching.returncode == 0, stderr
        assert last_line(stdout) == folder
    frames = [record.emit for record in records_of(folder) if isinstance(record, FrameEmit)]
    assert frames == list(range(len(frames)))
    assert len(frames) > 50
    report = mgtop.report(folder)
    assert report["target"]["route"] == "probe"
    assert report["target"]["pid"] == 1
    done = mgtop.run("attach", shared, "--headless")
    assert "The program that made" in done.stderr
