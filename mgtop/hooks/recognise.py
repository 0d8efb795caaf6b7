"""Which project a folder holds, told by its own files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mgtop.hooks.profile_files import Known

MOST_BYTES = 512 << 10
"""Of a file that is looked through."""
MOST_FILES = 200
"""That a pattern such as ``*.py`` may name."""
_PATTERN = re.compile(r"[*?\[]")


def recognise(folder: Path, profiles: Iterable[Known]) -> list[Known]:
    """The profiles that fit a repository, the closest first.

    A fit is the closer the more files it names; a pattern such as ``*.py`` names none. Of equals
    the user's own comes first.
    """
    found: list[tuple[int, bool, str, Known]] = []
    for known in profiles:
        fits = [files for files in known.profile.recognise if _fits(folder, files)]
        if fits:
            names = max(sum(not _PATTERN.search(file) for file in files) for files in fits)
            found.append((-names, not known.own, known.name, known))
    return [known for *_, known in sorted(found, key=lambda item: item[:3])]


def below(folder: Path, profiles: Iterable[Known]) -> list[tuple[Path, Known]]:
    """Folders right below one that hold known projects, where it holds several."""
    every = list(profiles)
    inner = [one for one in sorted(folder.iterdir()) if one.is_dir() and one.name[:1] != "."]
    return [(one, fits[0]) for one in inner if (fits := recognise(one, every))]


def _fits(folder: Path, files: dict[str, str]) -> bool:
    return all(_has(folder, file, pattern) for file, pattern in files.items())


def _has(folder: Path, file: str, pattern: str) -> bool:
    is_pattern = _PATTERN.search(file)
    places = sorted(folder.glob(file))[:MOST_FILES] if is_pattern else [folder / file]
    line = re.compile(pattern)
    return any(place.is_file() and _matches(place, line) for place in places)


def _matches(place: Path, line: re.Pattern[str]) -> bool:
    if not line.pattern:
        return True
    try:
        with place.open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return any(map(line.search, text.splitlines()))
