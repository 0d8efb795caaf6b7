"""Output of Textual's, taken apart into cells: one character and one look each.

Only what every terminal draws alike is taken apart. Text whose width terminals do not agree on
(combined and joined characters, symbols that may be emoji), links and control characters are
not: whoever asks gets None, and must send the output as it is.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from rich.cells import get_character_cell_size

from mgtop.view.celldiff.looks import blank, look_of

SECOND_HALF = "\0"
"""Stands in the right cell of a wide character."""

ADDRESS = re.compile(r"\x1b\[(\d+);(\d+)H")
_PIECE = re.compile(
    r"\x1b\[([\d;]+)m([^\x00-\x1f\x7f-\x9f]*)\x1b\[0m|([^\x00-\x1f\x7f-\x9f]+)|[\s\S]"
)
"""A styled piece as Textual writes it, with its reset; a plain one; or anything else."""
_BLANKS = re.compile(" +")

NARROW = re.compile(
    "[ -~\xa0-\xa8\xaa-\xac\xaf-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038c"
    "\u038e-\u03a1\u03a3-\u0482\u048a-\u052f"
    "\u2010-\u2027\u2030-\u203b\u203d-\u2048\u2190-\u2193\u21d0-\u21ff\u2200-\u22ff"
    "\u2500-\u25a9\u25ac-\u25b5\u25b7-\u25bf\u25c1-\u25fa\u275a\u2800-\u28ff]+"
)
"""Characters that every terminal draws one cell wide."""
WIDE = re.compile(
    "[\u2e80-\u3029\u3041-\u3096\u309b-\u4dbf\u4e00-\ua4cf\uac00-\ud7a3\uf900-\ufaff"
    "\uff01-\uff60\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff]"
)
"""Characters that may be two cells wide; whether one is, Unicode and Rich must agree on."""


class Cells(NamedTuple):
    """Neighbouring cells.

    Attributes:
        text: a character a cell, :data:`SECOND_HALF` in the second one of a wide character.
        looks: as many looks. That of a blank is without what does not show.
    """

    text: str
    looks: list[str]


def take_apart(output: str) -> Cells | None:
    """The cells that the output after a cursor address fills; None if in doubt."""
    texts: list[str] = []
    looks: list[str] = []
    for match in _PIECE.finditer(output):
        parameters, styled, plain = match.groups()
        if parameters is None and plain is None:
            return None
        text = plain if parameters is None else styled
        look = look_of(parameters or "")
        if look is None:
            return None
        if not NARROW.fullmatch(text):
            widened = _widened(text)
            if widened is None:
                return None
            text = widened
        begin = len(looks)
        looks += [look] * len(text)
        if " " in text and (unseen := blank(look)) != look:
            for blanks in _BLANKS.finditer(text):
                first, last = blanks.span()
                looks[begin + first : begin + last] = [unseen] * (last - first)
        texts.append(text)
    return Cells("".join(texts), looks)


def _widened(text: str) -> str | None:
    """With :data:`SECOND_HALF` behind wide characters; None if there is one in doubt."""
    parts: list[str] = []
    for character in text:
        if NARROW.match(character):
            parts.append(character)
        elif (
            WIDE.match(character)
            and unicodedata.east_asian_width(character) in "WF"
            and get_character_cell_size(character) == 2
        ):
            parts += (character, SECOND_HALF)
        else:
            return None
    return "".join(parts)
