"""A wrapper for each nature of a function: plain, coroutine, generator, asynchronous generator.

What the callbacks raise never reaches the program.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

    Arguments = Tuple[Any, ...]
    Named = Dict[str, Any]

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR, _ITERABLE_COROUTINE = 0x20, 0x80, 0x200, 0x100


def _never() -> bool:
    return False


traces: Callable[[], bool] = _never
"""Whether torch's compiler is tracing the caller; torch's own function once torch is there.

While it is, a wrapper is not there: it calls the function and nothing else, and leaves no trace
in the compiled code."""


class Calls:
    """The callbacks of one wrapping, guarded: an error of theirs is told once and ends there."""

    __slots__ = (
        "_after", "_before", "_callbacks", "_each", "_failed", "_finished", "_handed_out",
        "_resumed", "path",
    )  # fmt: skip

    def __init__(self, path: str, callbacks: Tuple[Any, ...]) -> None:
        self._callbacks = callbacks
        self._before, self._after, self._failed, self._each, self._resumed = callbacks[:5]
        finished, self._handed_out = callbacks[5:]
        self._finished = finished or self._after
        self.path = path

    def begun(self, token: Any) -> Calls:
        """The same of a call for which ``before`` was called already."""
        return Calls(self.path, (lambda args, kwargs: token, *self._callbacks[1:]))

    @property
    def looks_inside(self) -> bool:
        """Whether what a generator yields is asked for."""
        return self._each is not None

    def before(self, args: Arguments, kwargs: Named) -> Any:
        if self._before is not None:
            try:
                return self._before(args, kwargs)
            except Exception as error:
                self.trouble(error)
        return None

    def after(self, token: Any, args: Arguments, kwargs: Named, result: Any) -> None:
        if self._after is not None:
            try:
                self._after(token, args, kwargs, result)
            except Exception as error:
                self.trouble(error)

    def failed(self, token: Any, args: Arguments, kwargs: Named, error: BaseException) -> None:
        if self._failed is not None:
            try:
                self._failed(token, args, kwargs, error)
            except Exception as trouble:
                self.trouble(trouble)

    def each(self, token: Any, args: Arguments, kwargs: Named, item: Any) -> None:
        if self._each is not None:
            try:
                self._each(token, args, kwargs, item)
            except Exception as error:
                self.trouble(error)

    def resumed(self, token: Any, args: Arguments, kwargs: Named) -> None:
        if self._resumed is not None:
            try:
                self._resumed(token, args, kwargs)
            except Exception as error:
                self.trouble(error)

    def finished(self, token: Any, args: Arguments, kwargs: Named, result: Any) -> None:
        if self._finished is not None:
            try:
                self._finished(token, args, kwargs, result)
            except Exception as error:
                self.trouble(error)

    def handed_out(self, token: Any) -> None:
        if self._handed_out is not None:
            try:
                self._handed_out(token)
            except Exception as error:
                self.trouble(error)

    def trouble(self, error: Exception) -> None:
        from .notices import notice

        text = "The hook of %s failed: %s: %s" % (self.path, type(error).__name__, error)
        notice("hooks", text[:500])


def around(function: Any, calls: Calls) -> Any:
    """A wrapper of the same nature as ``function``, with nothing else of it."""
    flags = _flags(function)
    if flags & _ASYNC_GENERATOR:
        return _async_generator(function, calls)
    if flags & _COROUTINE:
        return _coroutine(function, calls)
    if flags & _GENERATOR and not flags & _ITERABLE_COROUTINE:
        return _generator(function, calls)
    return _plain(function, calls)


def _flags(function: Any) -> int:
    """The code flags of a function, of a bound method's, or of a partial's; else 0.

    A function that only carries ``__wrapped__`` is what its own code is: it may return a
    coroutine, but awaiting that is the caller's part.
    """
    for _ in range(8):
        code = getattr(function, "__code__", None)
        if code is not None:
            flags = int(getattr(code, "co_flags", 0))
            marked = getattr(function, "_is_coroutine_mark", None)
            return flags | (_COROUTINE if marked is not None and flags & _GENERATOR == 0 else 0)
        function = getattr(function, "__func__", None) or getattr(function, "func", None)
    return 0


def _plain(function: Any, calls: Calls) -> Any:
    before, after, failed = calls.before, calls.after, calls.failed
    lazy = _LAZY if calls.looks_inside else {}

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if traces():
            return function(*args, **kwargs)
        token = before(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            failed(token, args, kwargs, error)
            raise
        if type(result) in lazy:
            calls.handed_out(token)
            return lazy[type(result)](result, calls, token, args, kwargs)
        after(token, args, kwargs, result)
        return result

    return wrapper


def _coroutine(function: Any, calls: Calls) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        token = calls.before(args, kwargs)
        return await _awaited(function(*args, **kwargs), calls, token, args, kwargs)

    return wrapper


def _generator(function: Any, calls: Calls) -> Any:
    # No ``yield from``: it would answer to GeneratorExit itself, in place of the function.
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if traces():
            return (yield from function(*args, **kwargs))
        token = calls.before(args, kwargs)
        inner = function(*args, **kwargs)
        send, value = inner.send, None
        try:
            while True:
                try:
                    item = send(value)
                except StopIteration as stop:
                    calls.finished(token, args, kwargs, stop.value)
                    return stop.value
                send = inner.send
                calls.each(token, args, kwargs, item)
                try:
                    value = yield item
                except BaseException as error:
                    send, value = inner.throw, error
                if type(value) is not GeneratorExit:  # which is the end, not more work
                    calls.resumed(token, args, kwargs)
        except GeneratorExit:
            calls.finished(token, args, kwargs, None)
            raise
        except BaseException as error:
            calls.failed(token, args, kwargs, error)
            raise

    return wrapper


def _async_generator(function: Any, calls: Calls) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        token = calls.before(args, kwargs)
        inner = function(*args, **kwargs)
        send, value = _unwatched_by_the_loop(inner), None
        try:
            while True:
                try:
                    item = await send(value)
                except StopAsyncIteration:
                    calls.finished(token, args, kwargs, None)
                    return
                send = inner.asend
                calls.each(token, args, kwargs, item)
                try:
                    value = yield item
                except BaseException as error:
                    send, value = inner.athrow, error
                if type(value) is not GeneratorExit:  # which is the end, not more work
                    calls.resumed(token, args, kwargs)
        except GeneratorExit:
            calls.finished(token, args, kwargs, None)
            raise
        except BaseException as error:
            calls.failed(token, args, kwargs, error)
            raise

    return wrapper


def _unwatched_by_the_loop(inner: Any) -> Callable[[Any], Any]:
    """The first step of an asynchronous generator; it is closed by us, and by nobody else.

    Event loops remember those that have begun, and close all at once at their end: this one and
    the one around it would be in each other's way.
    """
    before = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        step = inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(*before)
    return lambda _: step


async def _awaited(inner: Any, calls: Calls, token: Any, args: Arguments, kwargs: Named) -> Any:
    try:
        result = await inner
    except BaseException as error:
        calls.failed(token, args, kwargs, error)
        raise
    calls.after(token, args, kwargs, result)
    return result


def _iterated(inner: Any, calls: Calls, token: Any, args: Arguments, kwargs: Named) -> Any:
    return _generator(lambda *_, **__: inner, calls.begun(token))(*args, **kwargs)


_LAZY: Dict[type, Callable[..., Any]] = {
    type((lambda: (yield))()): _iterated,
}
"""What to put around a generator or coroutine that a plain function handed out."""


async def _example() -> None:
    pass


_coroutine_made = _example()
_LAZY[type(_coroutine_made)] = _awaited
_coroutine_made.close()
del _coroutine_made
