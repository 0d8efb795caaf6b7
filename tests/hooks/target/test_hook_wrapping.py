"""Wrapped functions are what they were, and a hook's error stays in the hook."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
import sys
import types
from typing import Any

import pytest

from mgtop.hooks.target import natures
from mgtop.hooks.target.wrapping import Unwrappable, wrap
from mgtop.wire.records import Notice


def fresh() -> type:
    class Thing:
        """A thing."""

        attribute = 3
        size = len

        def plain(self, a: int, b: int = 2, *, c: int = 3) -> int:
            """Add up."""
            return a + b + c

        @staticmethod
        def fixed(a: int) -> int:
            return a

        @classmethod
        def made(cls, a: int) -> tuple[type, int]:
            return cls, a

        async def later(self, a: int) -> int:
            await asyncio.sleep(0)
            return a

        def each(self, n: int):  # type: ignore[no-untyped-def]
            got: Any = None
            for i in range(n):
                try:
                    got = yield (i, got)
                except KeyError:
                    got = "caught"
            return "end"

        async def each_later(self, n: int):  # type: ignore[no-untyped-def]
            for i in range(n):
                yield i

        def fails(self) -> None:
            raise ValueError("its own")

        def hands_out(self, n: int):  # type: ignore[no-untyped-def]
            return self.each(n)

        def hands_out_later(self, a: int):  # type: ignore[no-untyped-def]
            return self.later(a)

        @property
        def computed(self) -> int:
            return 1

        part = functools.partialmethod(plain, 10)

        class Inner:
            pass

    return Thing


class Log:
    """Callbacks that keep what they were told."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def callbacks(self) -> dict[str, Any]:
        return {
            "before": lambda args, kwargs: self.lines.append(("before", args[1:], kwargs)) or 7,
            "after": lambda token, args, kwargs, result: self.lines.append(
                ("after", token, result)
            ),
            "failed": lambda token, args, kwargs, error: self.lines.append(
                ("failed", token, type(error).__name__)
            ),
            "each": lambda token, args, kwargs, item: self.lines.append(("each", item)),
            "resumed": lambda token, args, kwargs: self.lines.append(("resumed",)),
            "finished": lambda token, args, kwargs, result: self.lines.append(("end", result)),
        }


NAMES = ["plain", "fixed", "made", "later", "each", "each_later", "fails", "hands_out"]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_is_stays_what_it_is(name: str) -> None:
    thing = fresh()
    raw = thing.__dict__[name]
    before = getattr(thing, name)
    told = {
        "kind": type(raw),
        "signature": inspect.signature(before),
        "bound": inspect.signature(getattr(thing(), name)),
        "coroutine": inspect.iscoroutinefunction(before),
        "generator": inspect.isgeneratorfunction(before),
        "async generator": inspect.isasyncgenfunction(before),
        "name": (before.__name__, before.__qualname__, before.__module__, before.__doc__),
        "spec": inspect.getfullargspec(before).args,
        "annotations": before.__annotations__,
    }
    wrap(thing, name, **Log().callbacks())
    after = getattr(thing, name)
    assert after is not before
    assert told == {
        "kind": type(thing.__dict__[name]),
        "signature": inspect.signature(after),
        "bound": inspect.signature(getattr(thing(), name)),
        "coroutine": inspect.iscoroutinefunction(after),
        "generator": inspect.isgeneratorfunction(after),
        "async generator": inspect.isasyncgenfunction(after),
        "name": (after.__name__, after.__qualname__, after.__module__, after.__doc__),
        "spec": inspect.getfullargspec(after).args,
        "annotations": after.__annotations__,
    }


def test_calls_are_told() -> None:
    thing, log = fresh(), Log()
    for name in ("plain", "fixed", "made", "fails"):
        wrap(thing, name, **log.callbacks())
    one = thing()
    assert one.plain(1, c=4) == 7
    assert one.fixed(5) == thing.fixed(5) == 5
    assert thing.made(6) == one.made(6) == (thing, 6)
    with pytest.raises(ValueError, match="its own"):
        one.fails()
    assert log.lines == [
        ("before", (1,), {"c": 4}), ("after", 7, 7),
        ("before", (), {}), ("after", 7, 5), ("before", (), {}), ("after", 7, 5),
        ("before", (6,), {}), ("after", 7, (thing, 6)),
        ("before", (6,), {}), ("after", 7, (thing, 6)),
        ("before", (), {}), ("failed", 7, "ValueError"),
    ]  # fmt: skip


