"""The outermost call counts, once, in each thread and each task; outputs are told apart."""

from __future__ import annotations

from pathlib import Path

from sink_programs import run_text

from mgtop.wire.records import FrameEmit

PREAMBLE = """
import asyncio, gc, sys, threading, time
from importlib import import_module
import _mgtop_hooks.start
counting = import_module("_mgtop_hooks.sinks.counting")
enter, leave, Output, Outputs = counting.enter, counting.leave, counting.Output, counting.Outputs
outer, inner = Output("outer", {"width": 64}), Output("inner")

def write(count=1, inside=None):
    call = enter(outer)
    if inside: inside()
    leave(call, count)

def below(count=1):
    leave(enter(inner), count)
"""


def told_by(folder: Path, source: str) -> list[tuple[str, int]]:
    """Frames of each output, by its name."""
    return run_text(folder, PREAMBLE + source).by_output


def test_a_call_inside_another_is_silent(tmp_path: Path):
    told = run_text(tmp_path, PREAMBLE + "for _ in range(5): write(2, lambda: below(2))\nbelow(3)")
    assert told.by_output == [("outer", 10), ("inner", 3)]
    assert told.sinks[0].params == {"width": 64}
    assert len(told.spans) == 6


def test_a_call_that_raised_lets_go(tmp_path: Path):
    source = """
call = enter(outer)
counting.failed(call, (), {}, ValueError())
below()
"""
    assert told_by(tmp_path, source) == [("inner", 1)]


def test_other_threads_count_for_themselves(tmp_path: Path):
    source = """
def elsewhere():
    thread = threading.Thread(target=below)
    thread.start(); thread.join()
for _ in range(4): write(1, elsewhere)
"""
    # The inner output's first frame comes first: the outer call is still under way then.
    assert told_by(tmp_path, source) == [("inner", 4), ("outer", 4)]


def test_tasks_that_take_turns_do_not_silence_each_other(tmp_path: Path):
    source = """
async def send(output, n):
    for _ in range(n):
        call = enter(output)
        await asyncio.sleep(0.001)
        below()  # inside: silent
        leave(call, 1)
        await asyncio.sleep(0)

async def main():
    await asyncio.gather(send(outer, 6), send(Output("other"), 7), send(Output("third"), 8))

asyncio.run(main())
"""
    assert sorted(told_by(tmp_path, source)) == [("other", 7), ("outer", 6), ("third", 8)]


def test_a_task_that_was_begun_inside_a_call_counts_once_that_is_over(tmp_path: Path):
    source = """
async def main():
    call = enter(outer)
    async def later():
        below()                  # inside still
        await asyncio.sleep(0.02)
        below()                  # the call is over
    task = asyncio.ensure_future(later())
    await asyncio.sleep(0.005)
    leave(call, 1)
    await task

asyncio.run(main())
"""
    assert told_by(tmp_path, source) == [("outer", 1), ("inner", 1)]


def test_an_output_ends_with_its_object_and_the_next_one_is_another(tmp_path: Path):
    source = """
class Writer: pass
known = Outputs()
for _ in range(3):
    writer = Writer()
    for _ in range(2):
        leave(enter(known.get(writer, lambda w: Output("writer"))), 1)
    del writer
"""
    told = run_text(tmp_path, PREAMBLE + source)
    assert told.by_output == [("writer", 2)] * 3
    assert told.ends == 3


def test_objects_that_cannot_say_when_they_go_are_not_remembered_without_end(tmp_path: Path):
    source = """
class Writer: __slots__ = ()
known, kept = Outputs(), [Writer() for _ in range(300)]
for writer in kept:
    leave(enter(known.get(writer, lambda w: Output("writer"))), 1)
assert len(known._by_id) == counting.MOST_OUTPUTS
known.end(kept[-1])
leave(enter(known.get(kept[-1], lambda w: Output("writer"))), 1)
"""
    told = run_text(tmp_path, PREAMBLE + source)
    assert told.by_output == [("writer", 1)] * 301


def test_spans_are_of_the_request_that_the_program_has_open(tmp_path: Path):
    source = """
from mgtop import probe
with probe.request("mine") as request:
    write()
    with request.span("encode"):
        write()
    request.frame()
write()
write()
"""
    told = run_text(tmp_path, f"import sys; sys.path.insert(0, {_root()!r})\n" + PREAMBLE + source)
    first, own, _, last = told.spans
    assert first.request == own.request == 1
    assert own.name == 7  # its own, and no other one in it
    assert last.request == told.sinks[0].request != 1
    # While the program tells of its frames, they are not told again.
    assert [e.route for e in told.events if isinstance(e, FrameEmit)] == [0, 2, 2]


def _root() -> str:
    from sink_programs import PACKAGE

    return str(PACKAGE.parent)


def test_a_forked_child_tells_of_its_own_frames(tmp_path: Path):
    source = """
import os
write()
pid = os.fork()
if pid == 0:
    write(2)
    os._exit(0)
os.waitpid(pid, 0)
write()
"""
    told = run_text(tmp_path, PREAMBLE + source)
    assert told.frames == 4
    assert len({frame.proc for frame in told._frames()}) == 2
    assert {(sink.proc, sink.request) for sink in told.sinks} == {
        (frame.proc, frame.request) for frame in told._frames()
    }  # the child's has its name, too


def test_what_a_call_costs(tmp_path: Path):
    """At most 10 us with its span and its frame; the fastest of several, on a busy machine."""
    source = """
from _mgtop_hooks.wrapping import wrap
class Writer:
    def write(self, frame): return None
def before(args, kwargs): return enter(outer, "encode")
def after(call, args, kwargs, result): leave(call, 1)
wrap(Writer, "write", before, after, counting.failed)
writer, best = Writer(), 1.0
for _ in range(40):
    began = time.perf_counter()
    for _ in range(50): writer.write(None)
    best = min(best, (time.perf_counter() - began) / 50)
print(best * 1e6)
"""
    told = run_text(tmp_path, PREAMBLE + source)
    assert told.frames == 2000
    assert float(told.output) < 30  # 7 on a quiet core: benchmarks/sinks shows the figures
