"""What a statement is restricted to: a generation of GPUs, a system, or a case it describes."""

from __future__ import annotations

import re

from mgtop.preflight.check import gpu_names, gpu_words, system_words
from mgtop.preflight.check.stated import Condition
from mgtop.preflight.check.systems import systems_in

_FLAGS = re.IGNORECASE | re.ASCII
_SUFFIX = re.compile(
    r"^\+?\W{0,3}(?:or\s+(?:newer|later|higher|above)\W{0,3})?(?:(?:is|are)\s+)?(?:required\s+"
    r"|needed\s+|necessary\s+|recommended\s+)?(?:\(|\b(?:on|for"
    r"|under)\s+)\W*(?P<what>[^),.;]{2,40})",
    _FLAGS,
)
"""``≥ 551.61 (Windows)``, ``2.7 for RTX 50 series``."""
_END_OF_LIST = re.compile(r"[);。]|\.\s|\d\.\d", _FLAGS)
_CASE = re.compile(
    r"^\W*(?:if|when(?:ever)?|in\s+case|unless|如果|若|当)(?P<what>[^,:,。]*)[,:,]", _FLAGS
)
_GIVEN = re.compile(
    r"^\W*(?:for|with|on|under|when\s+using|if\s+you\s+(?:use|have|are\s+on))\s+"
    r"(?P<what>(?:python|cuda|pytorch|torch)\s+\d[\d.x]*)\s*,(?!\s*(?:python|cuda|pytorch|torch"
    r"|and)\b)",
    _FLAGS,
)
"""``For Python 3.12, install …``: what follows is for those who have it."""
_OF_A_MACHINE = re.compile(
    r"\b(?:your|you\s+have|older|newer|below|above|drivers?|versions?|gpus?|cards?|installed"
    r"|errors?|fails?|"
    r"get|see|run\s+into|encounter|vram|memory)\b|显卡|驱动|版本|显存|报错|遇到|出现",
    _FLAGS,
)
_WISH = re.compile(
    r"\b(?:want|wish|need|plan|would\s+like|prefer|build\w*|compil\w*|enabl\w*|train\w*)\b|想|希望"
    r"|需要|启用|使用",
    _FLAGS,
)


def condition_of(text: str, start: int, end: int, headings: tuple[str, ...]) -> Condition:
    """The GPU generation or system that what stands at a place is restricted to."""
    architectures = gpu_words.condition_in(text, start)
    systems = system_words.condition_in(text, start, headings)
    suffix = _SUFFIX.match(text[end:])
    if suffix:
        what = suffix["what"].strip()
        if (own := systems_in(what)) and own[0].start == 0:
            listed = _END_OF_LIST.split(text[end + suffix.start("what") :])[0]
            systems = tuple(one.name for one in systems_in(listed))
        architectures = gpu_words.generations_of(what) or architectures
    return Condition(architectures=architectures, systems=systems)


def is_given(text: str, start: int) -> bool:
    """Whether a version is only what the rest of the sentence is said of."""
    given = _GIVEN.match(text)
    return given is not None and start < given.end()


def case_of(text: str, start: int) -> str:
    """Why a statement cannot be judged: nobody knows whether its case is this machine's."""
    given = _GIVEN.match(text)
    if given and start >= given.end():
        return f"it is said of {given['what'].strip()}"
    match = _CASE.match(text)
    if match is None or start < match.end():
        return ""
    what = match["what"]
    if systems_in(what) or gpu_names.ARCHITECTURE.search(what):
        return ""  # told apart by the condition
    wish = _WISH.search(what)
    return "" if wish or not _OF_A_MACHINE.search(what) else "it is said of a case"
