"""Loads what mgtop needs in a program: its hooks under a name of their own, the probe on demand.

Standard library only, Python 3.8 and later. Nothing of the program's is shadowed: the probe is
found only where the program's environment has none, and mgtop's other packages are not on the
path. Until the first event there is no file, no thread and no stream.
"""

from __future__ import annotations

import _frozen_importlib
import _frozen_importlib_external
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_HOOKS = "_mgtop_hooks"
_HELPERS = (
    b"multiprocessing.resource_tracker",
    b"torch._inductor.compile_worker",
    b"torch/_inductor/compile_worker",
)
"""Processes that libraries start for their own ends, by what stands in their command line."""


def begin(settings: Optional[str] = None, late: bool = False) -> None:
    """Start the hooks in this process. Never raises an ``Exception``; done twice, it is done once.

    Args:
        settings: as ``written`` by the hooks' ``configured`` module; None: from the environment.
        late: the program runs already.
    """
    try:
        supply_probe()  # switched off it does nothing, but it can be imported
        if os.environ.get("MGTOP_PROBE", "").lower() in ("off", "0", "no", "false"):
            return
        if not late and _is_helper():
            return
        _hooks().start(settings, late)
    except Exception:
        if os.environ.get("MGTOP_PROBE") == "raise":
            raise


def supply_probe() -> None:
    """Let ``mgtop.probe`` be found where the program's environment does not have it."""
    if not any(isinstance(finder, _Supply) for finder in sys.meta_path):
        sys.meta_path.append(_Supply())


def _parent() -> str:
    """The folder that holds this one: ``mgtop/hooks``."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _hooks() -> Any:
    """The module with ``start``."""
    if _HOOKS not in sys.modules:
        folder = os.path.join(_parent(), "target")
        spec = _frozen_importlib_external.spec_from_file_location(
            _HOOKS, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        # importlib.util, which has the same, takes 2 ms to import.
        _frozen_importlib._load(spec)  # type: ignore[attr-defined]  # noqa: SLF001
    return __import__(_HOOKS + ".start", fromlist=["start"])


def _is_helper() -> bool:
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read(4096)
    except OSError:
        return False
    return any(helper in words for helper in _HELPERS)


class _Supply:
    """Finds ``mgtop.probe`` beside this folder, after everybody else was asked."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "mgtop":
            spec = _frozen_importlib.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        if name == "mgtop.probe":
            folder = os.path.join(os.path.dirname(_parent()), "probe")
            return _frozen_importlib_external.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
            )
        return None
