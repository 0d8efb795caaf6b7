"""One sentence → the requirements that it states."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mgtop.preflight.check import (
    conditions,
    gpu_names,
    gpu_words,
    package_words,
    scope,
    sizes,
    system_words,
)
from mgtop.preflight.check.set_aside import is_set_aside
from mgtop.preflight.check.stated import Bound, Condition, Kind, Size, Stated, Strength
from mgtop.preflight.check.version_words import Found as FoundVersion
from mgtop.preflight.check.version_words import versions_in
from mgtop.preflight.check.versions import begins
from mgtop.preflight.check.words import said, strength_of_heading

_FLAGS = re.IGNORECASE | re.ASCII
_SIZE_IN_NAME = re.compile(r"\b([ABHL]\d{2,3})(-(?:(?:SXM\d?|PCI-?E)-)?)(?=\d+\s?G)")
"""``A100-SXM4-80G``: the amount stands for itself."""
_IN_AN_IMAGE = re.compile(
    r"\b(?:image|container|docker)\b.*\b(?:comes?|ships?|contains?|has|includes?"
    r"|installed\s+in)\b|镜像[^,。]*内置",
    _FLAGS,
)
_MODELS_SIZE = re.compile(rf"(?:{gpu_names.MODEL.pattern})\s*\($", gpu_names.MODEL.flags)
_SAYS = re.compile(
    r"\b(?:test\w*|validated|verified|measured|developed|runs?|running|works?|built|compiled|can"
    r"|support\w*|compatible|only|should|any|all)\b|测试|运行|支持|验证|兼容|仅|只",
    _FLAGS,
)
_SIZES = ("vram", "ram", "disk")
_CLAUSE = re.compile(r"[;;]")
_MINIMUM = re.compile(r"\bminim|最低|最小", _FLAGS)
_LABEL = re.compile(
    r"^[^\w\u4e00-\u9fff]*(?:for|with|if|用于|option \d:?)?\s*(?:using\s+)?"
    r"cuda\s+\d+(?:\.\d+)?\W*(?:\(.*)?$",
    _FLAGS,
)
_SEE = re.compile(
    r"^\W*(?:please\s+)?(?:see|refer\s+to|check\s+out|read|visit|follow)\b"
    r"|^[^\w\u4e00-\u9fff]*请?参[考阅见]",
    _FLAGS,
)
_ALTERNATIVE = re.compile(
    r"^\W*(?:(?:option|method|variant)\s*[\dA-C]\b|(?:选项|方案|方式|方法)\s*[\d一二三])", _FLAGS
)
"""One way among others: nothing that it names is required."""
_UPGRADE = re.compile(r"\b(?:upgrade|update)\b|升级|更新驱动", _FLAGS)
_SPEED = re.compile(
    r"\b(?:speed|slower|faster|fps|latency)\b|\bseconds?\s*(?:/|per)|\bframes?\s*(?:/|per)|速度|帧率"
    r"|耗时",
    _FLAGS,
)
_SUBJECT = re.compile(r"(cuda|python|pytorch|torch|drivers?|驱动)(?:\s+versions?|版本)?", _FLAGS)
_COMPARISON = re.compile(r"^[\s`*+-]*(?:>=?|≥|<|at least|不低于)\s*\d", _FLAGS)
_BEGINS_WITH_AMOUNT = re.compile(r"^\W*(?:[^\W\d]+\W+){0,2}\d+\s*G", _FLAGS)
_IN_BRACKETS = re.compile(
    r"\s*\(\s*((?:minimum|min\.?|recommended|required|optional|tested)[^)]{0,24})\)", _FLAGS
)


@dataclass(frozen=True)
class Place:
    """Where a sentence stands: its file, headings, quote, and lines."""

    file: str
    quote: str
    line_at: Callable[[int], int]
    headings: tuple[str, ...] = ()
    command: str = ""
    previous: str = ""
    """The sentence before it in its paragraph."""
    strength: Strength | None = None
    """Of an entry without a word of its own; None: its headings tell."""


def requirements_in(text: str, place: Place) -> list[Stated]:
    """All requirements of a sentence, in the order of their places in it."""
    if is_set_aside(text, place.quote, place.headings):
        return []
    text, place = _with_subject(text, place)
    found = list(_Sentence(text, place).all())
    return [stated for _, stated in sorted(found, key=lambda pair: pair[0])]


def _with_subject(text: str, place: Place) -> tuple[str, Place]:
    """An entry that begins with a comparison is about what leads over to it: ``CUDA:``."""
    above = place.headings[-1] if place.headings else ""
    subject = _SUBJECT.fullmatch(above.strip(" :*`+-•"))
    if subject is None or not _COMPARISON.match(text):
        return text, place
    lead = f"{subject[1]} "
    line_at = place.line_at
    return lead + text.lstrip(), dataclasses.replace(
        place, line_at=lambda at: line_at(max(0, at - len(lead)))
    )


class _Sentence:
    def __init__(self, text: str, place: Place) -> None:
        self.text = _SIZE_IN_NAME.sub(lambda match: match[1] + " " * len(match[2]), text)
        text = self.text
        self.place = place
        self.skipped = sizes.conditional_spans(text)

    def all(self) -> Iterator[tuple[int, Stated]]:
        sized = list(self._sizes())
        versions = list(self._versions())
        yield from sized
        yield from versions
        has_vram = any(stated.kind == "vram" for _, stated in sized)
        taken = [(stated.kind, at) for at, stated in (*sized, *versions)]
        yield from self._gpus(has_vram, any(kind == "compute_capability" for kind, _ in taken))
        yield from self._systems()
        packages = {stated.package for _, stated in versions if stated.package}
        for name, start, end in package_words.packages_in(self.text):
            if name not in packages:
                strength, untested = self.strength(start, end)
                if strength != "negative":
                    yield (
                        start,
                        self._stated("package", start, end, strength, untested, package=name),
                    )

    def _sizes(self) -> Iterator[tuple[int, Stated]]:
        headings = " / ".join((*self.place.headings[-2:], self._topic()))
        told: list[Size] = []
        models_only = True
        for found in sizes.sizes_in(self.text, headings):
            if found.size in told and _illustrates(self.text, found.start):
                continue  # 80 GB or more (such as an H100 80GB)
            of_model = _MODELS_SIZE.search(self.text, 0, found.start) is not None
            if told and of_model and not models_only:
                continue  # below 40 GB on an H100 (80 GB)
            models_only = models_only and of_model
            told.append(found.size)
            strength, untested = self.strength(found.start, found.end)
            if found.floor:
                strength, untested = "minimum", False
            kind: Kind = "vram" if found.kind == "unclear" else found.kind
            unclear = "the sentence does not say of what memory" if found.kind == "unclear" else ""
            yield (
                found.start,
                self._stated(
                    kind,
                    found.start,
                    found.end,
                    strength,
                    untested,
                    size=found.size,
                    unclear=unclear,
                ),
            )

    def _topic(self) -> str:
        """The sentence before, where this one answers it or begins with a bare amount."""
        asks = self.place.previous.rstrip().endswith(("?", "?"))
        return self.place.previous if asks or _BEGINS_WITH_AMOUNT.match(self.text) else ""

    def _versions(self) -> Iterator[tuple[int, Stated]]:
        told: list[FoundVersion] = []
        for found in sorted(versions_in(self.text), key=lambda one: one.start):
            if any(_is_told(found, one) for one in told):
                continue
            told.append(found)
            if found.kind in ("python", "torch") and _IN_AN_IMAGE.search(self.text):
                continue  # that of an image asks nothing of this machine
            if len(told) > 1 and self._only_where(found):
                continue
            if self._is_skipped(found.start) or conditions.is_given(self.text, found.start):
                continue
            strength, untested = self.strength(found.start, found.end)
            if found.any_of[0][0].sign == "<" and _UPGRADE.search(self.text):
                found = found._replace(any_of=((Bound(">=", found.any_of[0][0].version),),))
                strength = "minimum"  # upgrade what is older
            strength = _of_version(strength, found)
            if self._tells_nothing(found, strength):
                continue
            if _ALTERNATIVE.match(self.text) and strength != "negative":
                strength = "recommended"
            if found.kind == "cuda" and _LABEL.match(self.text) and not self._is_entry():
                strength = "recommended"  # it heads the commands for that one
            yield (
                found.start,
                self._stated(
                    found.kind,
                    found.start,
                    found.end,
                    strength,
                    untested,
                    any_of=found.any_of,
                    toolkit=found.toolkit,
                    package=found.package,
                    unclear=found.unclear or self._unclear(found, strength),
                ),
            )

    def _only_where(self, found: FoundVersion) -> bool:
        """``A is faster on PyTorch 2.9``: where it is so, rather than what is needed."""
        words = said(self.text)
        return not words.tested and bool(re.search(r"\bon\s+$", self.text[: found.start], _FLAGS))

    def _unclear(self, found: FoundVersion, strength: Strength) -> str:
        """An upper end that nobody demands may as well be a warning."""
        bounds = found.any_of[0]
        below = len(bounds) == 1 and bounds[0].sign in ("<", "<=", "!=")
        if below and strength == "tested":
            return "whether that is asked for or warned of is not clear"
        return ""

    def _tells_nothing(self, found: FoundVersion, strength: Strength) -> bool:
        """A pointer to another page, or what becomes of older GPUs."""
        below = found.any_of[0][0].sign in ("<", "<=") and len(found.any_of[0]) == 1
        if found.kind == "compute_capability" and below and strength != "negative":
            return True
        return bool(_SEE.match(self.text)) and said(self.text).strength() is None

    def _gpus(self, has_vram: bool, has_capability: bool) -> Iterator[tuple[int, Stated]]:
        for found in gpu_words.gpus_in(
            self.text,
            has_vram=has_vram,
            has_capability=has_capability,
            demanding=said(self.text).demand or self._heading_strength() == "required",
        ):
            if self._is_skipped(found.start):
                continue
            strength, untested = self.strength(found.start, found.end)
            if found.kind == "vram" and strength == "required" and _SPEED.search(self.text):
                strength = "tested"  # how fast it is there, under whatever heading
            yield (
                found.start,
                self._stated(
                    found.kind,
                    found.start,
                    found.end,
                    strength,
                    untested,
                    names=found.names,
                    sm=found.sm,
                    or_newer=found.or_newer,
                    unclear=found.unclear,
                ),
            )

    def _systems(self) -> Iterator[tuple[int, Stated]]:
        bare = self._heading_strength() is not None
        for names, start, end in system_words.systems_stated(
            self.text, bare_entry=bare, beside=self._states_figures()
        ):
            if self._is_skipped(start):
                continue
            strength, untested = self.strength(start, end)
            yield start, self._stated("os", start, end, strength, untested, names=names)

    def _states_figures(self) -> bool:
        return any(True for _ in versions_in(self.text)) or any(
            True for _ in sizes.sizes_in(self.text)
        )

    def _is_skipped(self, place: int) -> bool:
        return any(a <= place < b for a, b in self.skipped)

    def _heading_strength(self) -> Strength | None:
        return self.place.strength or strength_of_heading(self.place.headings)

    def _is_entry(self) -> bool:
        """Whether it is a bare entry of a list that its heading speaks of."""
        return self._heading_strength() is not None and not self.text.lstrip().startswith(
            ("For ", "for ", "用于")
        )

    def strength(self, start: int, end: int) -> tuple[Strength, bool]:
        """How strongly the thing at a place is stated: by the words next to it first."""
        begin, stop = sizes.segment_at(self.text, start, end)
        own = said(self.text[begin:stop])
        if label := _IN_BRACKETS.match(self.text[end:]):
            own = said(label[1])  # 24 GB (minimum), 48 GB (recommended)
        strength = own.strength()
        if strength not in (None, "minimum"):
            return strength, own.untested
        clause_begin, clause_stop = 0, len(self.text)
        for match in _CLAUSE.finditer(self.text):
            if match.end() <= start:
                clause_begin = match.end()
            elif match.start() >= end:
                clause_stop = match.start()
                break
        before = said(self.text[clause_begin:begin])
        after = said(self.text[stop:clause_stop])
        alone = len(self.text[begin:stop].split()) <= 3
        if alone and after.negative and not before.negative:
            return "negative", after.untested
        if strength is not None:
            outside = said(f"{self.text[clause_begin:begin]} {self.text[stop:clause_stop]}")
            soft = outside.recommended or outside.optional or outside.tested
            if soft and self.text[begin - 1 : begin] == "(":
                return outside._replace(negative=False).strength() or strength, False
            return strength, False
        for words, part in ((before, self.text[clause_begin:begin]), (after, "")):
            floor = bool(_MINIMUM.search(part))  # at least 24 GB here is no floor for what follows
            words = words._replace(negative=False, untested=False, floor=floor)
            if strength := words.strength():
                return strength, False
        return self._heading_strength() or "tested", False

    def _is_wordless(self, strength: Strength) -> bool:
        """Whether nothing says that what is named is needed, or was used, rather than mentioned."""
        return (
            strength == "tested"
            and self._heading_strength() is None
            and not _SAYS.search(self.text)
        )

    def _stated(
        self, kind: Kind, start: int, end: int, strength: Strength, untested: bool, **more: object
    ) -> Stated:
        begin, stop = sizes.segment_at(self.text, start, end)
        if kind == "compute_capability" and self._is_wordless(strength):
            more["unclear"] = more.get("unclear") or "the sentence only mentions it"
        condition = Condition()
        if kind not in ("os", "compute_capability"):
            condition = conditions.condition_of(self.text, start, end, self.place.headings)
            if kind in _SIZES:
                condition = dataclasses.replace(condition, architectures=())
            if kind not in _SIZES:
                more["unclear"] = more.get("unclear") or conditions.case_of(self.text, start)
        return Stated(
            condition=condition,
            kind=kind,
            quote=self.place.quote,
            file=self.place.file,
            line=self.place.line_at(start),
            strength=strength,
            scope=scope.scope_of(
                self.text[begin:stop],
                self.text,
                self.place.headings,
                self.place.command,
                self.place.file,
            ),
            untested=untested,
            **more,  # type: ignore[arg-type]
        )


def _illustrates(text: str, place: int) -> bool:
    """Whether a place is an example in brackets."""
    return bool(
        re.search(
            r"[((](?:e\.?g|for example|such as|for instance|like|如|例如)[^))]*$",
            text[:place],
            _FLAGS,
        )
    )


def _is_told(found: FoundVersion, before: FoundVersion) -> bool:
    """Whether the same version was told already: ``cuda:11.8.0`` and ``CUDA 11.8``."""
    one, other = found.any_of[0], before.any_of[0]
    return (
        found.kind == before.kind != "package"
        and len(found.any_of) == len(before.any_of) == len(one) == len(other) == 1
        and one[0].sign == other[0].sign
        and begins(before.any_of[0][0].version, one[0].version)
    )


def _of_version(strength: Strength, found: FoundVersion) -> Strength:
    """A floor demanded is a minimum; a range or an exact version demanded is required."""
    if strength == "required" and found.floor:
        return "minimum"
    if strength == "minimum" and not found.floor:
        return "required"
    return strength


def lines_of(first: int) -> Callable[[int], int]:
    """All places are in one line."""
    return lambda _place: first


def joined(texts: Sequence[str]) -> str:
    """Texts of a table's row as one."""
    return " ".join(text for text in texts if text)
