"""Sentences that state nothing about running the program here: news, plans, errors, others."""

from __future__ import annotations

import re

_FLAGS = re.IGNORECASE | re.ASCII
_NEWS = re.compile(
    r"^\W*(?:news\W+)?(?:20\d\d[-./年]\s?\d{1,2}|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct"
    r"|nov|dec)\w*\.?\s+\d)",
    _FLAGS,
)
_CITATION = re.compile(r"^\s*@\w+\{|^\s*(?:title|author|journal|year|booktitle|eprint)\s*=", _FLAGS)
_ELSEWHERE = re.compile(
    r"\b(?:news|community|related\s+works?|change\s?log|what'?s\s+new|updates?|citation|cite"
    r"|bibtex|acknowledge?ments?|license|"
    r"to-?do|roadmap|references?|star\s+history|contribut\w+)\b|更新日志|新闻|引用|致谢|许可|协议|动态",
    _FLAGS,
)
_PLAN = re.compile(
    r"^\W*\[[\sx]\]|\b(?:we|i)\s+(?:plan|aim|intend|hope)\s+to\b|\b(?:is|are)\s+planned\b"
    r"|\bcoming\s+soon\b"
    r"|\bwill\s+(?:soon\s+)?(?:be\s+)?(?:support\w*|release\w*|add\w*)\b|\bin\s+(?:a"
    r"|the)\s+(?:next|future|later)\s+"
    r"(?:release|version)\b|计划|即将|敬请期待|后续(?:版本|将|会)|未来|将(?:会)?支持",
    _FLAGS,
)
"""What is to be, or was done: no statement about what is needed now."""
_CHANGED = re.compile(
    r"^\W*(?:resolved|fixed|fixes|added|improved|bumped|upgraded)\b|^[^\w]*(?:解决了|修复|新增|优化了|升级了)",
    _FLAGS,
)
"""What a change log tells."""
_OF_OTHERS = re.compile(
    r"^\W*(?:other|competing)\b[^.]*\b(?:models?|methods?|projects?|tools?)\b"
    r"|^\W*(?:earlier|previous|older|former)\s+(?:versions?|releases?)\b|^\W*(?:旧版|之前的版本|其他模型)",
    _FLAGS,
)
"""What others need, or needed once."""
_NOT_NEEDED = re.compile(
    r"\b(?:do|does|did|will)(?:n['’]t|\s+not)\s+(?:need|require)\b|\bno\s+(?:longer\s+need"
    r"|need\s+(?:for|to))"
    r"|\bnot\s+(?:needed|required|necessary)\b|不需要|无需|不再需要|不必",
    _FLAGS,
)
_BUT = re.compile(r"\b(?:but|only|however|unless)\b|但|仅|只需|必须", _FLAGS)
_QUESTION = re.compile(r"[??]\s*$")
_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b\s*:|\bTraceback\b|\btried\s+to\s+allocate\b|"
    r"\btotal\s+capacity\b",
    _FLAGS,
)
"""What a program said when it failed."""
_OTHER_MAKERS = re.compile(
    r"\bunified\s+memory\b|\bmacbook\b|\bapple\s*芯片|苹果芯片|\bm[1-5]\s+(?:pro|max|ultra|chips?"
    r"|macs?)\b|\brocm\b|\b(?:amd|radeon)\b"
    r"|\brx\s*\d{4}|\bgfx\d{3,4}|\bintel\s+(?:arc|gpus?|xpu|gaudi)\b|\bxpu\b|\bgaudi\b|\bascend\b"
    r"|\b910b\b|\bnpus?\b|\bcambricon\b|\bmlu\b|\bmoore\s+threads\b|\bmusa\b|\btpus?\b"
    r"|统一内存|昇腾|寒武纪|摩尔线程|海光",
    _FLAGS,
)
_OURS = re.compile(
    r"\bnvidia\b|\bcuda\b|\b[rg]tx\b|\b[ahb]\d{3}\b|\bpython\b|\blinux\b|\bwindows\b|\bwsl"
    r"|\bubuntu\b|\bapple\s+silicon\b|\bmac\s?os|\bnot\s+(?:\w+\s+)?support|英伟达|不支持",
    _FLAGS,
)
"""Hardware of other makers only; what is said of it is no matter here."""


def is_set_aside(text: str, quote: str, headings: tuple[str, ...]) -> bool:
    """Whether a sentence says nothing about what this machine needs."""
    if any(
        pattern.search(text)
        for pattern in (_CITATION, _NEWS, _QUESTION, _OF_OTHERS, _CHANGED, _ERROR)
    ):
        return True
    if _NOT_NEEDED.search(text) and not _BUT.search(text):
        return True
    if _PLAN.search(text) or _PLAN.match(quote.lstrip("-*+ ")):
        return True
    if _OTHER_MAKERS.search(text) and not _OURS.search(text):
        return True
    return any(_is_elsewhere(heading) for heading in headings)


def _is_elsewhere(heading: str) -> bool:
    """Whether what stands under a heading is no statement about running the program."""
    return len(heading.split()) <= 5 and bool(_ELSEWHERE.search(heading))
