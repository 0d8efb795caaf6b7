"""torch's compilations: told by its callbacks, and the probe kept out of compiled code."""

from __future__ import annotations

import types
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import torch_compile
from mgtop.wire.records import Compile, FrameEmit, Hello, Mark, PreprocessDone, Queue, Span

REAL = """
import sys, warnings
warnings.simplefilter("error", UserWarning)
from mgtop import probe
import torch
r = probe.request("a")
assert "torch._dynamo" not in sys.modules

def with_probe(x):
    with r.span("forward"):
        y = x * 2
    with probe.span("vae_decode"):
        y = y + 1
    r.preprocess_done()
    r.frame(count=4)
    probe.mark("inside")
    probe.queue("q", 1)
    return y.sum()

whole = torch.compile(with_probe, backend="eager", fullgraph=True)
assert whole(torch.ones(3)).item() == 9

outside = torch.compile(lambda x: x * 3, backend="eager", dynamic=False)
for n in range(4):
    with r.span("forward"):
        outside(torch.ones(5 + min(n, 2)))
    r.frame()
r.end()
print(torch.__version__)
"""


def test_the_real_torch(programs: Any, pipe: Any) -> None:
    """Each compilation is told, and the probe's calls in compiled code trace to nothing."""
    pytest.importorskip("torch", reason="torch is not installed")
    version = programs.run(REAL, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise").strip()
    events = pipe.read()
    compiles = [event for event in events if isinstance(event, Compile)]
    frames = [event for event in events if isinstance(event, FrameEmit)]
    assert not [event for event in events if isinstance(event, (Mark, Queue, PreprocessDone))]
    assert [frame.count for frame in frames] == [1] * 4, "events left compiled code"
    assert sum(isinstance(event, Span) for event in events) == 4
    assert len(compiles) == 3
    assert all(event.what.startswith("dynamo ") for event in compiles)
    assert all(event.duration_ns > 100_000 for event in compiles)
    counts = [frame.compiles - frames[0].compiles for frame in frames]
    assert counts == [0, 1, 2, 2]
    assert {event.torch for event in events if isinstance(event, Hello)} <= {None, version}


BESIDE = """
import threading, time
from mgtop import probe
import torch
r = probe.request("a")
began, go_on = threading.Event(), threading.Event()

def backend(graph, inputs):
    began.set()
    assert go_on.wait(60)
    return graph.forward

compiled = torch.compile(lambda x: x * 3, backend=backend)
model = threading.Thread(target=lambda: compiled(torch.ones(3)))
model.start()
assert began.wait(60)
for n in range(3):
    with r.span("encode"):
        pass
    r.frame()
go_on.set()
model.join()
r.end(frames=3)
"""


def test_frames_of_a_thread_beside_one_that_compiles(programs: Any, pipe: Any) -> None:
    """torch says that it compiles to every thread, but only one of them is being traced."""
    pytest.importorskip("torch", reason="torch is not installed")
    programs.run(BESIDE, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    events = pipe.read()
    assert sum(isinstance(event, FrameEmit) for event in events) == 3
    assert sum(isinstance(event, Span) for event in events) == 3


def test_the_probe_never_imports_torch(programs: Any, pipe: Any) -> None:
    source = """
import sys
class Refuse:
    def find_spec(self, name, *_):
        assert not name.startswith("torch"), name
sys.meta_path.insert(0, Refuse())
from mgtop import probe
with probe.request() as r, r.span("forward"):
    r.frame()
"""
    programs.run(source, MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")


def test_callbacks_of_an_older_torch(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its callbacks take no arguments."""
    handlers: dict[str, Any] = {}
    handler = types.SimpleNamespace(
        register_start_callback=lambda f: handlers.update(start=f),
        register_end_callback=lambda f: handlers.update(end=f),
    )
    module = types.SimpleNamespace(callback_handler=handler)
    monkeypatch.setattr(torch_compile, "_registered", False)
    monkeypatch.setattr(torch_compile, "compiles", 0)
    torch_compile.register({"torch._dynamo.callback": module})
    probe.mark("x")
    handlers["start"]()
    handlers["end"]()
    handlers["end"]()
    (compiled,) = probed.read(Compile)
    assert compiled.what == ""
    assert torch_compile.compiles == 1
