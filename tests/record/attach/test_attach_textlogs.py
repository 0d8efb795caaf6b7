"""The text that a running program writes: where it goes, and what its new lines tell."""

from __future__ import annotations

import re
import subprocess
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

from mgtop.config.structs import Frames, LogPattern
from mgtop.record.attach.process import find
from mgtop.record.attach.textlogs import TextLogs, output_of
from mgtop.record.attach.textlogs import logs_of as written_logs
from mgtop.record.output_file import GrowingFile
from mgtop.record.textlog import LOG_ROUTE, TextLog
from mgtop.record.textlog_pattern import frame_log
from mgtop.wire.records import FrameEmit, OutputLine, Record, RequestReceived, StreamEnd
from tests.record.attach.programs import IDLE, program, python, until

MS = 1_000_000
SECOND = 1_000 * MS
HEADER = "[req 7f3a] T+0 request_received w=1280 h=720 steps=24 fps=16\n"
BEFORE = (
    HEADER
    + "[req 7f3a] T+1120 first_frame_emit steps_done=24\n"
    + "[req 7f3a] T+1168 frame_emit idx=1 dt=48\n"
)


def logs_of(*paths: Path, frames: Frames | None = None) -> TextLogs:
    return TextLogs(paths, partial(frame_log, frames or Frames(), 77), lambda: False)


def emits(records: list[Record]) -> list[FrameEmit]:
    return [record for record in records if isinstance(record, FrameEmit)]


