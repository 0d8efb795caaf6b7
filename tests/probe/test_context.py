"""What is read of the thread and the process, and what is said where it cannot be read."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import context, gc_clock, outlet
from mgtop.wire.records import FrameEmit, GarbageCollection, Hello, Pulse


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def schedstat_of(tid: int) -> list[int]:
    return [int(field) for field in Path(f"/proc/self/task/{tid}/schedstat").read_text().split()]


needs_schedstat = pytest.mark.skipif(
    not Path("/proc/thread-self/schedstat").exists()
    or Path("/proc/thread-self/schedstat").read_text().split()[2] == "0",
    reason="this kernel does not account for the time that threads wait for a core",
)


def test_a_frame_carries_the_times_of_its_thread(probed: Any) -> None:
    r = probe.request()
    r.frame()
    burn(0.05)
    r.frame()
    time.sleep(0.05)
    r.frame()
    first, second, third = probed.read(FrameEmit)
    assert 50e6 <= second.cpu_ns - first.cpu_ns < 70e6
    assert third.cpu_ns - second.cpu_ns < 20e6
    assert third.voluntary > second.voluntary >= first.voluntary
    assert second.involuntary >= first.involuntary >= 0
    assert third.major_faults >= 0
    assert first.tid == threading.get_native_id()
    r.end()


@needs_schedstat
def test_run_queue_delay_is_the_kernels(probed: Any) -> None:
    r = probe.request()
    before = schedstat_of(threading.get_native_id())[1]
    r.frame()
    after = schedstat_of(threading.get_native_id())[1]
    (frame,) = probed.read(FrameEmit)
    assert before <= frame.run_delay_ns <= after
    r.end()


@needs_schedstat
def test_each_thread_reads_its_own(probed: Any) -> None:
    r = probe.request()
    found = {}

    def work() -> None:
        burn(0.03)
        r.frame()
        found["delay"] = schedstat_of(threading.get_native_id())[1]

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (frame,) = probed.read(FrameEmit)
    assert frame.tid == thread.native_id
    assert 30e6 <= frame.cpu_ns < 60e6
    assert frame.run_delay_ns <= found["delay"]
    r.end()


def test_the_file_of_a_thread_is_closed_when_it_ends(probed: Any) -> None:
    probe.mark("the main thread's own is open")
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(20):
        thread = threading.Thread(target=probe.mark, args=("x",))
        thread.start()
        thread.join()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_many_threads_do_not_use_up_the_files(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_FILES", 0)
    r = probe.request()
    r.frame()
    (frame,) = probed.read(FrameEmit)
    assert frame.run_delay_ns is None
    assert frame.cpu_ns > 0
    assert frame.voluntary is not None
    r.end()


@pytest.mark.parametrize("text", ["0 0 0\n", "", "no numbers here\n", "12 34\n"])
def test_a_kernel_that_does_not_tell(
    text: str, probed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "schedstat").write_text(text)
    monkeypatch.setattr(context, "SCHEDSTAT", str(tmp_path / "schedstat"))
    r = probe.request()
    r.frame()
    with r.span("forward"):
        time.sleep(0.002)
    (frame,) = probed.read(FrameEmit)
    assert frame.run_delay_ns is None
    assert frame.cpu_ns > 0
    span = probed.pipe.events[-1]
    assert span.run_delay_ns is None
    assert span.cpu_ns is not None
    r.end()


def test_a_kernel_without_the_file(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "SCHEDSTAT", "/proc/no/such/file")
    r = probe.request()
    r.frame()
    assert probed.read(FrameEmit)[0].run_delay_ns is None
    r.end()


@needs_schedstat
def test_a_file_that_the_program_closed(probed: Any) -> None:
    r = probe.request()
    r.frame()
    assert outlet.current is not None
    os.close(outlet.current.thread()._fd)
    r.frame()
    r.frame()
    assert [frame.run_delay_ns is None for frame in probed.read(FrameEmit)] == [False, True, True]
    r.end()


def test_a_python_without_the_resource_module(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "getrusage", None)
    r = probe.request()
    r.frame()
    (frame,) = probed.read(FrameEmit)
    assert (frame.major_faults, frame.voluntary, frame.involuntary) == (None, None, None)
    assert frame.cpu_ns > 0
    r.end()


def test_garbage_collections_are_timed(probed: Any) -> None:
    r = probe.request()
    r.frame()
    heap = [[n] for n in range(300_000)]
    probed.pipe.read()
    began = time.monotonic_ns()
    gc.collect()
    took = time.monotonic_ns() - began
    r.frame()
    events = probed.read(GarbageCollection, FrameEmit)
    collection = max(
        (event for event in events if isinstance(event, GarbageCollection)),
        key=lambda event: event.duration_ns,
    )
    assert gc_clock.LONG_NS <= collection.duration_ns <= took
    assert collection.generation == 2
    assert began <= collection.t_ns - collection.duration_ns
    first = next(event for event in probed.pipe.events if isinstance(event, FrameEmit))
    assert events[-1].gc_ns - first.gc_ns >= collection.duration_ns
    assert len(heap) == 300_000
    r.end()


def test_short_collections_are_summed_only(probed: Any) -> None:
    r = probe.request()
    r.frame()
    before = gc_clock.total_ns
    for _ in range(5):
        gc.collect(0)
    assert gc_clock.total_ns > before
    short = [event for event in probed.read(GarbageCollection) if event.generation == 0]
    assert all(event.duration_ns >= gc_clock.LONG_NS for event in short)
    r.end()


def test_the_callback_is_there_once(probed: Any) -> None:
    probe.mark("a")
    outlet.after_fork()
    probe.mark("b")
    assert gc.callbacks.count(gc_clock._on_collection) == 1


def test_hello_says_who_speaks(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    probe.load_begin()
    (hello,) = probed.read(Hello)
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert hello.proc == int(stat[19]) << 22 | os.getpid()
    assert hello.tid == threading.get_native_id()
    assert hello.probe == probe.__version__
    assert hello.python.startswith("3.")
    assert hello.rank == 3
    assert hello.keeps_gil is True


def test_the_probe_accounts_for_itself(probed: Any) -> None:
    r = probe.request()
    began = time.monotonic_ns()
    for _ in range(2000):
        r.frame()
    took = time.monotonic_ns() - began
    assert outlet.current is not None
    outlet.current.pulse()
    *_, pulse = probed.read(Pulse)
    assert pulse.calls >= 2000
    assert pulse.dropped == 0
    assert 0.2 * took < pulse.cost_ns < 5 * took
    r.end()


def test_hello_and_pulse_come_back_about_once_a_second(
    probed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlet, "SECOND", 20_000_000)
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        probe.mark("x")
        time.sleep(0.001)
    hellos, pulses = probed.read(Hello), 0
    pulses = sum(isinstance(event, Pulse) for event in probed.pipe.events)
    assert 5 <= len(hellos) <= 11
    assert pulses == len(hellos)


def test_without_ctypes_the_same_events_leave(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ctypes", None)
    with probe.request("a") as r, r.span("forward"):
        time.sleep(0.002)
        r.frame()
    (hello,) = probed.read(Hello)
    assert hello.keeps_gil is False
    frame = next(event for event in probed.pipe.events if isinstance(event, FrameEmit))
    assert frame.cpu_ns > 0
