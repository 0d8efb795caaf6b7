"""GPUs in a sentence: models, series, architectures, compute capabilities, or just "a GPU"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mgtop.preflight.check import gpu_names
from mgtop.preflight.check.sizes import BREAK
from mgtop.preflight.check.stated import Kind, Version
from mgtop.preflight.check.words import said

_FLAGS = re.IGNORECASE | re.ASCII
_SERIES_PART = re.compile(
    r"(?<![\w.])(?:(?:geforce\s+)?(?:rtx|gtx)[\s-]*)?(?P<n>10|16|20|30|40|50)(?:xx|00)?(?![\w.%])"
    r"(?!\s*(?:gb|gib|g\b|steps?|frames?|fps|s\b|ms\b|minutes?|hours?|days?|x\b|×))",
    _FLAGS,
)
_SERIES = re.compile(
    r"(?:(?:rtx|gtx)[\s-]*)?(?:10|16|20|30|40|50)(?:xx)?(?:\s*(?:/|,|、|and|or|&|和|或)\s*"
    r"(?:(?:rtx|gtx)[\s-]*)?(?:10|16|20|30|40|50)(?:xx)?)*\s*-?\s*(?:series|系列?|系)"
    r"|(?:rtx|gtx)?[\s-]*(?:10|16|20|30|40|50)xx(?:\s*(?:series)?\s*(?:/|,|、|and|or|&|和|或|\s)+\s*"
    r"(?:(?:rtx|gtx)[\s-]*)?(?:10|16|20|30|40|50)xx)*",
    _FLAGS,
)
_SM = re.compile(r"(?<![\w])sm[\s_-]?(\d{2,3})a?(\+)?(?![\w])", _FLAGS)
_NEWER = re.compile(
    r"\b(?:or|and)\s+(?:newer|later|above|higher|better|up)\b|以上|及更新|or\s+more\s+recent|\+",
    _FLAGS,
)
_NVIDIA_GPU = re.compile(
    r"\b(?:cuda[\s-]*(?:capable|enabled|compatible)[\s-]*(?:nvidia\s+)?(?:gpus?|devices?|cards?)|"
    r"nvidia\s+(?:cuda\s+)?(?:gpus?|graphics?\s+cards?|cards?)|gpus?\s+with\s+cuda"
    r"|cuda\s+(?:gpus?|devices?|cards?))\b"
    r"|(?:支持\s*cuda\s*的|英伟达|nvidia)\s*(?:显卡|gpu)",
    _FLAGS,
)
_SPOKEN_OF = re.compile(
    r"\b(?:test\w*|tried|validated|verified|measured|benchmark\w*|evaluated|experiments?|train\w*|"
    r"runs?|running|fps|supports?|supported|works?|requir\w*|needs?|recommend\w*|reach\w*|"
    r"achiev\w*|hardware|used|using|profiled|optimi[sz]ed|tuned|recorded|environment|real-?time"
    r"|single|minimum|at\s+least|on\s+(?:an?|one)|gives?|delivers?|produces?|frames?\s+(?:per"
    r"|a)\s+second)\b|\bgpus?\s*:|\b(?:ran|one)\b|\b(?:enough|fine|sufficient)\b|实验|环境|测试|测得|实测"
    r"|在[^,。]{1,24}上|需要|推荐|建议|训练|支持|单卡|运行|评测"
    r"|评估",
    _FLAGS,
)
_CONDITION = re.compile(
    r"(?:\b(?:on|for|with)\s+(?:(?:an?|the|nvidia|newer)\s+)*|^\W*(?:nvidia\s+)?|\()"
    r"(?P<arch>(?:pascal|volta|turing|ampere|ada|hopper|blackwell)"
    r"(?:\s*(?:/|,|and|or|&)\s*(?:pascal|volta|turing|ampere|ada|hopper|blackwell))*)\b",
    _FLAGS,
)
_OWNERS = re.compile(
    r"(?:^\W*|(?:\b(?:on|for|with|if\s+you\s+(?:have|own|use))\s+|对于|使用|若为?|,\s*))(?:(?:the|an?"
    r"|your|nvidia|geforce)\s+)*"
    r"(?P<name>(?:rtx|gtx)?[\s-]*(?P<series>10|16|20|30|40|50)(?:\d0)?(?:\s*ti"
    r"|xx)?(?:[\s-]*series)?)"
    r"(?:\s*系列?(?:\s*(?:显卡|用户|GPU|卡))?|\s*(?:owners?|users?|cards?|gpus?)\b|(?<=series)"
    r"|(?<=xx))(?!\s*(?:\+|or\s+(?:newer|later)|and\s+(?:newer|later|above)|及以上|以上))",
    _FLAGS,
)
"""Those who have a card of a series: "RTX 5090 owners need …"."""
_SERIES_NAMED = re.compile(
    r"^(?:the\s+|nvidia\s+|geforce\s+)*(?:rtx|gtx)?[\s-]*(?P<series>10|16|20|30|40|50)(?:xx"
    r"|[\s-]*series|\s*系|\d0(?:\s*ti)?\s+(?:cards?|gpus?|owners?|users?)\b)",
    _FLAGS,
)
_OLDER_THAN = re.compile(
    r"(?:\b(?:older|earlier|lower|before|prior)\s+(?:than|to)|\bpre-?|早于)\s*$", _FLAGS
)
_CAPABLE = re.compile(r"\b(?:compute\s+capabilit|sm_?\d)", _FLAGS)


class Found(NamedTuple):
    """GPUs that a sentence names; the fields are those of :class:`Stated`."""

    kind: Kind
    names: tuple[str, ...]
    sm: tuple[Version, ...]
    or_newer: bool
    unclear: str
    start: int
    end: int


def gpus_in(text: str, *, has_vram: bool, has_capability: bool, demanding: bool) -> Iterator[Found]:
    """What a sentence says of kinds of GPU.

    Args:
        text: the sentence.
        has_vram: it states an amount of GPU memory; models then only illustrate it.
        has_capability: it states a compute capability; architectures then only illustrate it.
        demanding: it demands something.
    """
    found = list(_series(text))
    if found and _in_brackets(text, found[0].start) and gpu_names.architectures_in(text):
        found = []  # "Ampere (RTX 30 series, A100) or newer"
    if found and _states_version(text) and condition_in(text, len(text)):
        return iter(())  # the series only illustrates when a version is needed
    if not has_capability:
        found += _listed_capabilities(text)
    kinds = bool(found)
    if not has_capability and not kinds:
        found += _architectures(text)
    if not found and not has_vram and not has_capability:
        found += _models(text, demanding)
    if not found and not has_vram and demanding and not has_capability:
        found += _any_gpu(text)
    return iter(found)


def _in_brackets(text: str, place: int) -> bool:
    return text.count("(", 0, place) > text.count(")", 0, place)


def condition_in(text: str, before: int) -> tuple[str, ...]:
    """Architectures that what follows is restricted to: "On Blackwell, …", "Ada cards need …"."""
    match = _CONDITION.search(text, 0, before)
    if match:
        return tuple(gpu_names.architectures_in(match["arch"]))
    return generations_of(text[:before], _OWNERS)


def generations_of(text: str, pattern: re.Pattern[str] = _SERIES_NAMED) -> tuple[str, ...]:
    """The architecture that a text begins with, or that the owners it speaks to have."""
    owners = pattern.search(text)
    if owners and re.search(r"rtx|gtx|xx|series|系|\d{4}", owners[0], _FLAGS):
        architecture = gpu_names.architecture_of(gpu_names.SERIES[owners["series"]])
        return (architecture,) if architecture else ()
    if pattern is _SERIES_NAMED and (named := gpu_names.ARCHITECTURE.match(text)):
        return tuple(gpu_names.architectures_in(named[0]))
    return ()


def _series(text: str) -> Iterator[Found]:
    """Each run of series; a change of words ("… are not tested") begins another."""
    for match in _SERIES.finditer(text):
        numbers = [part["n"] for part in _SERIES_PART.finditer(match[0])]
        names = tuple(dict.fromkeys(numbers))
        if names and not _is_version_like(match[0]):
            newer = bool(_NEWER.match(text[match.end() :].lstrip(" -")))
            yield Found(
                "compute_capability",
                tuple(f"series {name}" for name in names),
                (),
                newer,
                "",
                match.start(),
                match.end(),
            )
    letters = list(gpu_names.LETTER_SERIES.finditer(text))
    if letters:
        names = tuple(f"{match[0][0]}-series" for match in letters)
        yield Found(
            "vram",
            names,
            (),
            False,
            "GPU series are named, and no amount of memory",
            letters[0].start(),
            letters[-1].end(),
        )


def _is_version_like(words: str) -> bool:
    return not re.search(r"rtx|gtx|xx|series|系", words, _FLAGS)


def _listed_capabilities(text: str) -> Iterator[Found]:
    matches = list(_SM.finditer(text))
    if matches:
        versions = tuple(_capability(match[1]) for match in matches)
        newer = any(match[2] for match in matches) or bool(
            _NEWER.match(text[matches[-1].end() :].lstrip())
        )
        yield Found(
            "compute_capability",
            (),
            versions,
            newer,
            "",
            matches[0].start(),
            matches[-1].end(),
        )


def _capability(digits: str) -> Version:
    return int(digits[:-1]), int(digits[-1])


def _architectures(text: str) -> Iterator[Found]:
    matches = list(gpu_names.ARCHITECTURE.finditer(text))
    if not matches or (condition_in(text, len(text)) and _states_version(text)):
        return
    if _OLDER_THAN.search(text[: matches[0].start()]) and not said(text).negative:
        return  # what becomes of older ones
    if _NEWER.match(text[matches[0].end() :].lstrip()):
        matches = matches[:1]
    names = tuple(gpu_names.architectures_in(text[: matches[-1].end()]))
    around = re.sub(r"\([^)]*\)", " ", text[matches[-1].end() :])[:48]
    newer = bool(_NEWER.search(BREAK.split(around)[0] if BREAK.search(around) else around))
    yield Found("compute_capability", names, (), newer, "", matches[0].start(), matches[-1].end())


def _states_version(text: str) -> bool:
    from mgtop.preflight.check.version_words import versions_in

    return any(True for _ in versions_in(text))


def _models(text: str, demanding: bool) -> Iterator[Found]:
    matches = list(gpu_names.MODEL.finditer(text))
    if matches and condition_in(text, len(text)) and _states_version(text):
        return
    if matches and (demanding or _SPOKEN_OF.search(text)):
        yield Found(
            "vram",
            tuple(gpu_names.models_in(text)),
            (),
            False,
            "",
            matches[0].start(),
            matches[-1].end(),
        )


def _any_gpu(text: str) -> Iterator[Found]:
    match = _NVIDIA_GPU.search(text)
    if match:
        yield Found("cuda", (), (), False, "", match.start(), match.end())
