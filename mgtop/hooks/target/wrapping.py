"""Wrap a function, in place, so that its calls are seen: what it is stays what it is.

A coroutine function stays one, a generator function, too; name, signature, class and static
methods as well. What the callbacks raise never reaches the program.
"""

from __future__ import annotations

import sys

from . import natures
from .natures import Calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, Optional, Tuple, Union

    Arguments = Tuple[Any, ...]
    Named = Dict[str, Any]
    Before = Callable[[Arguments, Named], Any]
    After = Callable[[Any, Arguments, Named, Any], object]
    Failed = Callable[[Any, Arguments, Named, BaseException], object]
    Resumed = Callable[[Any, Arguments, Named], object]

_COPIED = (
    "__module__", "__name__", "__qualname__", "__doc__", "__annotate__", "__type_params__",
)  # fmt: skip


class Unwrappable(Exception):
    """The attribute cannot be wrapped; the text says why."""


class Wrapped:
    """One wrapping that was done. :meth:`undo` takes it back."""

    __slots__ = ("attribute", "callbacks", "fallback", "function", "inherited", "owner",
                 "put", "raw")  # fmt: skip

    def __init__(self, owner: Any, attribute: str, raw: Any, inherited: bool) -> None:
        self.owner = owner
        self.attribute = attribute
        self.raw = raw
        self.inherited = inherited
        self.callbacks: Tuple[Any, ...] = ()
        self.put: Any = None
        self.function: Any = None

    def undo(self) -> None:
        """Put back what was there, unless somebody has replaced the wrapper since."""
        if self.owner.__dict__.get(self.attribute) is self.put:
            if self.inherited:
                delattr(self.owner, self.attribute)
            else:
                setattr(self.owner, self.attribute, self.raw)


def wrap(
    owner: Union[type, ModuleType, Any],
    attribute: str,
    before: Optional[Before] = None,
    after: Optional[After] = None,
    failed: Optional[Failed] = None,
    each: Optional[After] = None,
    resumed: Optional[Resumed] = None,
    finished: Optional[After] = None,
    handed_out: Optional[Callable[[Any], object]] = None,
) -> Wrapped:
    """Have ``owner.attribute`` tell of its calls; twice with the same callbacks is once.

    Args:
        owner: a class, a module, or an object with a ``__dict__``.
        attribute: name of a function, method, class or static method, or C function in it. One
            that a class inherits is wrapped for that class and those below it alone.
        before: ``before(args, kwargs) -> token``, ahead of the call. Of a generator: when its
            body begins to run.
        after: ``after(token, args, kwargs, result)``, when it has returned. Of a coroutine: when
            it is done. Of a generator: at its end, with what it returned (None for one that was
            closed early).
        failed: ``failed(token, args, kwargs, error)`` instead, where it raised.
        each: of generators only: ``each(token, args, kwargs, item)`` when one was yielded.
        resumed: of generators only: ``resumed(token, args, kwargs)`` when its body goes on after
            a yield.
        finished: of generators only: called instead of ``after``.
        handed_out: ``handed_out(token)``, when a plain function has handed out a generator or a
            coroutine, which may never run, or run in another thread.

    A plain function that hands out a generator or a coroutine is taken for what it hands out,
    where ``each`` is given. ``args`` holds the instance (or class) first for a method. ``token``
    is None without ``before``.

    Raises:
        AttributeError: there is no such attribute.
        Unwrappable: it is a class or a property, or the owner takes no attributes.
    """
    callbacks = (before, after, failed, each, resumed, finished, handed_out)
    raw, inherited = _raw(owner, attribute)
    known = _known(raw)
    while known is not None:
        if known.callbacks == callbacks and known.owner is owner:
            return known
        known = _known(known.raw)
    made = Wrapped(owner, attribute, raw, inherited)
    made.callbacks = callbacks
    calls = Calls(_path(owner, attribute), callbacks)
    made.put = _around(raw, isinstance(owner, type), calls, made)
    try:
        setattr(owner, attribute, made.put)
    except (AttributeError, TypeError) as error:
        raise Unwrappable("%s takes no wrapper: %s" % (_path(owner, attribute), error)) from None
    return made


