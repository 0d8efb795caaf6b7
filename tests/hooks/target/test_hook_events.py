"""Configured hooks on real modules: what they tell, and what they say when they cannot."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mgtop.hooks.target import hooking, importing
from mgtop.hooks.target.configured import Configured
from mgtop.wire.records import (
    Action,
    AnyEvent,
    FrameEmit,
    Load,
    Mark,
    Notice,
    PreprocessDone,
    RequestReceived,
    Span,
    StreamEnd,
    Wait,
)

SOURCE = """
import asyncio

class Decoder:
    rate = 2
    def decode(self, n, req_id=None):
        return [[0] * n]
    def stream(self, n):
        for i in range(n):
            yield [0] * 3
    async def decode_later(self, n):
        await asyncio.sleep(0)
        return [0] * n
    async def stream_later(self, n):
        for i in range(n):
            await asyncio.sleep(0)
            yield i
    def fails(self):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    def load(self):
        pass

def generate(n):
    decoder = Decoder()
    for _ in range(n):
        decoder.decode(4)

def prepare():
    pass
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., object]]:
    """Hooks into a module of this test, which is imported then."""
    (tmp_path / "hooked_model.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    def install(*hooks: dict[str, object], late: bool = False) -> object:
        if late:
            importlib.import_module("hooked_model")
        made = [Configured({k: str(v) for k, v in hook.items()}) for hook in hooks]
        for hook in made:
            hook.target = "hooked_model:" + hook.target
        hooking.install(made, late)
        return importlib.import_module("hooked_model")

    yield install
    hooking.uninstall()
    importing._watched.clear()
    sys.modules.pop("hooked_model", None)


def test_frames_and_their_count(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit", "count": "len(result[0])"})
    decoder = model.Decoder()
    for n in (1, 4, 0, 4):
        decoder.decode(n)
    frames = told.read(FrameEmit)
    assert [(f.count, f.index, f.emit, f.route) for f in frames] == [
        (1, 0, 0, 1), (4, 1, 1, 1), (4, 5, 2, 1),
    ]  # fmt: skip
    assert len({f.request for f in frames}) == 1


def test_each_item_of_a_generator_is_an_emit(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {"target": "Decoder.stream", "event": "frame_emit", "count": "len(result)"},
        {"target": "Decoder.stream_later", "event": "frame_emit"},
    )
    assert len(list(model.Decoder().stream(3))) == 3

    async def run() -> int:
        return sum([1 async for _ in model.Decoder().stream_later(2)])

    assert asyncio.run(run()) == 2
    assert [frame.count for frame in told.read(FrameEmit)] == [3, 3, 3, 1, 1]


def test_a_module_that_is_imported_anew_has_its_hooks_again(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit"})
    model.Decoder().decode(1)
    kept = model.Decoder
    importlib.reload(model).Decoder().decode(1)
    kept().decode(1)
    del sys.modules["hooked_model"]
    model = importlib.import_module("hooked_model")
    model.Decoder().decode(1)
    assert len(told.read(FrameEmit)) == 4


def test_what_a_reload_leaves_as_it_was_still_counts_once(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit"})
    Path(model.__file__).write_text("")  # it has what it had
    importlib.reload(model).Decoder().decode(1)
    assert len(told.read(FrameEmit)) == 1


def test_one_frame_for_so_many_calls(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit", "every": 3})
    for _ in range(10):
        model.Decoder().decode(1)
    assert len(told.read(FrameEmit)) == 3


def test_only_calls_of_a_kind(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {"target": "Decoder.decode", "event": "frame_emit", "when": "args[1] == 4"},
    )
    for n in (4, 1, 4):
        model.Decoder().decode(n)
    assert len(told.read(FrameEmit)) == 2


def kinds(events: list[AnyEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_request_from_its_arrival_to_its_end(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {"target": "Decoder.load", "event": "load"},
        {"target": "generate", "event": "request_received"},
        {"target": "prepare", "event": "preprocess_done"},
        {"target": "Decoder.decode", "event": "frame_emit", "span": "vae_decode"},
    )
    model.Decoder().load()
    model.generate(2)
    model.generate(1)
    wanted = (Load, RequestReceived, PreprocessDone, FrameEmit, Span, StreamEnd)
    events = told.read(*wanted)
    assert kinds(events) == [
        "Load", "Load", "RequestReceived", "Span", "FrameEmit", "Span", "FrameEmit", "StreamEnd",
        "RequestReceived", "Span", "FrameEmit", "StreamEnd",
    ]  # fmt: skip
    received = [e for e in events if isinstance(e, RequestReceived)]
    assert [r.route for r in received] == [1, 1]
    first = [e for e in events if getattr(e, "request", None) == received[0].request]
    assert kinds(first)[1:] == ["Span", "FrameEmit", "Span", "FrameEmit", "StreamEnd"]
    assert [e.index for e in first if isinstance(e, Span)] == [0, 1]


def test_frames_that_follow_their_request(install, told) -> None:  # type: ignore[no-untyped-def]
    """A program that generates first and writes afterwards: the request is not over before."""
    model = install(
        {"target": "prepare", "event": "request_received"},
        {"target": "Decoder.decode", "event": "frame_emit"},
    )
    for _ in range(2):
        model.prepare()
        model.Decoder().decode(1)
    requests = told.read(RequestReceived, FrameEmit, StreamEnd)
    assert kinds(requests) == [
        "RequestReceived", "FrameEmit", "StreamEnd", "RequestReceived", "FrameEmit",
    ]  # fmt: skip
    assert requests[1].request == requests[0].request
    assert requests[4].request == requests[3].request != requests[0].request


def test_requests_at_once_are_told_apart_by_identity(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {
            "target": "Decoder.decode",
            "event": "frame_emit",
            "request": "kwargs['req_id']",
            "count": "args[1]",
        },
    )
    decoder = model.Decoder()
    for req_id in ("a", "b", "a", "b", "b"):
        decoder.decode(2, req_id=req_id)
    frames = told.read(FrameEmit)
    assert len({f.request for f in frames}) == 2
    assert [f.index for f in frames if f.request == frames[0].request] == [0, 2]
    assert [f.index for f in frames if f.request == frames[1].request] == [0, 2, 4]


def test_requests_of_threads_are_theirs(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {"target": "generate", "event": "request_received"},
        {"target": "Decoder.decode", "event": "frame_emit"},
    )
    threads = [threading.Thread(target=model.generate, args=(20,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    frames = told.read(FrameEmit)
    by_thread = {f.tid: {g.request for g in frames if g.tid == f.tid} for f in frames}
    assert len(frames) == 60
    assert all(len(requests) == 1 for requests in by_thread.values())


def test_a_span_around_a_generator_leaves_out_the_time_between(install, told) -> None:  # type: ignore[no-untyped-def]
    import time

    model = install({"target": "Decoder.stream", "span": "forward"})
    for _ in model.Decoder().stream(2):
        time.sleep(0.01)
    assert [span.duration_ns < 5_000_000 for span in told.read(Span)] == [True] * 3


def test_input_waits_and_marks(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install(
        {"target": "prepare", "event": "action"},
        {"target": "generate", "event": "user_wait"},
        {"target": "Decoder.load", "event": "mark"},
    )
    model.prepare()
    model.generate(1)
    model.Decoder().load()
    action, wait, mark = told.read(Action, Wait, Mark)
    assert action.kind == "prepare"
    assert wait.duration_ns > 0
    assert mark.text == "hooked_model:Decoder.load"


def test_what_the_function_raises_goes_to_its_caller(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.fails", "event": "frame_emit", "span": "forward"})
    with pytest.raises(RuntimeError, match="out of memory"):
        model.Decoder().fails()
    assert told.read(FrameEmit) == []


def test_a_hook_that_cannot_count_says_so_once(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit", "count": "result.shape[1]"})
    for _ in range(3):
        assert model.Decoder().decode(2) == [[0, 0]]
    (notice,) = told.read(Notice)
    assert notice.text == (
        "The hook of Decoder.decode failed: AttributeError: 'list' object has no attribute 'shape'"
    )


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("Decoder.decod", "class Decoder has no decod (did you mean decode?)"),
        ("decode_later", "module hooked_model has no decode_later (did you mean Decoder.decode_la"),
        ("Decode.load", "module hooked_model has no Decode (did you mean Decoder?)"),
        ("Decoder", "hooked_model.Decoder is a class: name a method of it"),
        ("Decoder.rate", "Decoder.rate is no function"),
        ("zzz", "module hooked_model has no zzz"),
    ],
)
def test_a_missing_target_is_told_with_what_is_near(install, told, target: str, text: str) -> None:  # type: ignore[no-untyped-def]
    install({"target": target, "event": "frame_emit"})
    (notice,) = told.read(Notice)
    assert f"frames.hooks: hooked_model:{target}: {text}" in notice.text


def test_installed_late_it_reaches_who_imported_the_function(  # type: ignore[no-untyped-def]
    install, told, tmp_path: Path
) -> None:
    (tmp_path / "hooked_user.py").write_text("from hooked_model import generate\n")
    user = importlib.import_module("hooked_user")
    model = install({"target": "generate", "event": "action"}, late=True)
    assert user.generate is model.generate
    user.generate(0)
    assert len(told.read(Action)) == 1
    del sys.modules["hooked_user"]


def test_taken_away_nothing_is_left(install, told) -> None:  # type: ignore[no-untyped-def]
    model = install({"target": "Decoder.decode", "event": "frame_emit"})
    hooking.uninstall()
    model.Decoder().decode(1)
    assert told.read(FrameEmit) == []
    assert not hasattr(model.Decoder.decode, "__wrapped__")


LAZY = """
import importlib, sys, types

class Lazy(types.ModuleType):
    _class_to_module = {"Decoder": "inner"}
    def __getattr__(self, name):
        found = getattr(importlib.import_module("hooked_lazy.inner"), name)
        setattr(self, name, found)
        return found

made = Lazy(__name__)
made.__path__, made.__spec__, made.__file__ = __path__, __spec__, __file__
sys.modules[__name__] = made
"""


def test_a_package_that_imports_when_asked_is_not_asked(  # type: ignore[no-untyped-def]
    install, told, tmp_path: Path
) -> None:
    (tmp_path / "hooked_lazy").mkdir()
    (tmp_path / "hooked_lazy" / "__init__.py").write_text(LAZY)
    (tmp_path / "hooked_lazy" / "inner.py").write_text(SOURCE)
    hook = Configured({"target": "hooked_lazy:Decoder.decode", "event": "frame_emit"})
    hooking.install([hook])
    package = importlib.import_module("hooked_lazy")
    assert "hooked_lazy.inner" not in sys.modules
    package.Decoder().decode(1)
    assert len(told.read(FrameEmit)) == 1
    for name in ("hooked_lazy", "hooked_lazy.inner"):
        del sys.modules[name]
