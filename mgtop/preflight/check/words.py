"""Words that say how strong a statement is, in English and Chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

from mgtop.preflight.check.stated import Strength


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.ASCII)


_UNTESTED = _words(
    r"\b(?:unable\s+to|cannot|could\s+not|can['’]t|couldn['’]t|no\s+way\s+to)\s+(?:test|try"
    r"|verify)\b",
    r"\bun-?tested\b",
    r"\bnot?\s+(?:yet\s+|been\s+|fully\s+|officially\s+)*(?:tested|tried|verified|validated)",
    r"n[o']t\s+(?:yet\s+|been\s+|fully\s+)*(?:tested|tried|verified)",
    r"(?:未|没有|尚未|未经)(?:经过)?(?:测试|验证)",
)
_NEGATIVE = _words(
    r"\bunsupported\b",
    r"\bincompatible\b",
    r"\bnot\s+(?:currently\s+|yet\s+|officially\s+|been\s+)*(?:support|work|compatible|run\b)",
    r"(?:does|do|did|is|are|will|can)(?:n['o’]t|\s+not|\s*not)\s+(?:currently\s+|yet\s+)*"
    r"(?:support|work|run\b|compatible)",
    r"\bcannot\s+(?:work|run|be\s+used)",
    r"\bno\s+(?:(?:official\s+)?support|macos|windows)\b|\bsupport\s+(?:ends|ended|stops"
    r"|stopped)\b",
    r"\bno\s+longer\s+(?:support\w*|works?|runs?|compatible|maintained|tested)",
    r"\bnot\s+(?:recommended|advis(?:ed|able)|advise|suggested|to\s+(?:work|run|use))",
    r"\b(?:do|should|must|can)(?:n['’]t|\s*not)\s+(?:be\s+)?(?:use[d]?|install(?:ed)?"
    r"|upgrade[d]?|pick|choose|try)\b",
    r"\bsupport\s+(?:for\b[^;]*?\s)?(?:was|is|has\s+been|were|will\s+be)\s+(?:dropped|removed"
    r"|discontinued|deprecated)",
    r"\b(?:drop(?:s|ped)?|remov(?:es|ed|ing)|end(?:s|ed)?)\s+(?:the\s+)?support\b|\bdeprecated\b"
    r"|\bend[\s-]of[\s-]life\b",
    r"\b(?:not|no|except|without)\s+(?:with\s+|on\s+)?(?:python\s+|cuda\s+|torch\s+"
    r"|pytorch\s+)?(?=\d+\.\d)(?!\d[\d.]*\s*(?:GB|GiB|G\b))",
    r"\bavoid\b|\bstay\s+away\b|\bblacklist\w*|\bbroken\b|\bbreaks?\b|\bcrash(?:es|ed)?\b"
    r"|\bfails?\b|\bbuggy\b",
    r"\b(?:known|has|have|with|cause[sd]?|causing|produces?|produced|give[s]?"
    r"|leads?\s+to)\s+(?:\w+\s+){0,2}"
    r"(?:issues?|problems?|bugs?|leaks?|errors?|artefacts?|artifacts?|black\s+(?:frames?|images?"
    r"|videos?)|nans?|noise)\b",
    r"\bleaks?\b|\btoo\s+(?:old|new|small|little)\b|\b(?:not|n['’]t)\s+(?:be\s+)?(?:enough"
    r"|sufficient|suffice|fit)|\binsufficient\b",
    r"\bout[\s-]of[\s-]memory\b|\booms?\b",
    r"不要(?:使用|安装|用|升级)|请勿|切勿|避免使用|不再支持|弃用|不推荐|不建议|报错|爆显存|显存溢出|崩溃|不适用|不够|不足以|会失败|存在(?:\w"
    r"|[一-龥]){0,4}问题|有问题",
    r"\b(?:will\s+not|won['’]t)\s+do\b",
    r"不支持|不兼容|无法(?:运行|使用|加载|启动|工作)|无法在[^,。]{0,16}(?:运行|使用)|不能(?:运行|使用)",
)
_OPTIONAL = _words(r"\boptional(?:ly)?\b", r"可选")
_RECOMMENDED = _words(
    r"\brecommend\w*",
    r"\bsuggest\w*",
    r"\badvis(?:e|ed|able)\b",
    r"\bprefer(?:red|ably|s|able)?\b",
    r"\bbest\s+(?:with|on|used)\b",
    r"\bought\s+to\b",
    r"\bideally\b",
    r"推荐|建议",
)
_TESTED = _words(
    r"\btest(?:ed|ing|s)?\b(?!\s*(?:set|prompt|data|image|video|script))",
    r"\bvalidated\b",
    r"\bverified\b",
    r"\bmeasured\b",
    r"\bbenchmark(?:ed|s)?\b",
    r"\bevaluated\b",
    r"\bexperiments?\b",
    r"\bdeveloped\s+(?:on|with|under)",
    r"\bpeaks?\b",
    r"\btried\b",
    r"测试|评测|评估|验证|实验|峰值",
)
_FLOOR = _words(
    r"\bat\s+least\b",
    r"\bminim(?:um|al|ally)\b",
    r"\b(?:no|not)\s+(?:less|lower|fewer|older)\s+than\b|,\s*no\s+less\b",
    r"\bover\s+(?=\d)|\bupwards\s+of\b|(?<!not )(?<!never )\bexceed\w*",
    r"\b(?:or|and)\s+(?:more|newer|later|above|higher|greater|better|up|larger|upwards?)\b",
    r"\b(?:newer|more|greater|higher|later|larger)\s+than\b",
    r"\babove\b",
    r"\bas\s+(?:little|low)\s+as\b",
    r"\bsmallest\b",
    r"\bmin\.?\s+(?=\d|v?ram|gpu|memory|disk)",
    r"\boldest\b",
    r"≥|>=|⩾|>\s*(?=\d)",
    r"\d(?:\s*(?:gb|gib|g))?\+(?!\s*cu)",
    r"至少|不(?:[会得能可应要宜])?(?:低于|少于|小于)|最低|最小|最少|以上|高于|大于|及更高|或更高|更新版本|起(?=[*即,,。\s]|$)",
)
_DEMAND = _words(
    r"\brequir\w*\b(?!\s+files?\b|\w*[-_.]\w*\.?txt)",
    r"\bmust\b",
    r"\bneed(?:s|ed)?\b",
    r"\bmandatory\b",
    r"\bnecessary\b",
    r"\bessential\b",
    r"\bprerequisites?\b",
    r"\bonly\s+(?:works?|runs?|supports?|compatible|available)\b",
    r"\b(?:works?|runs?|supports?|supported)\s+only\b",
    r"\b(?:works?|runs?|support(?:s|ed)?|available)\b[^.;,]*\bonly\b",
    r"\bonly\b[^.;,]*\bsupported\b",
    r"^\W*\w+(?:\s+\w+)?\s+only\W*$",
    r"\b(?:for|on)\s+(?:\w+\s+){1,3}only\b",
    r"\b(?:has|have)\s+to\b",
    r"\bwants?\b",
    r"\bmake\s+sure\b",
    r"\bplease\s+use\b|\bstay\s+(?:with|on|at|below)\b|\bpin\b|\bup(?:grade|date)\s+(?:your|the"
    r"|to)\b|升级|更新(?=[到至])",
    r"\bensure\b",
    r"须|需|要求|适用于|仅支持|只支持|务必|必需|请使用|请安装|请预留|请确保|依赖",
)


class Said(NamedTuple):
    """Which kinds of words a text holds."""

    negative: bool
    untested: bool
    optional: bool
    recommended: bool
    tested: bool
    floor: bool
    demand: bool

    def strength(self) -> Strength | None:
        """The strength that these words give; a soft word beats a floor or a demand."""
        if self.negative:
            return "negative"
        if self.optional:
            return "optional"
        if self.recommended:
            return "recommended"
        if self.tested:
            return "tested"
        if self.floor:
            return "minimum"
        return "required" if self.demand else None


def said(text: str) -> Said:
    """The words of a text."""
    untested = bool(_UNTESTED.search(text))
    positive = _UNTESTED.sub(" ", text)
    return Said(
        negative=untested or bool(_NEGATIVE.search(text)),
        untested=untested and not _NEGATIVE.search(positive),
        optional=bool(_OPTIONAL.search(text)),
        recommended=bool(_RECOMMENDED.search(text)),
        tested=bool(_TESTED.search(positive)),
        floor=bool(_FLOOR.search(text)),
        demand=bool(_DEMAND.search(text)),
    )


_HEADINGS: tuple[tuple[re.Pattern[str], Strength], ...] = (
    (_words(r"\bmin(?:imum|imal)?\b", r"最低|最小"), "minimum"),
    (_words(r"\brec(?:ommended)?\b", r"推荐|建议"), "recommended"),
    (_words(r"\btest(?:ed|ing)\b", r"\bvalidated\b", r"测试"), "tested"),
    (_words(r"\boptional\b", r"可选"), "optional"),
    (
        _words(
            r"\brequirements?\b",
            r"\bprerequisites?\b",
            r"\brequired\b",
            r"\bdependenc",
            r"\byou(?:'ll)?\s+(?:will\s+)?need\b",
            r"要求|依赖|需求|前提|准备",
        ),
        "required",
    ),
)


def strength_of_heading(headings: tuple[str, ...]) -> Strength | None:
    """What a bare entry under these headings means; the innermost that tells counts."""
    for heading in reversed(headings):
        for pattern, strength in _HEADINGS:
            if pattern.search(heading):
                return strength
    return None


def is_demanding(text: str) -> bool:
    """Whether a text demands something, however softly."""
    words = said(text)
    return any(words)
