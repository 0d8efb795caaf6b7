"""Versions in a sentence: "Python 3.10 or newer", "torch>=2.4", "CUDA 12.4 或 11.8"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mgtop.preflight.check.packages import PROSE_NAMES, canonical
from mgtop.preflight.check.stated import Bound, Kind, Version
from mgtop.preflight.check.versions import numbers

_FLAGS = re.IGNORECASE | re.ASCII
_SUBJECTS: dict[Kind, str] = {
    "python": r"(?<![\w-])python",
    "torch": r"(?<![\w-])(?:pytorch|torch)(?![A-Za-z_-])",
    "cuda": r"(?<![\w-])(?:cuda|nvcc|cudatoolkit)(?![\w-])",
    "driver": r"(?<![\w-])drivers?(?![\w-])|驱动(?:程序)?",
    "compute_capability": r"compute\s+capabilit(?:y|ies)|计算能力|算力",
    "package": PROSE_NAMES,
}
_SANE: dict[Kind, tuple[Version, Version]] = {
    "python": ((2, 7), (3, 30)),
    "torch": ((0, 3), (4,)),
    "cuda": ((8,), (20,)),
    "driver": ((100,), (1000,)),
    "compute_capability": ((3, 0), (20,)),
    "package": ((0,), (5000,)),
}
_FILL = (
    r"(?:[\s:=<>≥≤⩾~^()`'\"|*_-]|"
    r"\b(?:versions?|ver|release|is|are|be|of|to|at|least|or|toolkit|nvcc|sdk|build|runtime"
    r"|driver|the|a|"
    r"newer|later|than|above|below|minimum|must|should|has|have|needs?|requires?|required"
    r"|requirement|"
    r"using|use|installed|equal|higher|greater|exactly|up|supported|with|you|recommended|tested"
    r"|between|from|reports?|shows?|prints?|before|prior|older|earlier|lower)\b"
    r"|other|except|从|由|v(?=\d)|r(?=\d{3})|版本|版|号|要求|需要|需|为|是|必须|使用|至少|不[得能应可要宜]?(?:低于|小于|少于)|高于|大于"
    r"|低于|小于|最低|推荐|建议|安装|在|须|请勿|请|勿|用|等于|过[低旧]|太[低旧]|选择|应|介于|达到|不[得能应可]|升级[到至]|更新[到至]|的)*?"
)
_NUMBER = r"(\d+(?:\.\d+)*(?:\.[x*](?![\w]))?)"
_VERSION = re.compile(rf"(?P<fill>{_FILL}){_NUMBER}(?![\d%×]|\.\d|[A-Za-wyzA-WYZ](?![\d]))", _FLAGS)
_MORE = re.compile(
    rf"^\s*(?P<join>[,(]\s*(?:or\b|and\b|but\b|或|且)?|/|\bor\b|\band\b|\bbut\b|或者?|和|与|且|并且|、|&|-"
    rf"|–|—|~|\bto\b|\bthrough\b|(?:提高|升级|升|降)?[至到])\s*"
    rf"(?P<sign>>=|<=|<|>|==|!=|≥|≤|(?:below|under|up\s+to(?:\s+and\s+including)?|(?:older|lower"
    rf"|less|earlier)\s+than"
    rf"|before|不(?:高于|超过)|低于|小于)(?=[\s\d]))?"
    rf"\s*(?:(?:python|pytorch|torch|cuda)\s*|v)?{_NUMBER}(?![\d%×]|\.\d|[A-Za-wyz])",
    _FLAGS,
)
_SIGNS = {"≥": ">=", "≤": "<=", "up to": "<=", "不高于": "<=", "不超过": "<="}
_REVERSED = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)\s*(<=|≤|<)\s*$", _FLAGS)
"""The lower end of ``3.10 <= Python < 3.13``."""
_AHEAD = re.compile(
    r"(?:(?:older|newer|lower|higher|earlier|later)\s+than|\bbelow|\babove|\bprior\s+to|\bbefore"
    r"|[低高]于|早于)\s*$",
    _FLAGS,
)
_MOVED = re.compile(
    r"\b(?:mov|rais|increas|lift|switch|upgrad|migrat|bump|chang|updat)\w*\b[^.;]*\bfrom\b"
    r"|从[^。;]*(?:升级|迁移|切换|提高|升|降)?",
    _FLAGS,
)
"""From one version to another: the second counts."""
_LEFT_OVER = re.compile(
    r"^[\s,(]*(?:\b(?:but|and|or)\b\s*)?(?:[<>≤≥]=?|\b(?:below|above|(?:older|newer|lower|higher"
    r"|earlier|later)\s+than)|[低高]于)\s*v?\d",
    _FLAGS,
)
"""A further bound that was not understood: without it a verdict would be a guess."""
_ALSO = re.compile(
    rf"^[^\d.;。]{{0,12}}?[,(、]\s*(?P<lead>(?:\b(?:and|but|while|although|though|except|not|avoid"
    rf"|no|don['’]t|do\s+not"
    rf"|use|with|support|required?|recommended|minimum)\b|"
    rf"不要使用|不要用|请勿使用|不支持|推荐|建议|最低|至少|使用|而|\s|:)*){_NUMBER}"
    rf"(?P<verb>\s*(?:(?:is|are|was|will|works?|breaks?|fails?|crashes|has|does|do|at\s+(?:least"
    rf"|minimum))\b|不|会|为|最低|推荐|可能)|\s*(?:and|or)\s+(?:above|newer|later)\b|\s*[)])?",
    _FLAGS,
)
"""``Python 3.10, not 3.12``; ``3.12 is advised, 3.10 the minimum``: with words of their own."""
_SUFFIX_FLOOR = re.compile(
    r"^\s*(?:\([^)]*\)\s*)?(?:版本)?\s*(?:(?<!\s)\+(?!\s*cu)|[,]?\s*(?:\bor\b|\band\b|&)\s*(?:a\s+)?"
    r"(?:newer|later|above|higher|greater|up\b|upwards?|more|better)|及以上|或以上|以上|及更高|或更高|及之后|或更新|起)",
    _FLAGS,
)
_SUFFIX_CEILING = re.compile(
    r"^\s*(?:(?:\bor\b|\band\b)\s*(?:older|lower|earlier|below)|及以下|以下)", _FLAGS
)
_ABOVE = re.compile(
    r"(?:>\s*$|newer\s+than|later\s+than|higher\s+than|greater\s+than|\babove\b|高于|大于)", _FLAGS
)
_FLOOR = re.compile(
    r"(?:>=|≥|⩾|at\s+least|minimum|至少|不[得会能可应要宜]?(?:低于|小于|少于)|最低)", _FLAGS
)
_BELOW = re.compile(
    r"(?:<\s*$|\bbefore\b|\bprior\s+to\b|(?:older|lower|earlier)\s+than|\bbelow\b"
    r"|(?<!不)(?<!不[得会能可应要宜])(?:低于|小于))",
    _FLAGS,
)
_EXACT = re.compile(r"==|exactly", _FLAGS)
_TAG = re.compile(r"(?<![\w+/.-])cu(\d{2,3})(?![\w])", _FLAGS)
_ACTS = re.compile(
    r"^[\s`*]*(?:only\s+)?(?:needs?|requires?|supports?|works?|runs?|can|wants?|depends)\b"
    r"|^\s*(?:需要|要求|支持|依赖)",
    _FLAGS,
)
_DENIED = re.compile(r"\s*(?:is|are)?\s*(?:not\b|un)\w*|\s*(?:尚|暂|还)?不", _FLAGS)
_OWNERS = re.compile(r"\s*(?:users?\b|用户)", _FLAGS)
_HISTORY = re.compile(
    r"(?:\b(?:since|until|introduced\s+in|added\s+in|back\s+in)|自从?)\s*$", _FLAGS
)
"""Before a version: when something began, not what is needed."""
_RANGE = re.compile(r"^(?:-|–|—|~|to|through|至|到)$", _FLAGS)
_BETWEEN = re.compile(r"(?:\bbetween\b|介于)\D*[\d.]+$", _FLAGS)


class Found(NamedTuple):
    """A version that a sentence states, and of what; ``any_of`` as in :class:`Stated`."""

    kind: Kind
    package: str
    any_of: tuple[tuple[Bound, ...], ...]
    floor: bool
    toolkit: bool
    start: int
    end: int
    unclear: str = ""


def versions_in(text: str) -> Iterator[Found]:
    """All versions that a sentence states."""
    told: set[tuple[Kind, Version]] = set()
    for kind, subject in _SUBJECTS.items():
        read_to = 0
        for match in re.finditer(subject, text, _FLAGS):
            found = _after(text, kind, match) if match.start() >= read_to else None
            if found is not None:
                read_to = found.end
                told.add((kind, found.any_of[0][0].version))
                yield found
                yield from _also(text, found)
    tags = [match for match in _TAG.finditer(text) if _tag(match[1])]
    fresh = [match for match in tags if ("cuda", _tag(match[1])) not in told]
    if fresh:
        any_of = tuple((Bound("bare", _tag(match[1])),) for match in fresh)
        yield Found("cuda", "", any_of, False, False, fresh[0].start(), fresh[0].end())


def tag_version(tag: str) -> Version:
    """``cu128`` → (12, 8); empty for what is no such tag."""
    match = re.fullmatch(r"cu(\d{2,3})", tag)
    return _tag(match[1]) if match else ()


def _tag(digits: str) -> Version:
    version = (int(digits[:-1]), int(digits[-1]))
    return version if (8,) <= version < (20,) else ()


def _after(text: str, kind: Kind, subject: re.Match[str]) -> Found | None:
    match = _VERSION.match(text, subject.end())
    if not match:
        return None
    if _HISTORY.search(text, 0, subject.start()) or _OWNERS.match(text[match.end() :]):
        return None
    version = numbers(match[2])
    low, high = _SANE[kind]
    if not low <= version < high or (kind == "python" and len(version) < 2):
        return None
    fill, end = match["fill"], match.end()
    wild = match[2].lower().endswith(("x", "*"))
    if kind == "package" and (
        fill in ("", "-")
        or (
            len(version) < 2
            and not wild
            and _sign(fill, "") is None
            and not _DENIED.match(text[end:])
        )
        or _ACTS.match(text[end:])
    ):
        return None  # a generation of it (FlashAttention-3), or it is what needs something
    any_of, end, listed = _with_more(text, version, wild, end, kind)
    rest = text[end:]
    floor = False
    if not listed or len(any_of) == 1:
        sign = _sign(fill, rest)
        if sign is not None and len(any_of) == 1 and len(any_of[0]) == 1:
            any_of = ((Bound(sign, version),),)
        floor = sign in (">=", ">") and len(any_of[0]) == 1
    ahead = (
        _sign(text[: subject.start()][-24:], "")
        if _AHEAD.search(text, 0, subject.start())
        else None
    )
    if ahead is not None and any_of == ((Bound("bare", version),),):
        any_of = ((Bound(ahead, version),),)  # newer than torch 2.4
    lower = _REVERSED.search(text, 0, subject.start())
    if lower is not None:
        sign = ">" if lower[2] == "<" else ">="
        any_of = tuple((Bound(sign, numbers(lower[1])), *bounds) for bounds in any_of)
        floor = False
    unclear = "a further bound is not understood" if _LEFT_OVER.match(rest) else ""
    words = text[subject.start() : match.start(2)].lower()
    return Found(
        kind,
        canonical(subject[0]) if kind == "package" else "",
        any_of,
        floor,
        kind == "cuda" and ("toolkit" in words or "nvcc" in words),
        subject.start(),
        end,
        unclear,
    )


def _also(text: str, first: Found) -> Iterator[Found]:
    """A further version of the same thing that has words of its own."""
    match = _ALSO.match(text[first.end :])
    if match is None or not (match["lead"].strip() or match["verb"]):
        return
    version, (low, high) = numbers(match[2]), _SANE[first.kind]
    if not low <= version < high or len(version) < 2 or first.kind == "package":
        return
    end = first.end + match.end(2)
    sign = _sign(match["lead"], text[end:]) or "bare"
    yield Found(
        first.kind,
        "",
        ((Bound(sign, version),),),
        sign in (">=", ">"),
        first.toolkit,
        first.end + match.start("lead"),
        end,
    )


def _with_more(
    text: str, first: Version, wild: bool, end: int, kind: Kind
) -> tuple[tuple[tuple[Bound, ...], ...], int, bool]:
    """The alternatives, the range or the further bounds that follow a version."""
    any_of: list[tuple[Bound, ...]] = [(Bound("~" if wild else "bare", first),)]
    listed = False
    low, high = _SANE[kind]
    while match := _MORE.match(text[end:]):
        version = numbers(match[3])
        if not low <= version < high or (kind == "python" and len(version) < 2):
            break
        join, word = match["join"].strip(), (match["sign"] or "").strip().lower()
        if "(" in join and not word:
            break
        if word:
            sign = _sign(text[:end][-24:], "") or ">="
            head = any_of[0][0]
            first_bound = Bound(sign, head.version) if head.sign == "bare" else head
            named = (
                word if re.match(r"[<>=!]", word) else _SIGNS.get(" ".join(word.split()[:2]), "<")
            )
            any_of = [(first_bound, Bound(named, version))]
        elif not listed and join.endswith(("to", "到", "至")) and _MOVED.search(text[:end]):
            any_of = [(Bound("bare", version),)]
        elif not listed and (_RANGE.match(join) or _BETWEEN.search(text[:end])):
            any_of = [(Bound(">=", first), Bound("<=", version))]
        elif join.startswith((",", "、")) and not re.search(r"or|and|或", join):
            also = _ALSO.match(text[end:])
            if len(version) != len(first) or (also and also["verb"]):
                break
            any_of.append((Bound("bare", version),))
        else:
            any_of.append((Bound("bare", version),))
        end += match.end()
        listed = True
    return tuple(any_of), end, listed


def _sign(fill: str, rest: str) -> str | None:
    if _EXACT.search(fill):
        return "=="
    if re.search(r"other\s+than|except", fill, _FLAGS):
        return "!="
    if _FLOOR.search(fill):
        return ">="
    if _ABOVE.search(fill):
        return ">"
    if "<=" in fill or "≤" in fill:
        return "<="
    if _BELOW.search(fill):
        return "<"
    if _SUFFIX_FLOOR.match(rest):
        return ">="
    if _SUFFIX_CEILING.match(rest):
        return "<="
    return None
