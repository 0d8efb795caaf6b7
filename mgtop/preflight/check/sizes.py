"""Amounts of memory and disk in a sentence, and what each of them is an amount of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from mgtop.preflight.check import gpu_names
from mgtop.preflight.check.stated import Size

SizeKind = Literal["vram", "ram", "disk", "unclear"]
_FLAGS = re.IGNORECASE | re.ASCII
_UNIT = (
    r"(?:GiB|GB|TiB|TB|MiB|MB|gigabytes?|gibibytes?|gigs?|terabytes?|G(?![A-Za-z])|T(?![A-Za-z]))"
    r"(?![A-Za-z/]|ps)"
)
_FIGURE = re.compile(
    rf"(?<![\w.×-])(?P<low>\d+(?:\.\d+)?)\s*(?:\+\s*)?(?P<unit1>{_UNIT})?"
    rf"(?:\s*(?:-|–|—|~|to|至|到)\s*(?P<high>\d+(?:\.\d+)?)\s*(?P<unit2>{_UNIT}))?",
    _FLAGS,
)
_GIB = {"T": 1024.0, "G": 1.0, "M": 1 / 1024}
_SMALLEST_GIB = 1.0
BREAK = re.compile(
    r"(?<!\d),|,(?!\d{3})|[,;;。、()()|•]|\s/\s|:\s(?=[^\d]{40})"
    r"|\b(?:and|but|while|plus)\b(?!\s+(?:later|above|newer|higher|up\b|greater|more|is\b"
    r"|are\b))|以及|并且|和(?!以)|同时",
    _FLAGS,
)
_STRONG: dict[SizeKind, re.Pattern[str]] = {
    "vram": re.compile(
        r"\bv-?ram\b|\b(?:gpu|video|graphics?|cuda|device)[\s-]+(?:memory|mem|ram)\b|显\s*存",
        _FLAGS,
    ),
    "ram": re.compile(
        r"(?<![vV])(?<!gpu )(?<!GPU )(?<!video )(?<!-)\bram\b(?!\s*(?:\([A-Z][a-z]|module|block"
        r"|network|\+\+))"
        r"|\b(?:system|cpu|host|main|physical|server)[\s-]+(?:memory|mem)\b|内\s*存|主存",
        _FLAGS,
    ),
    "disk": re.compile(
        r"\bdisks?\b|\bstorage\b|\bssd\b|\bhard[\s-]?drives?\b|\bdrives?\b|\bpartition\b"
        r"|\b(?:free|available|empty)\s+space\b|\bnvme\b"
        r"|磁盘|硬盘|存储",
        _FLAGS,
    ),
}
_WEAK: dict[SizeKind, re.Pattern[str]] = {
    "vram": re.compile(
        r"\bgpus?\b|\bgraphics?\s+cards?\b|\bcards?\b|显卡|单卡|张卡|\bMIG\b", _FLAGS
    ),
    "ram": re.compile(
        r"\b(?:nodes?|servers?|workstations?|computers?|laptops?|pcs?)\s+(?:with|has|have|should"
        r"|of)\b(?=[^,;.]*\bmemory\b)|\bcpu\s+cores?\b|\bv?cpus?\b(?!\s*offload)|\bcores\b|核",
        _FLAGS,
    ),
    "disk": re.compile(
        r"\bdownload\w*|\bcheckpoints?\b|\bweights\b|下载|权重|\bmodel\s+files?\b|模型文件", _FLAGS
    ),
}
_MEMORY = re.compile(r"\bmemory\b", _FLAGS)
_MEMORY_LABEL = re.compile(r"(?:^|[,;(])\W*memory\W*:\s*$", _FLAGS)
_GPU_LABEL = re.compile(r"\b(?:v-?ram|gpus?|gpu\s+memory)\W*:", _FLAGS)
_OTHER_THING = re.compile(
    r"\bdatasets?\b|\bcorpus\b|\bvideos?\s+files?\b|(?<![./])\bcache\b|\bswap\b|\bshm\b"
    r"|\bbandwidth\b"
    r"|\bper\s+second\b|数据集|缓存|交换",
    _FLAGS,
)
_LESS_BY = re.compile(
    r"(?:\bby|\bsav(?:e|es|ed|ing)|\bfree(?:s|d|ing)?|\badd(?:s|ed|ing)?(?!\s+up)|\badditional"
    r"|\bextra|节省|减少|降低|增加|增长|多占用?)\s*(?:了|another|about|around|up\s+to|over|roughly|大概|大约|约|近"
    r"|~)?\s*$",
    _FLAGS,
)
_CHANGED = re.compile(
    r"(?:\b(?:from|was|were|previously|formerly|originally|used\s+to\s+(?:be|need|require|take))"
    r"|从|由|原[来先本]的?|\bout\s+of)\s*(?:about|around|~|约)?\s*$",
    _FLAGS,
)
_NOW = re.compile(
    r"^\s*(?:of\s+\w+\s*)?(?:显存|内存)?\s*(?:(?:down|up)\s+)?(?:to|becomes?|became|降|减|升|增|变)",
    _FLAGS,
)
"""``from 80 GB to 24 GB``: the second figure is how it is now."""
_CHANGE = re.compile(
    r"\b(?:went|goes|drop\w*|reduc\w*|lower\w*|cut\w*|decreas\w*|increas\w*|rais\w*|rose|grew"
    r"|shr[iau]nk\w*|br(?:ing|ought)\w*|"
    r"down|up|sav\w*|compress\w*|became)\b|[降减升增变]",
    _FLAGS,
)
_COMPARED = re.compile(
    r"(?:\b(?:instead\s+of|rather\s+than|compared\s+(?:to|with)|versus|vs\.?|as\s+opposed\s+to"
    r"|(?:down|up)\s+from|unlike)"
    r"|而不是|而非|相比)\s*(?:the\s+)?(?:about|around|~|约)?\s*$",
    _FLAGS,
)
_OR_LESS = re.compile(
    r"\s*(?:(?:or|and)\s+(?:less|lower|smaller|below|under)\b|(?:及|或)?以下)", _FLAGS
)
"""A case, not a need: ``on cards with 12 GB or less``."""
_LEFT_FREE = re.compile(r"\b(?:leave|keep|reserve)\b[^;]*\bfree\b", _FLAGS)
_OF_DATA = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:worth\s+)?of\s+(?:\w+\s+)?(?:parameters?|tokens?|data|text|videos?"
    r"|images?|logs?|frames?|clips?|footage)\b(?!\s*(?:memory|ram))",
    _FLAGS,
)
_MORE_THAN_BEFORE = re.compile(
    r"\s*(?:(?:more|less|fewer|extra|additional)\b(?!\s+(?:or|is|are)\b)|per\s+(?:extra"
    r"|additional)\b)",
    _FLAGS,
)
_BELOW = re.compile(
    r"(?:(?<!no )(?<!not )\bless\s+than|\bbelow|\bunder|\bfewer\s+than|\bsmaller\s+than|(?<![≤>])<"
    r"|(?<!不)(?<!不[会得能可应要宜])(?:低于|小于)|不足|(?<!不)(?<!不[会得能可应要宜])少于)\s*$",
    _FLAGS,
)
_WILL_NOT_DO = re.compile(
    r"\b(?:un|not\s+)supported\b|\bdo(?:\s+not|n['’]t)\s+(?:even\s+)?(?:try|attempt|use)\b"
    r"|\bkilled\b|\bcrash\w*|\b(?:won['’]t|will\s+not|can(?:no|['’])t|does\s+not|do\s+not"
    r"|don['’]t)\s+"
    r"(?:be\s+)?(?:run|work|fit|enough|suffice|load|start|able|used)|\bfails?\b|\boom\b"
    r"|\bout[\s-]of[\s-]memory\b|^\W*no\s+(?:gpus?|cards?|machines?)\b|\bnot\s+enough\b"
    r"|\binsufficient\b|不支持|无法|不能|不够|爆显存|溢出",
    _FLAGS,
)
_FITS = re.compile(
    r"\b(?:runs?|fits?|works?|use[sd]?|takes?|took|peaks?|stays?|needs?|requires?|consumes?"
    r"|within)\b|运行|占用",
    _FLAGS,
)
_CONDITIONAL = re.compile(
    r"(?:\b(?:if|when|whenever|in\s+case|unless|for\s+(?:users?|those))\b(?=[^,,.;:]*\b(?:you"
    r"|your|users?|have|has|own|with)\b)"
    r"|如果|若|假如|当)[^,,.;:。]*",
    _FLAGS,
)
_RUNS_IF = re.compile(
    r"^\W*(?:it\s+|this\s+)?(?:also\s+|only\s+)?(?:runs?|works?|fits?)\b[^,;]*$", _FLAGS
)
"""``Runs on the CPU if you have 64 GB``: there the case is what is asked for."""
_NUMBERS = {
    "one": 1, "a": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16,
    "一": 1, "单": 1, "两": 2, "二": 2, "四": 4, "八": 8,
}  # fmt: skip
_SO_MANY = re.compile(
    r"(?<![\d.])(?P<n>\d{1,4}|two|three|four|eight|sixteen|[两二四八])\s*"
    r"(?:[x×*]\s*(?=[^\W\d]|\d+\s*G)|张|块|卡|(?=[ahb]\d{2,3}s?\b)|(?=\d+\s*(?:GB|GiB|G)\s+(?:gpus"
    r"|cards))|(?:nvidia\s+)?(?:[\w-]+\s+)?(?:gpus|cards)\b)",
    _FLAGS,
)

_EACH = re.compile(
    r"^.{0,3}(?:on|across|over|with|using)\s+(?P<n>\d{1,2}|two|three|four|eight"
    r"|sixteen)\s+(?:gpus|cards)\b",
    _FLAGS,
)


class Found(NamedTuple):
    """An amount, where it stands, and what it is an amount of."""

    kind: SizeKind
    size: Size
    start: int
    end: int
    floor: bool = False
    """It is said that less will not do."""


def segment_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a sentence around a place, up to the next comma, bracket or conjunction."""
    begin, stop = 0, len(text)
    for match in BREAK.finditer(text):
        if match.end() <= start:
            begin = match.end()
        elif match.start() >= end:
            stop = match.start()
            break
    return begin, stop