def _raw(owner: Any, attribute: str) -> Tuple[Any, bool]:
    """What stands there, before any binding; and whether it is inherited."""
    found = getattr(owner, "__dict__", {})
    if attribute in found:
        return found[attribute], False
    if isinstance(owner, type):
        for base in owner.__mro__[1:]:
            if attribute in base.__dict__:
                return base.__dict__[attribute], True
    return getattr(owner, attribute), True


def _known(raw: Any) -> Optional[Wrapped]:
    function = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    found = getattr(function, "__dict__", {}).get("__mgtop__")
    return found if isinstance(found, Wrapped) else None


def _path(owner: Any, attribute: str) -> str:
    name = getattr(owner, "__qualname__", None) or getattr(owner, "__name__", type(owner).__name__)
    return "%s.%s" % (name, attribute)


def _around(raw: Any, in_class: bool, calls: Calls, made: Wrapped) -> Any:
    """A wrapper of the same kind as ``raw``."""
    if isinstance(raw, staticmethod):
        return staticmethod(_function(raw.__func__, calls, made))
    if isinstance(raw, classmethod):
        return classmethod(_function(raw.__func__, calls, made))
    if isinstance(raw, type):
        raise Unwrappable("%s is a class: name a method of it" % calls.path)
    if isinstance(raw, property) or (hasattr(type(raw), "__set__") and not callable(raw)):
        raise Unwrappable("%s is no function, but an attribute that is computed" % calls.path)
    if callable(raw) and not _is_function(raw):
        raise Unwrappable(
            "%s is an object: name __call__ of its class, %s.%s"
            % (calls.path, type(raw).__module__, type(raw).__qualname__)
        )
    if not in_class:
        if not callable(raw):
            raise Unwrappable("%s is no function" % calls.path)
        return _function(raw, calls, made)
    if not hasattr(type(raw), "__get__"):
        if not callable(raw):
            raise Unwrappable("%s is no function" % calls.path)
        return staticmethod(_function(raw, calls, made))  # it is not bound when looked up
    if callable(raw):
        return _function(raw, calls, made)
    return _Binding(raw, calls, made)


def _is_function(called: Any) -> bool:
    """Whether a callable is meant to be called and no more: a function of any language.

    An object with a state of its own, such as a module of torch, is asked for other things, too,
    which a wrapper would not have.
    """
    if hasattr(called, "__name__") or getattr(called, "__dict__", None) is None:
        return True
    return type(called).__name__ in ("partial", "partialmethod")


def _function(function: Any, calls: Calls, made: Wrapped) -> Any:
    """A wrapper of the same nature as ``function``, under its name."""
    wrapper = natures.around(function, calls)
    _dress(wrapper, function)
    wrapper.__dict__["__mgtop__"] = made
    made.function = wrapper
    return wrapper


def _dress(wrapper: Any, function: Any) -> None:
    for name in _COPIED:
        try:
            setattr(wrapper, name, getattr(function, name))
        except Exception:
            pass
    if not hasattr(function, "__annotate__"):
        try:
            wrapper.__annotations__ = function.__annotations__
        except Exception:
            pass
    try:
        wrapper.__dict__.update(getattr(function, "__dict__", {}))
    except Exception:
        pass
    if not hasattr(function, "__code__"):  # a cache has methods, a partial its parts
        for name in dir(function):
            if not (name.startswith("__") or hasattr(wrapper, name)):
                try:
                    setattr(wrapper, name, getattr(function, name))
                except Exception:
                    pass
    wrapper.__wrapped__ = function
    inspect = sys.modules.get("inspect")
    if inspect is not None:  # for who asks without following __wrapped__, as getfullargspec
        try:
            wrapper.__signature__ = inspect.signature(function)
        except Exception:
            pass


class _Binding:
    """Around a descriptor that is no function itself: what it binds is wrapped when looked up."""

    def __init__(self, raw: Any, calls: Calls, made: Wrapped) -> None:
        self.__wrapped__ = raw
        self.__mgtop__ = made
        self._calls = calls

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        bound = self.__wrapped__.__get__(instance, owner)
        if instance is None or not callable(bound):
            return bound
        calls = self._calls

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if natures.traces():
                return bound(*args, **kwargs)
            seen = (instance, *args)
            token = calls.before(seen, kwargs)
            try:
                result = bound(*args, **kwargs)
            except BaseException as error:
                calls.failed(token, seen, kwargs, error)
                raise
            calls.after(token, seen, kwargs, result)
            return result

        _dress(wrapper, bound)
        return wrapper

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)
