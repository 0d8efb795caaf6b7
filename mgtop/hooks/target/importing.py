"""Do something to a module as soon as it has been imported.

A finder at the front of ``sys.meta_path`` answers for the watched names only, with the very
spec that the other finders give. It sets ``exec_module`` on that one loader instance, and takes
it away on first use: the loader's type and the module's ``__spec__`` are what the program expects.
"""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    Do = Callable[[ModuleType], object]

_watched: Dict[str, List[Do]] = {}
_lasting: Set[Tuple[str, Do]] = set()
"""Those of them that stay when the module has come."""
_looking: Set[Tuple[int, str]] = set()


def when_imported(name: str, do: Do, again: bool = False) -> None:
    """Call ``do`` with the module ``name`` once it has been imported; at once where it has been.

    An error of ``do`` is swallowed, and told once as a note. Where the module fails to import,
    ``do`` waits for the next attempt.

    Args:
        name: of the module.
        do: takes it.
        again: whenever the module is executed anew, too: it was reloaded, or taken out of
            ``sys.modules``, and its functions are others now.
    """
    module = sys.modules.get(name)
    is_there = module is not None and not _is_on_its_way(module)
    if is_there:
        _call(do, module)
    if again:
        _lasting.add((name, do))
    elif is_there:
        return
    waiting = _watched.setdefault(name, [])
    if do not in waiting:
        waiting.append(do)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(name: str, do: Do) -> None:
    """Take a :func:`when_imported` back, if its module has not come yet."""
    waiting = _watched.get(name)
    _lasting.discard((name, do))
    if waiting and do in waiting:
        waiting.remove(do)
        if not waiting:
            del _watched[name]


def _is_on_its_way(module: ModuleType) -> bool:
    """Whether a module is being executed right now, so that half of it may be missing."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


class _Finder:
    """Finds watched modules through the other finders; knows nothing of all others."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _watched:
            return None
        looking = (get_ident(), name)
        if looking in _looking:  # another such finder asks everybody, us among them
            return None
        _looking.add(looking)
        try:
            spec = _spec_of(name, path, target)
            if spec is not None and spec.loader is not None:
                _arm(spec)
            return spec
        finally:
            _looking.discard(looking)


def _spec_of(name: str, path: Any, target: Any) -> Any:
    for finder in list(sys.meta_path):
        if finder is not _finder:
            find_spec = getattr(finder, "find_spec", None)
            spec = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


_finder = _Finder()


def _arm(spec: Any) -> None:
    """Have the spec's loader say when it has executed the module."""
    loader = spec.loader
    if not hasattr(loader, "exec_module"):
        method = "load_module"  # as zipimport before Python 3.10
    elif isinstance(loader, type):  # built in or frozen: one class loads them all
        spec.loader = _Through(loader, spec.name)
        return
    else:
        method = "exec_module"
    armed = getattr(loader, "__dict__", {}).get(method)
    if isinstance(armed, _Armed):
        armed.names.add(spec.name)  # one loader for many modules, as pytest's
        return
    try:
        setattr(loader, method, _Armed(loader, method, spec.name))
    except Exception:
        if method == "exec_module":
            spec.loader = _Through(loader, spec.name)
        else:
            _tell("%s is loaded in a way that cannot be hooked." % spec.name)


class _Armed:
    """Stands in for one loader's ``exec_module`` (or ``load_module``) until it was used."""

    __slots__ = ("before", "loader", "method", "names", "real")

    def __init__(self, loader: Any, method: str, name: str) -> None:
        self.loader = loader
        self.method = method
        self.names = {name}
        self.before: Optional[Any] = getattr(loader, "__dict__", {}).get(method)
        self.real: Any = getattr(loader, method)

    def __call__(self, what: Any) -> Any:
        name = what if isinstance(what, str) else getattr(what, "__name__", None)
        spec = getattr(what, "__spec__", None)
        if spec is not None:
            name = spec.name
        if name not in self.names:
            return self.real(what)
        self.names.discard(name)
        if not self.names:
            self._disarm()
        result = self.real(what)
        _arrived(name, sys.modules.get(name) or what)
        return result

    def _disarm(self) -> None:
        try:
            if self.before is not None:
                setattr(self.loader, self.method, self.before)
            elif self.loader.__dict__.get(self.method) is self:
                delattr(self.loader, self.method)
        except Exception:
            pass  # it goes on through us, which costs a call


class _Through:
    """A loader in front of one that all modules of its kind share; steps aside when done."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader = loader
        self._name = name

    def create_module(self, spec: Any) -> Any:
        spec.loader = self._loader
        try:
            return self._loader.create_module(spec)
        finally:
            spec.loader = self

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _arrived(self._name, sys.modules.get(self._name) or module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _arrived(name: str, module: Any) -> None:
    waiting = _watched.pop(name, [])
    lasting = [do for do in waiting if (name, do) in _lasting]
    if lasting:
        _watched[name] = lasting
    for do in waiting:
        _call(do, module)
    if not _watched:
        try:
            sys.meta_path.remove(_finder)
        except ValueError:
            pass


def _call(do: Do, module: Any) -> None:
    try:
        do(module)
    except Exception as error:
        _tell("%s could not be hooked: %r" % (getattr(module, "__name__", "?"), error))


def _tell(text: str) -> None:
    from .notices import notice

    notice("hooks", text)
