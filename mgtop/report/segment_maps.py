"""Segment maps that came into a snapshot: each gets a summary beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from mgtop.analysis.segments import read_segments
from mgtop.report.text_segments import render


def describe_maps(paths: Iterable[Path]) -> list[str]:
    """Write ``segments-PID.txt`` beside each ``segments-PID.json``; the texts.

    Raises:
        OSError: one cannot be read or written.
    """
    texts = []
    for path in paths:
        try:
            text = render(read_segments(path.read_bytes()))
        except msgspec.MsgspecError as error:
            text = f"{path.name} is no segment map: {error}\n"
        path.with_suffix(".txt").write_text(text, encoding="utf-8")
        texts.append(text)
    return texts
