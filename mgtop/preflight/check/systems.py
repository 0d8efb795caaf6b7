"""Operating systems in a sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

_SYSTEM = re.compile(
    r"(?<![\w./-])(?:(?P<ubuntu>ubuntu)(?:\s*(?P<release>\d\d\.\d\d|\d\d(?=\s|$)))?"
    r"|(?P<windows>(?<!Sliding )(?<!Context )(?<!Attention )(?-i:Windows|WINDOWS)"
    r"(?!\s*(?:size|length|attention))(?:\s*1[01])?"
    r"|windows(?=\s*1[01]\b)|(?<=on )windows\b|win(?:32|64|10|11))"
    r"|(?P<macos>mac\s*os(?:\s*x)?|osx|darwin|apple\s+silicon)"
    r"|(?P<wsl>wsl\s*2?)|(?P<linux>linux)|(?P<debian>debian)|(?P<centos>centos))(?![\w/-]*/)",
    re.IGNORECASE | re.ASCII,
)
_ANOTHER = re.compile(
    r"\s*(?:/|,|、|&|或|和|\bor\b|\band\b)\s*(?:ubuntu\s*)?(?P<release>\d\d\.\d\d)(?![\d.])",
    re.IGNORECASE | re.ASCII,
)
"""A further release after one: "Ubuntu 22.04 or 24.04"."""
_NEWER = re.compile(
    r"^\s*(?:\+|(?:lts\s*)?(?:\bor\b|\band\b)\s*(?:newer|later|above|higher|up)|及以上|或以上|以上)",
    re.IGNORECASE | re.ASCII,
)


class Found(NamedTuple):
    """A system: ``linux``, ``ubuntu 22.04``, ``windows``, ``macos``, …; ``+``: or newer."""

    name: str
    start: int
    end: int


def systems_in(text: str) -> list[Found]:
    """All systems that a text names."""
    found = []
    for match in _SYSTEM.finditer(text):
        name = str(match.lastgroup if match.lastgroup != "release" else "ubuntu")
        release, start, end = match, match.start(), match.end()
        while release["release"]:
            newer = "+" if _NEWER.match(text[release.end() :]) else ""
            name, end = f"ubuntu {release['release']}{newer}", release.end()
            another = _ANOTHER.match(text, end)
            if another is None:
                break
            found.append(Found(name, start, end))
            release, start = another, another.start("release")
        if not any(one.start == start for one in found):
            found.append(Found(name, start, end))
    return found
