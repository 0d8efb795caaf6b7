"""Markdown and reStructuredText taken apart: sentences, table rows and code, with their lines.

Markup is blanked out rather than removed, so that every place in the text analysed is the same
place in the text quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(?:>\s*)?(```+(?=[^`]*$)|~~~+)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_HTML_HEADING = re.compile(r"^\s*<h([1-6])[^>]*>(.*?)</h\1>", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]|\d{1,2}[.)])\s+")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_END = re.compile(r"(?<=[.!?])[\s]+(?=[^\sa-z(])|(?<=。)|(?<=[\u3400-\u9fff)][!?])|(?<=[.!?])\n")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|approx|vs|incl|min|max|ca|cf|resp|no|ver)\.)$", re.I
)
_BLANKED = re.compile(
    r"!\[[^\]]*\]\([^)]*\)|\]\([^)\s]*(?:\s+\"[^\"]*\")?\)|<!--.*?-->|</?[a-zA-Z][^<>]*>"
    r"|https?://[^\s)>\]]+|\*\*|__|``?|~~|(?<!\w)\[(?=[^\]]*\]\()|\$",
    re.DOTALL,
)
_ENTITIES = (
    ("&gt;=", ">="), ("&gt;", ">"), ("&lt;=", "<="), ("&lt;", "<"), ("&ge;", "≥"), ("&nbsp;", " "),
    ("&times;", "×"), ("&amp;", "&"), (r"\geq", "≥"), (r"\ge", "≥"), (r"\times", "×"),
    (r"\sim", "~"),
)  # fmt: skip

_ASIDE = re.compile(
    r"^\s*\.\.\s+(?:note|warning|tip|hint|important|caution|attention)::", re.IGNORECASE
)
_BOLD = re.compile(r"^\s*\*\*[^*]+\*\*:?\s*$")
_LEAD_WORDS = 8
_LONGEST = 800
"""Characters of a sentence; a longer one is read in pieces, as time grows with their square."""
_FULL_WIDTH = {number + 0xFEE0: number for number in range(0x21, 0x7F)}
"""Full-width forms are the ASCII characters moved by a fixed distance (U+FF01 to U+FF5E)."""


@dataclass(frozen=True)
class Context:
    """Where a piece of text stands: the headings above it, and the last command before it."""

    headings: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence: ``text`` for analysis, ``raw`` as written; places in both are the same."""

    text: str
    raw: str
    context: Context
    line_at: Callable[[int], int]
    previous: str = ""
    """The sentence before it in its paragraph, as analysed."""

    @property
    def quote(self) -> str:
        """As written; line breaks become spaces."""
        return " ".join(self.raw.split())


@dataclass(frozen=True)
class Row:
    """A row of a table, with the headers of its columns (empty where there are none)."""

    cells: tuple[str, ...]
    headers: tuple[str, ...]
    quote: str
    line: int
    context: Context


@dataclass(frozen=True)
class Code:
    """A line of a code block; continued lines are joined."""

    text: str
    line: int
    context: Context


Piece = Sentence | Row | Code


def blanked(text: str) -> str:
    """The text with its markup replaced by as many spaces, and full-width marks by plain ones."""
    for entity, meaning in _ENTITIES:
        text = text.replace(entity, meaning.ljust(len(entity)))
    text = text.translate(_FULL_WIDTH)
    text = re.sub(r"<br\s*/?>", lambda match: ";".ljust(len(match[0])), text)
    return _BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def pieces(text: str, *, rst: bool = False) -> Iterator[Piece]:
    """All pieces of a document, in order."""
    lines = text.splitlines()
    headings: list[tuple[int, str]] = []
    styles: list[str] = []
    command = ""
    block: list[tuple[int, str]] = []
    at = 0

    lead = "", -1  # words that lead over to a list, and how far they are indented

    def context() -> Context:
        return Context(tuple(title for _, title in headings), command)

    def flush() -> Iterator[Piece]:
        nonlocal lead
        if not block:
            return
        above = context()
        if _ITEM.match(block[0][1]):
            words, indent = lead
            if words and _indent(block[0][1]) > indent:
                above = Context((*above.headings, words), above.command)
            if own := _lead_of(block):
                lead = own, _indent(block[0][1])
            elif _indent(block[0][1]) <= indent:
                lead = "", -1
        else:
            lead = _lead_of(block), -1
        yield from _sentences(block, above)
        block.clear()

    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence:
            yield from flush()
            end = at + 1
            while end < len(lines) and not lines[end].strip().lstrip("> ").startswith(fence[1][:3]):
                end += 1
            for code in _code(lines[at + 1 : end], at + 2, context()):
                command = code.text
                yield code
            at = end + 1
            continue
        title = _title(lines, at, rst, styles)
        if title is not None:
            yield from flush()
            level, words, used = title
            headings = [one for one in headings if one[0] < level] + [(level, words)]
            command, lead = "", ("", -1)
            at += used
            continue
        if "<table" in line.lower():
            yield from flush()
            end = at
            while end < len(lines) - 1 and "</table" not in lines[end].lower():
                end += 1
            yield from _html_rows(lines[at : end + 1], at + 1, context())
            at = end + 1
            continue
        if (
            "|" in line
            and at + 1 < len(lines)
            and "|" in lines[at + 1]
            and _RULE.match(lines[at + 1])
        ):
            yield from flush()
            headers = _cells(line)
            at += 2
            while at < len(lines) and "|" in lines[at] and lines[at].strip():
                yield Row(
                    _cells(lines[at]), headers, " ".join(lines[at].split()), at + 1, context()
                )
                at += 1
            continue
        if (
            rst
            and re.match(r"^\s*\.\.\s+code(?:-block)?::|^.*::\s*$", line)
            and not _ASIDE.match(line)
        ):
            if not line.lstrip().startswith(".."):
                block.append((at + 1, line))
            yield from flush()
            end = at + 1
            while end < len(lines) and (not lines[end].strip() or lines[end][:1] in " \t"):
                end += 1
            for code in _code(lines[at + 1 : end], at + 2, context()):
                command = code.text
                yield code
            at = end
            continue
        if not line.strip():
            yield from flush()
        else:
            if _ITEM.match(line) or (block and line.lstrip().startswith("|")):
                yield from flush()
            block.append((at + 1, line))
        at += 1
    yield from flush()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" >"))


