"""Second criterion: the path of the output, from the configuration or the program's output."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mgtop.preflight.smoke.output_lines import OutputLine
from mgtop.preflight.smoke.result import Criterion

IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
VIDEOS = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".ts", ".m4v")
_PATH = re.compile(
    r"(?P<quote>['\"`])(?P<quoted>[^'\"`\n]+?\.(?:{0}))(?P=quote)|(?P<bare>[^\s'\"`=:(),\[\]<>]*[^\s'\"`=:(),\[\]<>.]\.(?:{0}))\b".format(
        "|".join(ending[1:] for ending in IMAGES + VIDEOS)
    ),
    re.IGNORECASE,
)
_SLACK_NS = 20_000_000
"""File systems stamp with the kernel's coarse clock, which lags behind by up to a tick."""


class Reported(NamedTuple):
    """The output's path, as far as one is known, and how it was reported."""

    path: Path | None
    criterion: Criterion


def reported_output(
    configured: Path | None, lines: Sequence[OutputLine], cwd: Path, start_wall_ns: int
) -> Reported:
    """Where the output is said to be.

    The configuration's word comes first; what the program prints may still name another file
    where the configured one is not there. Files that were there before the start and have not
    been written since are inputs.
    """
    printed = [
        (path, line)
        for line in lines
        if line.kind not in ("error", "oom", "oom_suspect")
        for path in paths_in(line.text, cwd)
        if not _is_input(path, start_wall_ns)
    ]
    if configured is not None:
        said = next((line for path, line in printed if path == configured), None)
        also = f", and the output says “{said.text[:100]}”" if said else ""
        return Reported(
            configured,
            Criterion(passed=True, evidence=f"the configuration names {configured}{also}"),
        )
    there = [pair for pair in printed if pair[0].is_file()]
    if there or printed:
        path, line = (there or printed)[-1]
        return Reported(
            path, Criterion(passed=True, evidence=f"the output says “{line.text[:160]}”")
        )
    return Reported(
        None,
        Criterion(
            passed=False,
            evidence="neither the configuration (smoke: output) nor the program's output names "
            "an image or a video",
        ),
    )


def paths_in(text: str, cwd: Path) -> list[Path]:
    """Paths of images and videos that a line names, absolute."""
    found = []
    for match in _PATH.finditer(text):
        name = match["quoted"] or match["bare"]
        if "://" in name or name.startswith("//"):
            continue
        found.append(Path(os.path.abspath(cwd / Path(name).expanduser())))
    return found


def _is_input(path: Path, start_wall_ns: int) -> bool:
    try:
        return path.stat().st_mtime_ns < start_wall_ns - _SLACK_NS
    except OSError:
        return False


def is_newer(path: Path, start_wall_ns: int) -> bool:
    """Whether a file was written since the start."""
    return path.stat().st_mtime_ns >= start_wall_ns - _SLACK_NS