def test_a_generator_is_told_item_by_item_and_can_be_sent_to() -> None:
    thing, log = fresh(), Log()
    wrap(thing, "each", **log.callbacks())
    items = thing().each(3)
    assert log.lines == []
    assert next(items) == (0, None)
    assert items.send("hello") == (1, "hello")
    assert items.throw(KeyError("x")) == (2, "caught")
    with pytest.raises(StopIteration) as stop:
        next(items)
    assert stop.value.value == "end"
    assert log.lines == [
        ("before", (3,), {}), ("each", (0, None)), ("resumed",), ("each", (1, "hello")),
        ("resumed",), ("each", (2, "caught")), ("resumed",), ("end", "end"),
    ]  # fmt: skip


def test_a_generator_that_is_left_is_closed() -> None:
    thing, log = fresh(), Log()
    closed: list[bool] = []

    def each(self: object):  # type: ignore[no-untyped-def]
        try:
            yield 1
        finally:
            closed.append(True)

    thing.each = each  # type: ignore[attr-defined]
    wrap(thing, "each", **log.callbacks())
    items = thing().each()
    next(items)
    items.close()
    assert closed == [True]
    assert log.lines[-1] == ("end", None)


def test_a_generator_that_answers_its_end_keeps_its_answer() -> None:
    thing, log = fresh(), Log()

    def stubborn(self: object, n: int):  # type: ignore[no-untyped-def]
        for _ in range(n):
            try:
                yield 1
            except GeneratorExit:
                continue
        return 42

    thing.stubborn = stubborn  # type: ignore[attr-defined]
    wrap(thing, "stubborn", **log.callbacks())
    items = thing().stubborn(1)
    next(items)
    with pytest.raises(StopIteration) as stop:
        items.throw(GeneratorExit())
    assert stop.value.value == 42
    assert log.lines[-1] == ("end", 42)
    items = thing().stubborn(1)
    next(items)
    assert items.close() == (42 if sys.version_info >= (3, 13) else None)
    items = thing().stubborn(2)
    next(items)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        items.close()
    items.close()


def test_an_async_generator_that_is_left_is_closed_once_by_the_loop() -> None:
    thing, said, closed = fresh(), [], []

    async def each_later(self: object):  # type: ignore[no-untyped-def]
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0.001)
            closed.append(True)

    thing.each_later = each_later  # type: ignore[attr-defined]
    wrap(thing, "each_later", **Log().callbacks())
    kept = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        kept.append(thing().each_later())
        await kept[0].__anext__()

    asyncio.run(run())
    assert closed == [True]
    assert said == []


def test_coroutines_and_async_generators() -> None:
    thing, log = fresh(), Log()
    for name in ("later", "each_later"):
        wrap(thing, name, **log.callbacks())

    async def run() -> list[int]:
        return [await thing().later(4), *[i async for i in thing().each_later(2)]]

    assert asyncio.run(run()) == [4, 0, 1]
    assert log.lines == [
        ("before", (4,), {}), ("after", 7, 4), ("before", (2,), {}), ("each", 0), ("resumed",),
        ("each", 1), ("resumed",), ("end", None),
    ]  # fmt: skip


def test_what_a_plain_function_hands_out_is_looked_into() -> None:
    thing, log = fresh(), Log()
    for name in ("hands_out", "hands_out_later"):
        wrap(thing, name, **log.callbacks())
    assert [i for i, _ in thing().hands_out(2)] == [0, 1]
    assert asyncio.run(thing().hands_out_later(9)) == 9
    assert [line[0] for line in log.lines] == [
        "before", "each", "resumed", "each", "resumed", "end", "before", "after",
    ]  # fmt: skip


def test_an_inherited_function_is_wrapped_for_that_class_alone() -> None:
    thing, log = fresh(), Log()
    below = type("Below", (thing,), {})
    made = wrap(below, "plain", **log.callbacks())
    thing().plain(1)
    assert log.lines == []
    below().plain(1)
    assert len(log.lines) == 2
    made.undo()
    assert "plain" not in below.__dict__


class Stateful:
    """Callable, and asked for other things, as a module of torch."""

    def __call__(self) -> int:
        return 1

    def evaluate(self) -> None:
        pass


def test_an_object_that_can_be_called_is_no_function() -> None:
    module = types.ModuleType("m")
    module.model = Stateful()  # type: ignore[attr-defined]
    with pytest.raises(
        Unwrappable, match=r"m.model is an object: name __call__ of its class, .*Stat"
    ):
        wrap(module, "model", **Log().callbacks())
    wrap(Stateful, "__call__", **Log().callbacks()).undo()


