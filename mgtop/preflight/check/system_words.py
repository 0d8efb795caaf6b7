"""Which operating systems a sentence asks for, and which it shuts out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mgtop.preflight.check.sizes import BREAK, segment_at
from mgtop.preflight.check.systems import Found, systems_in
from mgtop.preflight.check.words import said

_FLAGS = re.IGNORECASE | re.ASCII
_ABOUT = re.compile(
    r"支持|\bsupport(?:s|ed)\b|\boperating\s+systems?\b|\bOS\b|\bplatforms?\b|\bsystem\b|操作系统|系统|平台",
    _FLAGS,
)
_SUPPORT = re.compile(
    r"\b(?:un|not\s+)?(?:supported|tested|works?|recommended)\b|\byes\b|\bno\b|✓|✔|✅|❌|支持|测试",
    _FLAGS,
)
_OF_ANOTHER = re.compile(
    r"\s*(?:>=|≥|不低于|至少|(?:needs?|ha(?:s|ve)(?!\s+been)|requires?)\b|测试环境|(?:为|需)|(?:needs?|为|需))",
    _FLAGS,
)
_RUNS_ON = re.compile(
    r"\b(?:runs?|works?|support\w*|available|built|compatible|only)\s+(?:only\s+)?(?:on|for"
    r"|under)\s+$",
    _FLAGS,
)
_AND = re.compile(r"(?:\b(?:and|or|nor)|[和与或、/,])\s*$", _FLAGS)
_WHERE = re.compile(r"(?:\b(?:on|for|under)|在)\s+$", _FLAGS)
_FAMILIES = ("linux", "windows", "macos", "wsl")
_USERS = re.compile(
    r"\b(?:users?|install\w*|click|download|run\s+the\s+following|example|tutorials?|guides?)\b"
    r"|用户|教程",
    _FLAGS,
)
_CONDITION = re.compile(r"^\W*(?:on|for|under)\s+$|\(\s*$|^\W*$", _FLAGS)


def systems_stated(
    text: str, *, bare_entry: bool, beside: bool = False
) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Systems that are asked for or shut out: their names, and where they stand.

    Args:
        text: the sentence.
        beside: the sentence states an amount or a version.
        bare_entry: it stands under a heading of requirements, so a bare name will do.
    """
    found = systems_in(text)
    if not found:
        return
    words = said(text)
    speaks = words.strength() is not None or _ABOUT.search(text) or bare_entry
    if not speaks or (_USERS.search(text) and not (words.negative or words.demand or words.tested)):
        return
    if condition_in(text, len(text), ()) and not (words.negative or words.tested):
        return
    shut_out: list[Found] = []
    wanted: list[Found] = []
    for one in found:
        where = _WHERE.search(text[: one.start]) or re.match(r"\s*上", text[one.end :])
        runs = _RUNS_ON.search(text[: one.start])
        if where and not runs and beside and not words.tested and not words.negative:
            continue  # where something else is needed
        if re.search(r"\d\s*\(\s*$", text[: one.start]):
            continue  # 551.61 (Windows)
        if one.name in _FAMILIES and _OF_ANOTHER.match(text[one.end :]):
            continue  # "Linux needs …", "Linux ≥ 12.2": what follows is needed there
        begin, stop = segment_at(text, one.start, one.end)
        own = said(text[begin:stop])
        after = said(text[stop:])
        alone = len(text[begin:stop].split()) <= 2
        run_on = bool(_AND.search(text[:begin])) and shut_out and one is not shut_out[-1]
        negative = (
            own.negative
            or (run_on and own.strength() is None and alone)
            or (alone and after.negative and own.strength() is None)
        )
        (shut_out if negative else wanted).append(one)
    for group in (_told(wanted, text), shut_out):
        if group:
            yield tuple(dict.fromkeys(one.name for one in group)), group[0].start, group[-1].end


def _told(found: list[Found], text: str) -> list[Found]:
    """``Linux (Ubuntu 20.04)``: the narrower name is meant."""
    narrower = [one for one in found if one.name.startswith(("ubuntu", "debian", "centos"))]
    if narrower and any(one.name == "linux" for one in found):
        between = text[found[0].start : narrower[0].end]
        if "(" in between or "(" in between:
            return [one for one in found if one.name != "linux"]
    return found


def condition_in(text: str, before: int, headings: tuple[str, ...]) -> tuple[str, ...]:
    """Systems that what follows is restricted to: "On macOS, …", or under such a heading."""
    found = systems_in(text[:before])
    names = []
    for one in found:
        lead = text[: one.start]
        rest = text[one.end :]
        users = re.match(r"\s*(?:(?:11|10)\s*)?(?:users?\b|用户)", rest, _FLAGS)
        follows = re.match(
            r"\s*(?:[,,::(]|$|(?:you|please|install|use|only|set|run)\b|[下上]?[,:]|上(?=[只请仅需须可要]"
            r"|使用))",
            rest,
            _FLAGS,
        )
        led = re.search(
            r"(?:^|[,;:(。])\W*(?:目前)?(?:(?:on|for|under|with)|if\s+(?:you(?:['’]re"
            r"|\s+are)?\s+)?(?:on"
            r"|using|use|running|run)|在|对于)"
            r"\s*(?:native\s+|the\s+)?$",
            lead,
            _FLAGS,
        )
        there = re.match(r"^\W*$", lead) and re.match(r"\s*上", rest)  # "Windows 上需要 …"
        label = re.match(r"^\W*$", lead) and re.match(r"\s*:", rest) and not _SUPPORT.search(rest)
        if (
            label
            or (there and not _SUPPORT.search(rest))
            or (led and (follows or users))
            or (users and re.match(r"^\W*(?:for\s+)?$", lead, _FLAGS))
        ):
            names.append(one.name)
    if names:
        return tuple(names)
    if headings:
        above = systems_in(headings[-1])
        if above and len(BREAK.split(headings[-1])[0].split()) <= 5:
            return tuple(one.name for one in above)
    return ()
