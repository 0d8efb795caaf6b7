"""Configured hooks: from ``module:Class.method`` to wrapped functions, when the module comes."""

from __future__ import annotations

import sys
from _thread import get_ident

from . import wrapping
from .events import SKIPPED, Told
from .importing import forget, when_imported
from .notices import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Dict, Iterable, List, Tuple

    from .configured import Configured
    from .wrapping import Wrapped

installed: List[Wrapped] = []
"""What was wrapped, in order."""

_asked: Dict[Tuple[Any, ...], _Install] = {}
_COMPILED = "torch._dynamo.eval_frame"
"""Where torch keeps the class whose instances stand for compiled modules."""


def install(hooks: Iterable[Configured], late: bool = False) -> None:
    """Wrap what the hooks name, now or when its module is imported.

    Args:
        hooks: as configured.
        late: the program runs already: functions that other modules have imported by name are
            replaced there, too.
    """
    for hook in hooks:
        fields = tuple(getattr(hook, name) for name in hook.__slots__)
        if fields not in _asked:
            _asked[fields] = _Install(hook, late)
            when_imported(hook.module, _asked[fields], again=True)


def uninstall() -> None:
    """Take all wrappers away."""
    for fields in list(_asked):
        waiting = _asked.pop(fields)
        forget(waiting.hook.module, waiting)
    while installed:
        installed.pop().undo()


class _Install:
    __slots__ = ("_late", "_once", "_told", "hook")

    def __init__(self, hook: Configured, late: bool) -> None:
        self.hook = hook
        self._late = late
        self._told: Any = None
        self._once: Any = None  # the same for a module that comes anew: its calls count once

    def __call__(self, module: ModuleType) -> None:
        hook = self.hook
        real = _home_of(hook.names[0], module)
        if real:
            when_imported(real, self, again=True)
            return
        try:
            owner: Any = module
            *leading, name = hook.names
            for part in leading:
                owner = _attribute(owner, part, hook)
            found = _attribute(owner, name, hook)
            if self._told is None:
                self._told = Told(hook)
                self._once = _Once(self._told)
            if name in ("forward", "__call__") and _is_torch_module(owner):
                _wrap_module(owner, self._once)
                return
            made = _wrap(owner, name, self._told)
        except _Missing as missing:
            notice("hooks", "frames.hooks: %s: %s" % (hook.target, missing))
            return
        except wrapping.Unwrappable as error:
            notice("hooks", "frames.hooks: %s: %s" % (hook.target, error))
            return
        if self._late and made.function is not None and not isinstance(owner, type):
            rebind(found, made.function, module)


def _home_of(name: str, module: ModuleType) -> str:
    """Which module a name will be imported from, where a package imports it when asked for it.

    As diffusers and transformers do: to ask now would import half of the package.
    """
    places = getattr(module, "_class_to_module", None)
    if name not in vars(module) and isinstance(places, dict) and isinstance(places.get(name), str):
        return "%s.%s" % (module.__name__, places[name])
    return ""


class _Missing(Exception):
    pass


def _attribute(owner: Any, name: str, hook: Configured) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        pass
    import difflib

    kind = "class" if isinstance(owner, type) else "module"
    called = getattr(owner, "__name__", type(owner).__name__)
    names = [each for each in dir(owner) if not each.startswith("__")]
    near = _elsewhere(name, owner, hook) or difflib.get_close_matches(name, names, 3, 0.6)
    if not near:
        near = [each for each in names if name.lower() in each.lower()][:3]
    hint = " (did you mean %s?)" % " or ".join(near) if near else ""
    raise _Missing("%s %s has no %s%s" % (kind, called, name, hint))


def _elsewhere(name: str, owner: Any, hook: Configured) -> List[str]:
    """Classes of the module that have what was looked for in it."""
    found = []
    for other, value in list(vars(sys.modules.get(hook.module, owner)).items()):
        if isinstance(value, type) and value is not owner and name in value.__dict__:
            found.append("%s.%s" % (other, name))
    return found[:3]


