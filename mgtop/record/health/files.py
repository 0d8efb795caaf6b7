"""Reading small files of ``/proc`` and ``/sys``, as far as they are there."""

from __future__ import annotations

from pathlib import Path


def text_of(path: Path) -> str | None:
    """The content, stripped; None where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def number_of(path: Path) -> int | None:
    """The number that a file holds; None where it holds none."""
    text = text_of(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
