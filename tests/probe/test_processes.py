"""Real programs, on every Python that is here, with a real FIFO at the other end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mgtop.wire.records import (
    FrameEmit,
    GarbageCollection,
    Hello,
    Mark,
    Pulse,
    RequestReceived,
    Span,
    StreamEnd,
    pid_of,
)

pytestmark = pytest.mark.e2e

VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]

EMIT = """
import time
from mgtop import probe

probe.load_begin()
probe.load_done()
with probe.request("7f3a", width=1280, steps=24, ratio=0.5, name="\u91c7\u6837") as r:
    with r.span("decode"):
        pass
    r.preprocess_done()
    for n in range(3):
        with r.span("denoise", index=n * 4):
            time.sleep(0.002)
        r.frame(count=4)
    probe.queue("prefetch", depth=3, capacity=8)
    with probe.waiting():
        time.sleep(0.001)
probe.frame()
probe.mark("scene change")
"""


def interpreter(version: str) -> str:
    """A Python of this version: pyenv's, one on the path, or the one that runs the tests."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    roots = [Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"]
    for root in roots:
        for found in sorted(root.glob(f"{version}.*/bin/python3")):
            return str(found)
    named = shutil.which(f"python{version}")
    if named is None:
        pytest.skip(f"no Python {version} on this machine")
    works = subprocess.run([named, "-c", ""], capture_output=True, check=False)
    if works.returncode:
        pytest.skip(f"{named} does not run")
    return named


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_sends_the_same(version: str, programs: Any, pipe: Any) -> None:
    programs.run(EMIT, interpreter(version), MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    events = pipe.read()
    assert [event.seq for event in events] == list(range(len(events)))
    events = [event for event in events if not isinstance(event, GarbageCollection)]
    assert [type(event).__name__ for event in events] == [
        "Hello", "Pulse", "Load", "Load", "RequestReceived", "Span", "PreprocessDone",
        "Name", "Span", "FrameEmit", "Span", "FrameEmit", "Span", "FrameEmit",
        "Name", "Queue", "Wait", "StreamEnd", "FrameEmit", "Mark", "Pulse",
    ]  # fmt: skip
    hello = events[0]
    assert hello.python.startswith(version + ".")
    assert hello.argv0 == "-c"
    assert hello.keeps_gil
    (request,) = (event for event in events if isinstance(event, RequestReceived))
    assert request.params == {"width": 1280, "steps": 24, "ratio": 0.5, "name": "采样"}
    spans = [event for event in events if isinstance(event, Span)]
    assert [span.index for span in spans] == [0, 0, 4, 8]
    assert all(span.duration_ns >= 2e6 and span.cpu_ns is not None for span in spans[1:])
    frames = [event for event in events if isinstance(event, FrameEmit)]
    assert [(frame.index, frame.count) for frame in frames] == [(0, 4), (4, 4), (8, 4), (0, 1)]
    assert all(frame.cpu_ns > 0 for frame in frames)


def test_a_program_without_a_monitor_leaves_nothing_behind(programs: Any, tmp_path: Path) -> None:
    programs.run(EMIT, MGTOP_RUNTIME=str(tmp_path / "run"), MGTOP_PROBE="raise")
    assert list((tmp_path / "run").iterdir()) == []


def test_the_probe_imports_little(programs: Any, pipe: Any) -> None:
    source = """
import sys
before = set(sys.modules)
from mgtop import probe
loaded = {name for name in set(sys.modules) - before if name.partition(".")[0] != "mgtop"}
assert len(loaded) <= 12, sorted(loaded)
assert not loaded & {"typing", "threading", "ctypes", "re", "collections", "logging"}, loaded
with probe.request() as r:
    r.frame()
assert not {"torch", "numpy", "msgspec", "threading"} & set(sys.modules)
others = {name for name in sys.modules if name.startswith("mgtop.")}
assert all(name.startswith("mgtop.probe") for name in others), others
"""
    programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")


def test_two_threads_never_share_a_number(programs: Any, pipe: Any) -> None:
    """The reader drains every 20 ms, as the recorder does; the FIFO holds what comes between."""
    source = """
import threading
from mgtop import probe

def work():
    with probe.request() as r:
        for n in range(20_000):
            r.frame()

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    pipe.lock()
    process = programs.start(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    while process.poll() is None:
        pipe.read()
        time.sleep(0.002)
    pipe.read()
    assert (process.communicate(), process.returncode) == (("", ""), 0)
    frames = [event for event in pipe.events if isinstance(event, FrameEmit)]
    seqs = Counter(event.seq for event in pipe.events)
    assert max(seqs.values()) == 1
    dropped = [event for event in pipe.events if isinstance(event, Pulse)][-1].dropped
    assert max(seqs) + 1 - len(seqs) == dropped
    assert len(frames) + dropped >= 40_000
    if not dropped:
        per_request = Counter(frame.request for frame in frames)
        assert sorted(per_request.values()) == [20_000, 20_000]
    for request in {frame.request for frame in frames}:
        mine = [frame.index for frame in frames if frame.request == request]
        assert mine == sorted(mine)
    assert len({frame.tid for frame in frames}) == 2


def test_a_fork_is_another_process(programs: Any, pipe: Any) -> None:
    source = """
import os
from mgtop import probe
with probe.request("parent") as r:
    r.frame()
    pid = os.fork()
    if not pid:
        with probe.request("child") as r:
            for n in range(50):
                r.frame()
                probe.frame()
        os._exit(0)
    for n in range(50):
        r.frame()
    os.waitpid(pid, 0)
    print(pid)
"""
    child = int(programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise"))
    events = pipe.read()
    by_proc: dict[int, list[Any]] = {}
    for event in events:
        by_proc.setdefault(event.proc, []).append(event)
    assert len(by_proc) == 2
    for proc, mine in by_proc.items():
        assert [event.seq for event in mine] == list(range(len(mine)))
        assert isinstance(mine[0], Hello)
        frames = [event for event in mine if isinstance(event, FrameEmit)]
        (request,) = (event for event in mine if isinstance(event, RequestReceived))
        assert {frame.request for frame in frames} == {request.request}
        if pid_of(proc) == child:
            assert request.id == "child"
            assert {event.tid for event in mine} == {child}
            assert [frame.index for frame in frames] == list(range(100))
        else:
            assert [frame.index for frame in frames] == list(range(51))


def test_a_fork_makes_its_own_fifo(programs: Any, tmp_path: Path) -> None:
    source = """
import os
from mgtop import probe
probe.mark("parent")
pid = os.fork()
if not pid:
    probe.mark("child")
    print(*sorted(os.listdir(os.environ["MGTOP_RUNTIME"])), os.getpid(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(os.getpid())
"""
    out = programs.run(source, MGTOP_RUNTIME=str(tmp_path / "run"), MGTOP_PROBE="raise")
    first, second, child, parent = out.split()
    assert {first, second} == {f"{child}.fifo", f"{parent}.fifo"}


def test_an_open_request_of_the_parent_is_not_the_childs(programs: Any, pipe: Any) -> None:
    source = """
import os
from mgtop import probe
with probe.request("parent") as r:
    if not os.fork():
        with probe.span("decode"):
            pass
        os._exit(0)
    os.wait()
"""
    programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    (span,) = (event for event in pipe.read() if isinstance(event, Span))
    assert (span.request, span.index) == (0, -1)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, programs: Any, pipe: Any, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        f"""
import multiprocessing
from mgtop import probe

def work(n):
    with probe.request("worker %d" % n) as r:
        for _ in range(10):
            with r.span("decode"):
                pass
            r.frame()
    return n

if __name__ == "__main__":
    probe.load_begin()
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(sum(pool.map(work, range(6), chunksize=1)))
        pool.close()
        pool.join()
    probe.load_done()
"""
    )
    source = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    if method == "fork":
        assert programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise") == "15\n"
    else:
        environment = {**os.environ, "MGTOP_FIFO": str(pipe.path), "MGTOP_PROBE": "raise"}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        done = subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "15\n", "")
    events = pipe.read()
    seqs: dict[int, list[int]] = {}
    for event in events:
        seqs.setdefault(event.proc, []).append(event.seq)
    assert len(seqs) >= 2
    for mine in seqs.values():
        assert mine == list(range(len(mine)))
    requests = [event for event in events if isinstance(event, RequestReceived)]
    assert sorted(event.id for event in requests) == [f"worker {n}" for n in range(6)]
    assert sum(isinstance(event, FrameEmit) for event in events) == 60
    assert sum(isinstance(event, StreamEnd) for event in events) == 6


def test_a_double_fork_that_closes_its_files(programs: Any, pipe: Any) -> None:
    """What a daemon does on its way into the background."""
    source = """
import os, resource
from mgtop import probe
probe.mark("foreground")
if os.fork():
    os.wait()
    raise SystemExit
os.setsid()
if os.fork():
    os._exit(0)
os.closerange(3, 4096)
probe.mark("daemon")
os._exit(0)
"""
    programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    deadline = time.monotonic() + 10
    while len(marks := [e.text for e in pipe.events if isinstance(e, Mark)]) < 2:
        assert time.monotonic() < deadline
        pipe.read()
        time.sleep(0.01)
    assert marks == ["foreground", "daemon"]


def test_many_threads_at_the_first_event(programs: Any, pipe: Any) -> None:
    """One of them opens the outlet; none of their events is lost, none is sent twice."""
    source = """
import threading
from mgtop import probe
start = threading.Barrier(16)
def work(n):
    start.wait()
    probe.mark(str(n))
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    for _ in range(8):
        programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
        events = pipe.read()
        marks = sorted(int(event.text) for event in events if isinstance(event, Mark))
        assert marks == list(range(16))
        assert sorted(event.seq for event in events) == list(range(len(events)))
        assert sum(isinstance(event, Hello) for event in events) == 1
