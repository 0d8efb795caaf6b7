"""Small numbers for the names of spans and queues."""

from __future__ import annotations

from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

FIXED = (
    "other", "decode", "resize", "h2d", "forward", "vae_decode", "postprocess", "encode", "write",
    "preprocess",
)  # fmt: skip
"""Names whose number every reader knows: their place here (``SPAN_NAMES`` of the records)."""

FIRST_FREE = 16
MOST = 1024
"""More names than that (a number in the name, perhaps) become ``other``."""

numbers: Dict[str, int] = {text: number for number, text in enumerate(FIXED)}
_free = count(FIRST_FREE)

announced: Dict[int, str] = {}
"""Names beside the fixed ones, by number: told to readers when new, and with each Hello."""


def give_number(text: str) -> int:
    """The number of a name that has none yet; 0 (``other``) when all are taken."""
    if len(announced) >= MOST:
        return 0
    number = numbers.setdefault(text, next(_free))
    announced.setdefault(number, text)
    return number
