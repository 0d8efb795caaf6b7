"""A repository's files → all requirements that they state."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from mgtop.preflight.check import (
    commands,
    docker_files,
    markup,
    project_files,
    prose,
    requirement_files,
    rows,
)
from mgtop.preflight.check.stated import Stated

LARGEST_BYTES = 2 << 20
"""A longer file is data, not a page to read."""
MOST_FILES = 400
_OWN_FOLDERS = {
    "doc", "docs", "docker", "dockers", "docker_files", "requirements", "reqs", "install",
    "installation", "setup", ".devcontainer", "envs", "environments", "conda", "deploy",
}  # fmt: skip
"""Folders that speak for the whole repository; others are projects of their own."""
_DOCUMENT = re.compile(
    r"^(?:readme|install\w*|setup|requirements?|getting[-_]?started|quick[-_]?start\w*|usage|hardware|"
    r"environment|docker|安装\w*)[\w.\-]*\.(?:md|markdown|rst|txt)$|^readme$",
    re.IGNORECASE,
)
_IN_A_CASE = re.compile(
    r"\b(?:on|for|with)\s+CUDA\s+\d|\b(?:ARM|aarch64|arm64)\b|\binstead\b", re.IGNORECASE
)
"""What a sentence suggests for some machines only."""
_REQUIREMENTS = re.compile(
    r"^(?:.*[-_.])?(?:requirements?|reqs?)(?:[-_.].*)?\.(?:txt|in)$", re.IGNORECASE
)
_ENVIRONMENT = re.compile(r"^(?:environment|env|conda)[\w.-]*\.ya?ml$", re.IGNORECASE)
_DOCKER = re.compile(r"^(?:.*\.)?(?:dockerfile|containerfile)(?:[.-].*)?$", re.IGNORECASE)
_TRANSLATION = re.compile(
    r"^readme[-_.](?:ja|jp|ko|kr|fr|de|es|pt|ru|it|tr|ar|hi|vi|id|th|uk|pl)(?:[-_.]\w+)*\.",
    re.IGNORECASE,
)
"""In languages that are not read; the English or Chinese page says the same."""


def files_of(repository: Path) -> list[Path]:
    """The files that are read, relative to the repository: its own, and those that speak for it.

    Raises:
        OSError: it cannot be listed.
    """
    found = _listed(repository, Path())
    for name in sorted(os.listdir(repository)):
        if name.lower() in _OWN_FOLDERS and (repository / name).is_dir():
            with contextlib.suppress(OSError):
                found += _listed(repository, Path(name))
    return found[:MOST_FILES]


def projects_within(repository: Path) -> list[str]:
    """Folders that have requirements of their own, which are not read as the repository's."""
    names = []
    for name in sorted(os.listdir(repository)):
        folder = repository / name
        if name.startswith(".") or name.lower() in _OWN_FOLDERS or not folder.is_dir():
            continue
        with contextlib.suppress(OSError):
            if _listed(folder, Path()):
                names.append(name)
    return names


def _listed(repository: Path, folder: Path) -> list[Path]:
    names = sorted(os.listdir(repository / folder))
    return [folder / name for name in names if kind_of(folder / name) is not None]


def kind_of(path: Path) -> str | None:
    """How a file is read; None: it is not."""
    name = path.name
    if name == "pyproject.toml":
        return "pyproject"
    if name in ("setup.py", "setup.cfg"):
        return name
    if name == ".python-version":
        return "python-version"
    if _REQUIREMENTS.match(name) or (
        len(path.parts) > 1 and path.parts[-2] == "requirements" and path.suffix in (".txt", ".in")
    ):
        return "requirements"
    if _ENVIRONMENT.match(name):
        return "environment"
    if _DOCKER.match(name):
        return "docker"
    if _DOCUMENT.match(name) and not _TRANSLATION.match(name):
        return "document"
    return None


def requirements_of(repository: Path) -> tuple[list[Stated], list[str]]:
    """All that a repository states, and the files that it was read from.

    Raises:
        OSError: the repository cannot be listed.
    """
    stated: list[Stated] = []
    read: list[str] = []
    for path in files_of(repository):
        whole = repository / path
        try:
            if whole.stat().st_size > LARGEST_BYTES or not whole.is_file():
                continue
            text = whole.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        read.append(str(path))
        stated += requirements_in(text, str(path))
    return stated, read


def requirements_in(text: str, file: str) -> list[Stated]:
    """All that one file states; its name tells how it is read."""
    text = text.lstrip("\ufeff")
    kind = kind_of(Path(file)) or "document"
    readers = {
        "pyproject": project_files.pyproject_toml,
        "setup.py": project_files.setup_py,
        "setup.cfg": project_files.setup_cfg,
        "requirements": requirement_files.requirements_txt,
        "environment": requirement_files.environment_yml,
        "docker": docker_files.requirements_in,
        "document": _document,
    }
    if kind == "python-version":
        return list(
            commands.requirements_in(
                f"pyenv local {text.strip()}", file=file, line=1, quote=text.strip()
            )
        )
    return _without_repeats(readers[kind](text, file))


def _document(text: str, file: str) -> Iterator[Stated]:
    for piece in markup.pieces(text, rst=file.endswith(".rst")):
        if isinstance(piece, markup.Code):
            yield from _code(piece, file)
        elif isinstance(piece, markup.Row):
            yield from rows.requirements_of(piece, file)
        else:
            yield from _sentence(piece, file)


def _sentence(piece: markup.Sentence, file: str) -> Iterator[Stated]:
    if commands.is_installation(piece.text):
        place = 0
        for line in piece.raw.split("\n"):  # with its addresses, which are blanked in the text
            bare = re.sub(r"[`*]", " ", line)
            for stated in commands.requirements_in(bare, file=file, line=piece.line_at(place)):
                if stated.kind != "cuda" or not _IN_A_CASE.search(piece.text):
                    yield stated
            place += len(line) + 1
        return
    yield from prose.requirements_in(
        piece.text,
        prose.Place(
            file=file,
            quote=piece.quote,
            line_at=piece.line_at,
            headings=piece.context.headings,
            command=piece.context.command,
            previous=piece.previous,
        ),
    )


def _code(piece: markup.Code, file: str) -> Iterator[Stated]:
    text = piece.text
    if text.startswith("#"):
        place = prose.Place(
            file=file,
            quote=text,
            line_at=prose.lines_of(piece.line),
            headings=piece.context.headings,
        )
        yield from prose.requirements_in(text.lstrip("# "), place)
    elif commands.is_installation(text):
        yield from commands.requirements_in(text, file=file, line=piece.line)


def _without_repeats(found: Iterator[Stated]) -> list[Stated]:
    """The same thing said twice in one place is said once."""
    told: dict[tuple[object, ...], Stated] = {}
    for one in found:
        key = (one.kind, one.line, one.size, one.any_of, one.names, one.sm, one.package, one.scope,
               one.strength)  # fmt: skip
        told.setdefault(key, one)
    return list(told.values())
