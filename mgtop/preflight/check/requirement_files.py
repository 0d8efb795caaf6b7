"""``requirements*.txt`` and conda environments, line by line, with their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mgtop.preflight.check.commands import conda_entry
from mgtop.preflight.check.pins import index_of, requirement_of
from mgtop.preflight.check.prose import Place, lines_of, requirements_in
from mgtop.preflight.check.stated import Stated, Strength

_LABEL = re.compile(r"\s*(?:for|on|with)\b", re.IGNORECASE)
"""A comment that says what the pins below it are for."""
_COMMENT = re.compile(r"(?:^|\s)#\s?(?P<text>.*)$")
_OPTION = re.compile(r"^-{1,2}[A-Za-z]")


def requirements_txt(text: str, file: str) -> Iterator[Stated]:
    """All entries, options that name a CUDA build, and what comments say."""
    scope = _scope_of_name(file)
    strength: Strength | None = "optional" if scope else None
    for number, line in enumerate(text.splitlines(), 1):
        entry = _COMMENT.sub("", line).strip().rstrip("\\").strip()
        quote = " ".join(line.split())
        if _OPTION.match(entry):
            found = index_of(
                entry,
                quote=quote,
                file=file,
                line=number,
                strength=strength or "required",
                scope=scope,
            )
        else:
            entry = re.sub(r"\s+--hash=\S+", "", entry)
            found = requirement_of(
                entry, quote=quote, file=file, line=number, strength=strength, scope=scope
            )
        if found is not None:
            yield found
        yield from _comment(line, file, number)


def _comment(line: str, file: str, number: int) -> Iterator[Stated]:
    match = _COMMENT.search(line)
    if match and match["text"].strip() and not _LABEL.match(match["text"]):
        place = Place(file=file, quote=match["text"].strip(), line_at=lines_of(number))
        for stated in requirements_in(match["text"], place):
            if stated.kind != "package":  # why a pin stands there, rather than another demand
                yield stated


def environment_yml(text: str, file: str) -> Iterator[Stated]:
    """A conda environment: its entries and those of its ``pip:`` list."""
    in_dependencies, pip_indent = False, -1
    for number, line in enumerate(text.splitlines(), 1):
        yield from _comment(line, file, number)
        bare = _COMMENT.sub("", line).rstrip()
        if not bare.strip():
            continue
        indent = len(bare) - len(bare.lstrip())
        if not bare.lstrip().startswith("-"):
            key = bare.strip()
            in_dependencies = key.startswith("dependencies:") or (in_dependencies and indent > 0)
            pip_indent = -1
            continue
        if not in_dependencies:
            continue
        entry = bare.strip()[1:].strip().strip("'\"")
        if entry.rstrip(":").strip() == "pip" and entry.endswith(":"):
            pip_indent = indent
            continue
        if pip_indent >= 0 and indent <= pip_indent:
            pip_indent = -1
        place = {"quote": " ".join(bare.split()), "file": file, "line": number}
        if pip_indent < 0:
            found = conda_entry(entry, **place)  # type: ignore[arg-type]
        elif _OPTION.match(entry):
            found = index_of(entry, strength="required", **place)  # type: ignore[arg-type]
        else:
            found = requirement_of(entry, **place)  # type: ignore[arg-type]
        if found is not None:
            yield found


def _scope_of_name(file: str) -> str:
    """``requirements-dev.txt`` and ``requirements/train.txt`` are not everybody's."""
    name = file.rsplit("/", 1)[-1].rsplit(".", 1)[0].lower()
    word = re.sub(r"requirements?|reqs?|[-_.]", " ", name).split()
    if "/" in file and not word:
        return ""
    known = [
        w
        for w in word
        if re.fullmatch(r"dev|test|tests|docs?|lint|ci|train|training|optional|extra|eval", w)
    ]
    return "training" if "train" in known or "training" in known else " ".join(known)
