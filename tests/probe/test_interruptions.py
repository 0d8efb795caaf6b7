"""Programs that are killed, interrupted, or lose their reader, in the middle of the probe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mgtop.wire.records import FrameEmit, Mark, Name, Span, Wait

pytestmark = pytest.mark.e2e


def test_a_kill_loses_nothing_whose_call_had_returned(programs: Any, pipe: Any) -> None:
    source = """
import os
from mgtop import probe
r = probe.request("a")
n = 0
while True:
    r.frame()
    n += 1
    os.pwrite(1, b"%d\\n" % n, 0)
"""
    for round_ in range(8):
        seen = pipe.path.parent / f"returned{round_}"
        with seen.open("wb") as stdout:
            process = subprocess.Popen(
                [sys.executable, "-c", source],
                stdout=stdout,
                env={
                    **os.environ,
                    "PYTHONPATH": str(Path(__file__).parents[2]),
                    "MGTOP_FIFO": str(pipe.path),
                },
            )
        while not seen.read_bytes():
            time.sleep(0.005)
        time.sleep(0.01 + 0.003 * round_)
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL
        returned = int(seen.read_bytes().split()[0])
        frames = [event for event in pipe.read() if isinstance(event, FrameEmit)]
        indices = [frame.index for frame in frames]
        assert indices[-1] + 1 >= returned > 0
        assert indices == list(range(indices[0], indices[-1] + 1))


def test_a_reader_that_closes_does_not_kill_the_program(programs: Any, tmp_path: Path) -> None:
    """With the default action of SIGPIPE, as in a shell pipeline or a C host program."""
    source = """
import signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
from mgtop import probe
r = probe.request("a")
r.frame()
print("ready", flush=True)
sys.stdin.readline()
for n in range(20_000):
    r.frame()
print("alive", flush=True)
"""
    folder = tmp_path / "run"
    process = programs.start(source, MGTOP_RUNTIME=str(folder), MGTOP_PROBE="raise")
    assert process.stdout.readline() == "ready\n"
    fd = os.open(folder / f"{process.pid}.fifo", os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(fd, 64).startswith(b"\xc1mg1")
    os.close(fd)
    out, err = process.communicate("\n", timeout=60)
    assert (out, err, process.returncode) == ("alive\n", "", 0)


def test_events_from_signal_handlers_and_finalizers(programs: Any, pipe: Any) -> None:
    """They interrupt the probe in the middle of itself, thousands of times."""
    source = """
import gc, signal, time
from mgtop import probe
r = probe.request("a")
handled = 0
def handler(*_):
    global handled
    handled += 1
    r.frame()
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
class Noisy:
    def __init__(self): self.me = self
    def __del__(self): probe.mark("gone")
until = time.monotonic() + 0.3
n = 0
while time.monotonic() < until:
    Noisy()
    with r.span("decode"):
        n += 1
signal.setitimer(signal.ITIMER_REAL, 0)
del r
print(n, handled)
"""
    pipe.lock()
    process = programs.start(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    while process.poll() is None:
        pipe.read()
        time.sleep(0.002)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    pipe.read()
    spans, handled = map(int, out.split())
    lost = max(event.seq for event in pipe.events) + 1 - len(pipe.events)
    counts = Counter(type(event) for event in pipe.events)
    assert handled > 100
    assert counts[Span] + counts[FrameEmit] + lost >= spans + handled
    assert counts[Mark] > 0


def test_an_interrupt_is_the_programs_own(programs: Any, pipe: Any) -> None:
    source = """
import _thread, signal
from mgtop import probe
r = probe.request("a")
signal.setitimer(signal.ITIMER_REAL, 0.05)
def handler(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
try:
    while True:
        with r.span("decode"):
            r.frame()
except KeyboardInterrupt:
    print("interrupted")
r.frame()
"""
    assert programs.run(source, MGTOP_FIFO=str(pipe.path)) == "interrupted\n"


def test_deep_in_a_recursion_the_probe_stays_quiet(programs: Any, pipe: Any) -> None:
    source = """
from mgtop import probe
r = probe.request("a")
depth = 0
def deeper():
    global depth
    depth += 1
    with r.span("decode"):
        r.frame()
    deeper()
try:
    deeper()
except RecursionError:
    print("recursion")
r.frame()
"""
    assert programs.run(source, MGTOP_FIFO=str(pipe.path)) == "recursion\n"
    frames = [event for event in pipe.read() if isinstance(event, FrameEmit)]
    assert len(frames) > 100
    assert not [event for event in pipe.events if isinstance(event, Wait)]


def test_late_events_at_exit_do_no_harm(programs: Any, pipe: Any) -> None:
    source = """
import atexit
def last():
    probe.mark("at exit")
atexit.register(last)
from mgtop import probe
class Late:
    def __del__(self):
        probe.mark("torn down")
late = Late()
with probe.span("denoise"): pass
"""
    programs.run(source, MGTOP_FIFO=str(pipe.path))
    events = pipe.read()
    assert [e.text for e in events if isinstance(e, Mark)][:1] == ["at exit"]
    assert any(isinstance(event, Name) for event in events)
