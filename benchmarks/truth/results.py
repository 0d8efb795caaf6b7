"""The scores of all runs, gathered: by evidence level, by character, and as a matrix."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.truth.expected import LEVELS
from benchmarks.truth.score import RunScore, confusion, metrics


@dataclass(frozen=True)
class Scored:
    """One run: which it was, and what came of it."""

    cell: dict[str, Any]
    score: RunScore
    shifts: int


def results(
    scored: Sequence[Scored], seeds: Sequence[int], seconds: float | None
) -> dict[str, Any]:
    """Everything that is published; plain data. ``seconds``: how long the runs took."""
    levels: dict[str, Any] = {}
    for level in LEVELS:
        mine = [s for s in scored if s.cell["level"] == level]
        if not mine:
            continue
        inside = [s for s in mine if s.cell["kind"] != "outside"]
        outside = [s for s in mine if s.cell["kind"] == "outside"]
        characters = sorted({s.cell["character"] for s in inside})
        levels[level] = {
            "all": _metrics(inside),
            "characters": {
                name: _metrics([s for s in inside if s.cell["character"] == name])
                for name in characters
            },
            "confusion": confusion(j for s in inside for j in s.score.judged),
        }
        if outside:
            levels[level]["outside"] = {
                "all": _metrics(outside),
                "confusion": confusion(j for s in outside for j in s.score.judged),
            }
    cells = [s.cell for s in scored if s.cell["level"] != "log"]
    return {
        "seeds": list(seeds),
        "runs": len(cells),
        "minutes": None if seconds is None else round(seconds / 60, 1),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
        "python": platform.python_version(),
        "load_average": sorted({cell["load_average"] for cell in cells}),
        "outside_cores": sorted({cell["outside_cores"] for cell in cells}),
        "levels": levels,
    }


def _metrics(scored: Sequence[Scored]) -> dict[str, Any]:
    faulty = [s.score for s in scored if s.cell["kind"] != "clean"]
    clean = [s.score for s in scored if s.cell["kind"] == "clean"]
    return metrics(faulty, clean)