def _wrap(owner: Any, name: str, told: Any) -> Wrapped:
    made = wrapping.wrap(
        owner, name, told.before, told.after, told.failed, told.each, told.resumed, told.finished,
        getattr(told, "handed_out", None),
    )  # fmt: skip
    if made not in installed:
        installed.append(made)
    return made


def _is_torch_module(owner: Any) -> bool:
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    return module is not None and isinstance(owner, type) and issubclass(owner, module)


def _wrap_module(owner: type, once: _Once) -> None:
    """A torch module is hooked at its ``__call__``, compiled or not.

    Its ``forward`` may be compiled: a wrapper in there would be traced, and gone when it runs.
    Where the module as a whole is compiled, the program calls the object that stands for it.
    """
    _wrap(owner, "__call__", once)

    def see_to_compiled(module: ModuleType) -> None:
        compiled = getattr(module, "OptimizedModule", None)
        if compiled is not None:
            _wrap(compiled, "__call__", _OfCompiled(once, owner))

    when_imported(_COMPILED, see_to_compiled)


class _Once:
    """Of calls inside each other, in one thread, the outermost counts.

    Tokens are what the hook itself gave, with the thread. What a call hands out to be run later
    (a generator) is inside nothing any more: it may never run, or in another thread.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._inside: Dict[int, _Outermost] = {}

    def before(self, args: Any, kwargs: Any) -> Any:
        me = get_ident()
        if me in self._inside:
            return SKIPPED
        token = _Outermost(me)
        self._inside[me] = token
        try:
            token.told = self._told.before(args, kwargs)
        except BaseException:
            del self._inside[me]
            raise
        return token

    def handed_out(self, token: Any) -> None:
        if isinstance(token, _Outermost) and self._inside.get(token.thread) is token:
            self._inside.pop(token.thread)

    def after(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        if token is not SKIPPED:
            self.handed_out(token)
            self._told.after(_told_of(token), args, kwargs, result)

    def failed(self, token: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        if token is not SKIPPED:
            self.handed_out(token)
            self._told.failed(_told_of(token), args, kwargs, error)

    def each(self, token: Any, args: Any, kwargs: Any, item: Any) -> None:
        if token is not SKIPPED:
            self._told.each(_told_of(token), args, kwargs, item)

    def resumed(self, token: Any, args: Any, kwargs: Any) -> None:
        if token is not SKIPPED:
            self._told.resumed(_told_of(token), args, kwargs)

    def finished(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        if token is not SKIPPED:
            self._told.finished(_told_of(token), args, kwargs, result)


class _Outermost:
    """Token of an outermost call."""

    __slots__ = ("thread", "told")

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.told: Any = None


def _told_of(token: Any) -> Any:
    """The hook's own token; it has none where its ``before`` failed."""
    return token.told if isinstance(token, _Outermost) else None


class _OfCompiled:
    """Calls of a compiled module count as calls of the module in it, if that is of the class."""

    def __init__(self, once: _Once, owner: type) -> None:
        self._once = once
        self._owner = owner
        self.each, self.resumed, self.finished = once.each, once.resumed, once.finished
        self.handed_out = once.handed_out

    def _real(self, args: Any) -> Any:
        module = args[0].__dict__.get("_modules", {}).get("_orig_mod")
        return (module, *args[1:]) if isinstance(module, self._owner) else None

    def before(self, args: Any, kwargs: Any) -> Any:
        real = self._real(args)
        return SKIPPED if real is None else self._once.before(real, kwargs)

    def after(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        if token is not SKIPPED:
            self._once.after(token, self._real(args), kwargs, result)

    def failed(self, token: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        if token is not SKIPPED:
            self._once.failed(token, self._real(args), kwargs, error)


def rebind(before: Any, wrapper: Any, home: ModuleType) -> None:
    """Give the wrapper to the modules that have the function by ``from … import``."""
    for module in list(sys.modules.values()):
        if module is home or getattr(module, "__dict__", None) is None:
            continue
        for name, value in list(module.__dict__.items()):
            if value is before:
                module.__dict__[name] = wrapper
