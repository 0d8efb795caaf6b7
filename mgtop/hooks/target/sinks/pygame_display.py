"""pygame: each ``display.flip`` or ``display.update`` shows a frame."""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, enter, failed, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_screen: Optional[Output] = None


def install(module: Any) -> None:
    """``pygame.display``."""
    for name in ("flip", "update"):
        if hasattr(module, name):
            wrap(module, name, _before, _after, failed)


def _before(args: Any, kwargs: Any) -> Any:
    global _screen
    if _screen is None:
        _screen = Output("pygame.display")
    return enter(_screen, "write")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 1)
