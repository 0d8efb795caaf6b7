"""Packages that a sentence asks for without a version: "xformers is recommended"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mgtop.preflight.check.packages import DECISIVE, PROSE_NAMES, canonical

_FLAGS = re.IGNORECASE | re.ASCII
_IS = re.compile(
    r"^[\s*`_-]*(?:\d\b)?\s*(?:is|are)\s+(?:\w+ly\s+|not\s+)?(?:optional|recommended|required|mandatory|"
    r"needed|necessary)\b|^\s*\((?:optional|recommended|required)\)|^\s*(?:为|是)?(?:可选|推荐|必需|必须)",
    _FLAGS,
)
_ASKED = re.compile(
    r"\b(?:requires?|needs?|recommend|suggest|install(?:ing)?)\s+(?:(?:to\s+)?(?:install(?:ing)?|using|the|have)\s+)*$"
    r"|(?:需要|推荐|建议)(?:安装|使用)?\s*$",
    _FLAGS,
)
_OPTIONALLY = re.compile(r"\b(?:optional\w*|recommended|required)\b|可选|推荐", _FLAGS)


def packages_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Names of decisive packages that are asked for, and where they stand."""
    told = set()
    for match in re.finditer(PROSE_NAMES, text, _FLAGS):
        name = canonical(match[0])
        if name not in DECISIVE or name in told:
            continue
        before, after = text[: match.start()], text[match.end() :]
        asked = _ASKED.search(before)
        if _IS.match(after) or (
            asked and (not asked[0].lower().startswith("install") or _OPTIONALLY.search(text))
        ):
            told.add(name)
            yield name, match.start(), match.end()