def conditional_spans(text: str) -> list[tuple[int, int]]:
    """Places that say "if you have…": they describe a case, and ask for nothing."""
    return [
        match.span()
        for match in _CONDITIONAL.finditer(text)
        if not _RUNS_IF.match(text[: match.start()])
    ]


def sizes_in(text: str, headings: str = "") -> Iterator[Found]:
    """All amounts of memory or disk that a sentence states as needed or used."""
    skipped = conditional_spans(text)
    for match in _FIGURE.finditer(text):
        unit = match["unit1"] or match["unit2"]
        if unit is None:
            continue
        start = match.start()
        end = match.end() if match["high"] else match.end("unit1")
        low = float(match["low"]) * _GIB[(match["unit1"] or unit)[0].upper()]
        high = float(match["high"]) * _GIB[match["unit2"][0].upper()] if match["high"] else low
        if high < _SMALLEST_GIB or (low > high and not _CHANGE.search(text)):
            continue
        if any(a <= start < b for a, b in skipped):
            continue
        before = text[:start]
        changed = _CHANGED.search(before) and _CHANGE.search(text)
        if changed and match["high"]:  # from 80 GB to 24 GB, which is no range
            low, start, end = high, match.start("high"), match.end()
        elif changed and _NOW.match(text[end:]):
            continue
        if low > high or (_COMPARED.search(before) and not changed) or _OF_DATA.match(text[end:]):
            continue
        if _OR_LESS.match(text[end:]) and not _WILL_NOT_DO.search(text):
            continue
        if _LESS_BY.search(before) or _MORE_THAN_BEFORE.match(text[end:]):
            continue
        below = _BELOW.search(before)
        floor = bool(below and _WILL_NOT_DO.search(text))
        if below and not floor and not _FITS.search(before):
            continue
        kind = _kind(text, start, end, headings)
        if kind == "vram" and _LEFT_FREE.search(text):
            continue
        if kind is not None:
            gpus = _gpus(text, start, end) if kind == "vram" else 1
            yield Found(kind, Size(low * 1024, high * 1024, gpus), start, end, floor)