def test_a_request_that_runs_goes_on_with_its_name_and_parameters(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(BEFORE)
    logs = logs_of(path)
    assert logs.known == 3
    assert logs.params == {"w": 1280, "h": 720, "steps": 24, "fps": 16}
    assert logs.poll(0) == []
    now = 100 * SECOND
    with path.open("a") as file:
        file.write("[req 7f3a] T+1219 frame_emit idx=2 dt=51\n[req 7f3a] T+1690 frame_emit idx=11")
    first = logs.poll(now)
    received, frame = first
    assert isinstance(received, RequestReceived)
    assert (received.id, received.params["steps"], received.route) == ("7f3a", 24, LOG_ROUTE)
    assert received.t_ns == now - 1219 * MS
    assert isinstance(frame, FrameEmit)
    assert (frame.index, frame.emit, frame.t_ns, frame.proc) == (2, 2, now, 77)
    assert frame.interval_ns == 51 * MS
    with path.open("a") as file:
        file.write(" dt=214\n[req 7f3a] T+1732 frame_emit idx=12 dt=42\n")
        file.write("[req 7f3a] T+2601 stream_end frames=30\n")
    more = logs.poll(now + SECOND)
    assert [(frame.index, frame.t_ns - received.t_ns) for frame in emits(more)] == [
        (11, 1690 * MS), (12, 1732 * MS),
    ]  # fmt: skip
    assert isinstance(more[-1], StreamEnd)
    logs.close()


def test_a_request_that_was_over_is_not_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(BEFORE + "[req 7f3a] T+2601 stream_end frames=30\n")
    logs = logs_of(path)
    with path.open("a") as file:
        file.write("[req 7f3a] T+0 request_received w=640\n[req 7f3a] T+90 first_frame_emit\n")
    received, frame = logs.poll(9 * SECOND)
    assert isinstance(received, RequestReceived)
    assert received.params == {"w": 640}
    assert received.t_ns == 9 * SECOND
    assert isinstance(frame, FrameEmit)
    assert frame.emit == 0
    logs.close()


def test_a_line_that_was_half_written_at_the_attach(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(BEFORE + "[req 7f3a] T+1219 frame_em")
    logs = logs_of(path)
    with path.open("a") as file:
        file.write("it idx=2 dt=51\n")
    assert [frame.index for frame in emits(logs.poll(SECOND))] == [2]
    logs.close()


def test_the_header_of_a_long_log_is_found_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    filler = "x" * 99 + "\n"
    path.write_text(BEFORE + filler * 60_000)  # six megabytes later
    logs = logs_of(path)
    assert logs.params["steps"] == 24
    with path.open("a") as file:
        file.write("[req 7f3a] T+999219 frame_emit idx=9999 dt=51\n")
    assert [frame.index for frame in emits(logs.poll(SECOND))] == [9999]
    logs.close()


def test_progress_bars_colours_and_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("")
    logs = logs_of(path)
    with path.open("a") as file:
        file.write("\r 10%|#   | 1/10\r 20%|##  | 2/10 [req a] T+50 first_frame_emit\n")
        file.write("2026-11-30 INFO \x1b[32m[req a]\x1b[0m T+90 \x1b[1mframe_emit\x1b[0m idx=1\r\n")
    assert [(frame.index, frame.emit) for frame in emits(logs.poll(SECOND))] == [(0, 0), (1, 1)]
    logs.close()


def test_a_pattern_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("step 1: block of 12 done\n")
    pattern = LogPattern(pattern=r"step (?P<index>\d+): block of (?P<count>\d+) done")
    logs = logs_of(path, frames=Frames(log=pattern))
    assert logs.known == 1
    for number in (2, 3):
        with path.open("a") as file:
            file.write(f"step {number}: block of 12 done\n")
        found = emits(logs.poll(number * SECOND))
        assert [(frame.count, frame.t_ns) for frame in found] == [(12, number * SECOND)]
    logs.close()


def test_lines_are_not_read_for_frames_where_something_better_tells_them(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(BEFORE)
    better = [False]
    logs = TextLogs([path], lambda: TextLog(), lambda: better[0])
    assert [state.source for state in logs.states(SECOND)] == ["log"]
    better[0] = True
    with path.open("a") as file:
        file.write("[req 7f3a] T+1219 frame_emit idx=2\nCUDA error: CUBLAS_STATUS_ALLOC_FAILED\n")
    assert [type(record) for record in logs.poll(SECOND)] == [OutputLine]
    assert logs.states(SECOND) == []
    logs.close()
    assert frame_log(Frames(from_="probe"), 1) is None
    assert frame_log(Frames(from_="log"), 1) is not None


def test_a_log_that_is_replayed_line_by_line_through_a_growing_file(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    lines = [f"[req r] T+{index * 40} frame_emit idx={index} dt=40\n" for index in range(1, 200)]
    path.write_text("[req r] T+0 request_received fps=25\n[req r] T+5 first_frame_emit\n")
    logs, begin = logs_of(path), time.monotonic_ns()
    found: list[Record] = []
    with path.open("a") as file:
        for number, line in enumerate(lines):
            for part in (line[:9], line[9:]):  # writers are cut at any place
                file.write(part)
                file.flush()
                found += logs.poll(begin + number * 40 * MS)
    frames = emits(found)
    assert [frame.index for frame in frames] == list(range(1, 200))
    steps = {after.t_ns - before.t_ns for before, after in pairwise(frames)}
    assert steps == {40 * MS}
    logs.close()


def test_a_file_that_is_cut_or_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("one\ntwo\n")
    file = GrowingFile(path)
    assert [line.text for line in file.poll(0)] == ["one", "two"]
    path.write_text("3\n")  # copytruncate
    assert [(line.offset, line.text) for line in file.poll(1)] == [(0, "3")]
    path.rename(tmp_path / "app.log.1")
    path.write_text("four\n")
    file.poll(2 * SECOND)
    assert [line.text for line in file.poll(2 * SECOND + 1)] == ["four"]
    path.unlink()
    file.poll(4 * SECOND)
    assert file.is_open
    file.close()


def test_where_output_goes(tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    with out.open("w") as file, program(*python(IDLE), stdout=file, stderr=file) as running:
        (where,) = output_of(find(running.pid))
        assert where.name == str(out)
        assert where.path is not None
        assert where.path.samefile(out)
    with (
        out.open("w") as file,
        program(*python(IDLE), stdout=subprocess.PIPE, stderr=file) as running,
    ):
        assert running.stdout is not None
        (where,) = output_of(find(running.pid))
        assert where.name == str(out)
        running.stdout.close()
    with program(*python(IDLE), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        (where,) = output_of(find(running.pid))
        assert (where.path, where.name) == (None, "a pipe")
        for stream in (running.stdout, running.stderr):
            assert stream is not None
            stream.close()
    with program(*python(IDLE), stderr=subprocess.DEVNULL) as running:
        (where,) = output_of(find(running.pid))
        assert (where.path, where.name) == (None, "/dev/null")


def test_a_deleted_output_can_still_be_read(tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    with out.open("w") as file, program(*python(IDLE), stdout=file, stderr=file) as running:
        out.unlink()
        (where,) = output_of(find(running.pid))
        assert where.name == str(out)
        assert where.path is not None
        logs = logs_of(where.path)
        file.write("[req a] T+50 first_frame_emit\n")
        file.flush()
        assert len(emits(logs.poll(SECOND))) == 1
        logs.close()


def test_the_shape_is_not_looked_for_with_a_pattern() -> None:
    log = TextLog(pattern=re.compile("never"))
    assert log.remember(BEFORE) == 0
    assert log.params == {}


WRITER = """
import sys, time
log = open(sys.argv[1], "a", buffering=1)
read = open(sys.argv[2])
print("ready", flush=True)
time.sleep(60)
"""


def test_logs_that_a_program_writes_beside_its_output(tmp_path: Path) -> None:
    app, data, read, out = (tmp_path / name for name in ("app.log", "frames.bin", "in.log", "out"))
    app.write_text(BEFORE)
    read.write_text(BEFORE)
    data.write_text("")
    for written, found in ((app, [str(app)]), (data, [])):
        with out.open("w") as file, program(*python(WRITER, written, read), stdout=file) as running:
            until(lambda: out.read_text())
            assert [where.name for where in written_logs(find(running.pid))] == found


def test_another_log_is_followed_where_the_output_tells_nothing(tmp_path: Path) -> None:
    out, plain, app = (tmp_path / name for name in ("out.log", "plain.log", "app.log"))
    out.write_text("hello\n")
    plain.write_text("hello\n")
    app.write_text(BEFORE)
    logs = TextLogs([out], TextLog, lambda: False, [plain, app])
    assert (logs.other, logs.known > 0) == (app, True)
    with app.open("a") as file:
        file.write("[req 7f3a] T+1219 frame_emit idx=2\n")
    assert len(emits(logs.poll(SECOND))) == 1
    logs.close()
    out.write_text(BEFORE)  # what stands in both would count twice
    logs = TextLogs([out], TextLog, lambda: False, [app])
    assert logs.other is None
    logs.close()
