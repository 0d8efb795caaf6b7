"""Writes docs/licences.md: what mgtop needs, and under which licence each part comes.

    python docs/generate_licences.py

Reads the metadata of what is installed beside mgtop, so that it lists what was really tried. A
test compares the page's names with pyproject.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).parent / "licences.md"
EXTRAS = ("parquet", "metrics", "serve")
"""Extras whose packages come with mgtop where they are asked for; tools of development do not."""
HEAD = """# Licences

mgtop and mgtop-probe: Apache-2.0. mgtop-probe needs nothing but Python. Nothing of others is
copied into either; these packages are installed beside mgtop. `python docs/generate_licences.py`
writes this page from their own metadata, with what each of them needs in turn (Linux, CPython
3.11).

| package | licence | for |
|---|---|---|
"""


def licence_of(name: str) -> str:
    """As the package tells it: an SPDX expression, else its field, else its classifiers."""
    metadata = distribution(name).metadata
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    field = (metadata.get("License") or "").strip()
    if field.count("\n") or len(field) > 40:  # the whole text
        field = ""
    return metadata.get("License-Expression") or field or ", ".join(classifiers) or "not told"


def needed(name: str, extras: Iterable[str] = ("",)) -> list[Requirement]:
    """What a package needs on this machine, directly, with some of its extras."""
    every = [Requirement(line) for line in distribution(name).requires or []]
    return [
        one
        for one in every
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def rows() -> list[tuple[str, str, str]]:
    """Package, licence, what for; each package once."""
    found: dict[str, tuple[str, str]] = {}

    def add(requirements: list[Requirement], what_for: str) -> None:
        for one in requirements:
            key = re.sub(r"[-_.]+", "-", one.name).lower()
            if key in found or key == "mgtop":
                continue
            found[key] = (licence_of(one.name), what_for)
            add(needed(one.name, ("", *one.extras)), what_for)

    add(needed("mgtop"), "mgtop")
    for extra in EXTRAS:
        add(needed("mgtop", [extra]), f"extra `{extra}`")
    return [(name, *found[name]) for name in sorted(found)]


def page() -> str:
    """The page's text."""
    return HEAD + "".join(f"| {name} | {licence} | {why} |\n" for name, licence, why in rows())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