def test_caches_and_partials_keep_what_they_can_do() -> None:
    module, log = types.ModuleType("m"), Log()
    module.cached = functools.lru_cache(lambda a: a)  # type: ignore[attr-defined]
    module.part = functools.partial(int, base=2)  # type: ignore[attr-defined]
    for name in ("cached", "part"):
        wrap(module, name, **log.callbacks())
    assert [module.cached(1), module.cached(1), module.part("11")] == [1, 1, 3]
    assert module.cached.cache_info().hits == 1
    module.cached.cache_clear()
    assert module.part.keywords == {"base": 2}
    assert len(log.lines) == 6


def test_other_descriptors_are_bound_as_before() -> None:
    thing, log = fresh(), Log()
    wrap(thing, "part", **log.callbacks())
    assert thing().part(1) == 14
    assert [line[0] for line in log.lines] == ["before", "after"]


def test_a_c_function_in_a_class_and_in_a_module() -> None:
    thing, log = fresh(), Log()
    wrap(thing, "size", **log.callbacks())
    assert thing().size("abc") == 3
    module = types.ModuleType("m")
    module.sort = sorted  # type: ignore[attr-defined]
    wrap(module, "sort", **log.callbacks())
    assert module.sort([2, 1]) == [1, 2]
    assert [line[0] for line in log.lines] == ["before", "after"] * 2


def test_what_cannot_be_wrapped_is_refused() -> None:
    thing = fresh()
    for owner, name, text in [
        (thing, "computed", "no function, but an attribute that is computed"),
        (thing, "Inner", "is a class: name a method of it"),
        (thing, "attribute", "is no function"),
        (str, "upper", "takes no wrapper"),
    ]:
        with pytest.raises(Unwrappable, match=text):
            wrap(owner, name, **Log().callbacks())
    with pytest.raises(AttributeError):
        wrap(thing, "nothing", **Log().callbacks())


def test_done_twice_it_is_done_once_and_can_be_taken_back() -> None:
    thing, log = fresh(), Log()
    raw, callbacks = thing.__dict__["plain"], log.callbacks()
    one, two = wrap(thing, "plain", **callbacks), wrap(thing, "plain", **callbacks)
    assert one is two
    other = wrap(thing, "plain", **Log().callbacks())
    assert wrap(thing, "plain", **callbacks) is one
    thing().plain(1)
    assert len(log.lines) == 2
    other.undo()
    one.undo()
    assert thing.__dict__["plain"] is raw


def test_somebody_elses_wrapper_over_ours_is_left_alone() -> None:
    thing, log = fresh(), Log()
    made = wrap(thing, "plain", **log.callbacks())
    theirs = lambda self, a: 0  # noqa: E731
    thing.plain = theirs  # type: ignore[attr-defined]
    made.undo()
    assert thing.plain is theirs  # type: ignore[attr-defined]


def module_level(a: int) -> int:
    return a


def test_a_wrapped_function_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    module = sys.modules[__name__]
    made = wrap(module, "module_level", **Log().callbacks())
    try:
        assert pickle.loads(pickle.dumps(module.module_level))(4) == 4
    finally:
        made.undo()


def test_errors_of_hooks_are_told_once_and_go_nowhere(told) -> None:  # type: ignore[no-untyped-def]
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken hook")

    thing = fresh()
    names = ("before", "after", "failed", "each", "resumed", "finished")
    for name in ("plain", "each", "later", "each_later", "fails"):
        wrap(thing, name, **dict.fromkeys(names, broken))
    one = thing()
    for _ in range(2):
        assert one.plain(1) == 6
        assert len(list(one.each(2))) == 2
        with pytest.raises(ValueError, match="its own"):
            one.fails()

        async def later() -> list[int]:
            return [await one.later(1), *[i async for i in one.each_later(2)]]

        assert asyncio.run(later()) == [1, 0, 1]
    texts = [notice.text for notice in told.read(Notice)]
    assert len(texts) == len(set(texts)) == 5
    assert all(text.endswith("failed: RuntimeError: broken hook") for text in texts)


def test_while_torch_traces_a_wrapper_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    thing, log = fresh(), Log()
    for name in ("plain", "each"):
        wrap(thing, name, **log.callbacks())
    monkeypatch.setattr(natures, "traces", lambda: True)
    assert thing().plain(1) == 6
    assert len(list(thing().each(2))) == 2
    assert log.lines == []
