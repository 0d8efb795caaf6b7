"""Which class draws which screen; imported when the first one beside the live screen opens."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from mgtop.view.screens.session_screen import SessionScreen
from mgtop.view.viewing import Viewing

_CLASSES = {
    "live": "live:LiveScreen",
    "tail": "tail:TailScreen",
    "memory": "memory:MemoryScreen",
    "log": "log:LogScreen",
    "processes": "processes:ProcessScreen",
    "rounds": "session_rounds:SessionRoundsScreen",
}


def class_of(name: str) -> type[SessionScreen]:
    """The class of a name of :data:`~mgtop.view.bindings.PLACES`."""
    module, _, its = _CLASSES[name].partition(":")
    found = getattr(import_module(f"mgtop.view.screens.{module}"), its)
    return cast("type[SessionScreen]", found)


def make(name: str, viewing: Viewing) -> SessionScreen:
    """The screen of a name of :data:`~mgtop.view.bindings.PLACES`."""
    return class_of(name)(viewing)
