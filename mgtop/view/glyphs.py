"""What to draw with: all of Unicode, what the Linux console's fonts have, or plain ASCII."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mgtop.charts import ASCII, BLOCKS, HALVES, Glyphs

WORDS = ("blocks", "halves", "ascii")


class Look(NamedTuple):
    """Glyphs of bars, and what stands for characters that the font lacks."""

    glyphs: Glyphs
    plain: dict[int, str] | None


_CONSOLE = str.maketrans(
    {
        "▸": "►", "◂": "◄", "❚": "║", "✖": "×", "●": "•", "▶": "►", "┄": "-", "╵": "│", "▾": "▼",
        "…": ".", "≤": "<", "≥": ">", "▏": "│", "⏎": "←", "⇧": "^", "–": "-", "±": "+", "−": "-",
        "▁": "_", "▲": "^", "↤": "←",
    }
)  # fmt: skip
_PLAIN = str.maketrans(
    {
        "▸": ">", "◂": "<", "❚": "|", "✖": "x", "●": "*", "▶": ">", "┄": "-", "╵": "|", "▾": "v",
        "…": ".", "≤": "<", "≥": ">", "▏": "|", "⏎": "^", "⇧": "^", "–": "-", "±": "+", "−": "-",
        "▁": "_", "▲": "^", "×": "x", "█": "#", "░": ":", "▒": "%", "▓": "#", "│": "|", "·": ".",
        "←": "<", "→": ">", "↑": "^", "↓": "v", "►": ">", "◄": "<", "├": "+", "└": "+", "─": "-",
        "¼": ".", "½": ".", "▄": "=", "▌": "|", "▐": "|", "↤": "<", "┤": "+",
    }
)  # fmt: skip
_LOOKS = {
    "blocks": Look(BLOCKS, None),
    "halves": Look(HALVES, _CONSOLE),
    "ascii": Look(ASCII, _PLAIN),
}


def look(environment: Mapping[str, str]) -> Look:
    """What the environment asks for.

    ``MGTOP_GLYPHS`` is one of :data:`WORDS`; ``MGTOP_ASCII`` means ``ascii``. Without them, the
    Linux console gets what its fonts have, and everything else all of Unicode.
    """
    asked = environment.get("MGTOP_GLYPHS", "").lower()
    if asked in _LOOKS:
        return _LOOKS[asked]
    if environment.get("MGTOP_ASCII"):
        return _LOOKS["ascii"]
    return _LOOKS["halves" if environment.get("TERM") == "linux" else "blocks"]
