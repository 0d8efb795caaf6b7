"""Time spent in Python's garbage collector, by its own callbacks."""

from __future__ import annotations

import gc
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional

LONG_NS = 1_000_000
"""Collections that take as long as this are told one by one."""

total_ns: int = 0
"""Time in collections since the probe began to watch, whole process."""

_began_ns = 0
_told: Optional[Callable[[int, int, int], None]] = None


def watch(told: Callable[[int, int, int], None]) -> None:
    """Begin to time collections; long ones go to ``told(t_ns, duration_ns, generation)``."""
    global _told
    _told = told
    gc.callbacks.append(_on_collection)


def _on_collection(phase: str, info: Dict[str, int]) -> None:
    global _began_ns, total_ns
    try:
        now_ns = monotonic_ns()
        if phase == "start":
            _began_ns = now_ns
        elif _began_ns:
            duration_ns, _began_ns = now_ns - _began_ns, 0
            total_ns += duration_ns
            if duration_ns >= LONG_NS and _told is not None:
                _told(now_ns, duration_ns, info["generation"])
    except Exception:
        pass
