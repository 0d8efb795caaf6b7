"""What mgtop's own code in the program has to say to the user: told once, through the probe."""

from __future__ import annotations

from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Set

_MOST = 64
_told: Set[str] = set()


def notice(source: str, text: str) -> None:
    """Tell the session's reader a sentence, once in this process.

    Args:
        source: ``hooks``, ``sinks`` or ``boot``.
        text: what was noticed, and what to do; one or two sentences.
    """
    try:
        if text in _told or len(_told) >= _MOST:
            return
        _told.add(text)
        from mgtop.probe import outlet, pack

        out = outlet.current or outlet.start()
        if out is not None:
            out.message(pack.NOTICE, monotonic_ns(), source, pack.clip(text, 1500))
    except Exception:
        pass