def _kind(text: str, start: int, end: int, headings: str) -> SizeKind | None:
    begin, stop = segment_at(text, start, end)
    after, before = text[end:stop], text[begin:start]
    if _MEMORY_LABEL.search(text[:start]):
        return "ram" if _GPU_LABEL.search(text) else "unclear"
    following = _nearest(_STRONG, after, last=False)
    preceding = _nearest(_STRONG, before, last=True)
    if following and (following[1] <= 30 or not preceding):
        return following[0]
    if preceding:
        return preceding[0]
    above = _nearest(_STRONG, headings, last=True)
    if above is None and (_OTHER_THING.search(before) or _OTHER_THING.search(after)):
        return None
    segment = text[begin:stop]
    if gpu_names.MODEL.search(segment):
        return "vram"
    weak = _nearest(_WEAK, after, last=False) or _nearest(_WEAK, before, last=True)
    if weak:
        return weak[0]
    earlier = _nearest(_STRONG, text[:begin], last=True)
    if earlier:
        return earlier[0]
    if above is None and _OTHER_THING.search(text):
        return None
    later = _nearest(_STRONG, text[stop:], last=False)
    if later and later[1] < 30:
        return later[0]
    weak = _nearest(_WEAK, text[begin:stop], last=False)
    if weak:
        return weak[0]
    if gpu_names.MODEL.search(text):
        return "vram"
    weak = _nearest(_WEAK, text[:start], last=True) or _nearest(_WEAK, text[end:], last=False)
    if weak:
        return weak[0]
    above = above or _nearest(_WEAK, headings, last=True)
    if above:
        return above[0]
    return "unclear" if _MEMORY.search(text) else None


def _nearest(
    nouns: dict[SizeKind, re.Pattern[str]], text: str, *, last: bool
) -> tuple[SizeKind, int] | None:
    """The noun nearest to the end (``last``) or the beginning of a text, and how far it is."""
    best: tuple[SizeKind, int] | None = None
    for kind, pattern in nouns.items():
        for match in pattern.finditer(text):
            away = len(text) - match.end() if last else match.start()
            if best is None or away < best[1]:
                best = (kind, away)
    return best


def _gpus(text: str, start: int, end: int) -> int:
    """For how many GPUs an amount is asked."""
    begin, stop = segment_at(text, start, end)
    if text[begin - 1 : begin] in "((" and begin:  # 8 x A800 (80G)
        begin = segment_at(text, begin - 1, begin - 1)[0]
    each = _EACH.search(text, stop)
    for match in (*_SO_MANY.finditer(text, begin, stop), *filter(None, [each])):
        word = match["n"].lower()
        number = int(word) if word.isdigit() else _NUMBERS.get(word, 1)
        if 1 < number <= 1024 and not start <= match.start("n") < end:
            return number
    return 1