def _lead_of(block: Sequence[tuple[int, str]]) -> str:
    """The words of a short line that leads over to a list: ``System requirements:``."""
    text = blanked(block[-1][1]).strip()
    is_lead = len(block) == 1 and (text.endswith(":") or _BOLD.match(block[0][1]))
    return text.strip(": ") if is_lead and len(text.split()) <= _LEAD_WORDS else ""


def _title(
    lines: Sequence[str], at: int, rst: bool, styles: list[str]
) -> tuple[int, str, int] | None:
    """Level, words and number of lines of a heading that begins here."""
    line = lines[at]
    if match := _HEADING.match(line):
        return len(match[1]), _plain(match[2]), 1
    if match := _HTML_HEADING.match(line):
        return int(match[1]), _plain(match[2]), 1
    below = lines[at + 1] if at + 1 < len(lines) else ""
    under = _UNDERLINE.match(below)
    if not (under and line.strip() and not _ITEM.match(line) and "|" not in line):
        return None
    if not rst and under[1] not in "=-":
        return None
    if len(below.strip()) < min(3, len(line.strip())):
        return None
    style = under[1]
    if not rst:
        return (1 if style == "=" else 2), _plain(line), 2
    if style not in styles:
        styles.append(style)
    return styles.index(style) + 1, _plain(line), 2


def _plain(text: str) -> str:
    return " ".join(blanked(text).split()).strip("#: ")


def _code(lines: Sequence[str], first: int, context: Context) -> Iterator[Code]:
    """Lines of a block, those ended by a backslash joined."""
    held, begun = "", first
    for number, line in enumerate(lines, first):
        text = re.sub(r"^\s*(?:>\s*)?(?:\$\s+|>>>\s+)?", "", line)
        if not held:
            begun = number
        if text.rstrip().endswith("\\"):
            held += text.rstrip()[:-1].rstrip() + " "
            continue
        whole = (held + text).strip()
        held = ""
        if whole:
            yield Code(whole, begun, context)
    if held.strip():
        yield Code(held.strip(), begun, context)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(" ".join(blanked(cell).split()) for cell in line.strip().strip("|").split("|"))


def _html_rows(lines: Sequence[str], first: int, context: Context) -> Iterator[Row]:
    text = "\n".join(lines)
    headers: tuple[str, ...] = ()
    for row in re.finditer(r"<tr\b.*?(?:</tr>|(?=<tr\b)|$)", text, re.DOTALL | re.IGNORECASE):
        cells = re.findall(r"<(t[hd])\b[^>]*>(.*?)</\1>", row[0], re.DOTALL | re.IGNORECASE)
        words = tuple(" ".join(blanked(cell).split()) for _, cell in cells)
        heads = all(tag.lower() == "th" for tag, _ in cells)
        first_of_all = not headers and row.start() == text.lower().find("<tr")
        if cells and (
            heads
            or (
                first_of_all
                and all(len(word.split()) <= 4 and not re.search(r"\d", word) for word in words)
            )
        ):
            headers = words
        elif cells:
            line = first + text.count("\n", 0, row.start())
            yield Row(words, headers, " ".join(row[0].split()), line, context)


def _not_too_long(ends: Sequence[int], text: str) -> Iterator[int]:
    """The ends of sentences, and of pieces of those that no person would write so long."""
    begin = 0
    for end in ends:
        while end - begin > _LONGEST:
            space = text.rfind(" ", begin + 1, begin + _LONGEST)
            begin = space if space > begin else begin + _LONGEST
            yield begin
        yield end
        begin = end


def _moved(line_of: Callable[[int], int], offset: int) -> Callable[[int], int]:
    return lambda place: line_of(offset + place)


def _sentences(block: Sequence[tuple[int, str]], context: Context) -> Iterator[Sentence]:
    raw = "\n".join(line for _, line in block)
    starts = [0]
    for _, line in block:
        starts.append(starts[-1] + len(line) + 1)
    text = blanked(raw)
    text = re.sub(r"(?m)^\s*(?:>\s*)+", lambda match: " " * len(match[0]), text)
    text = re.sub(r"(?m)^(\s*)([-*+•]|\d{1,2}[.)])(?=\s)", lambda match: " " * len(match[0]), text)

    def line_of(place: int) -> int:
        for number, start in enumerate(starts[1:]):
            if place < start:
                return block[number][0]
        return block[-1][0]

    begin, previous = 0, ""
    ends = [
        match
        for match in _END.finditer(text)
        if not _ABBREVIATION.search(text[max(0, match.start() - 12) : match.start()])
    ]
    for at in _not_too_long([*(match.end() for match in ends), len(text)], text):
        part = text[begin:at]
        if part.strip():
            yield Sentence(part, raw[begin:at], context, _moved(line_of, begin), previous)
            previous = part
        begin = at
