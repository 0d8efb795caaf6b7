"""Results as text: the tables that stand in docs/causes-scored.md.

Usage: python -m benchmarks.truth.table RESULT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GOALS = (
    ("found", "late frames found", "≥ 99 %"),
    ("right", "right cause, single fault", "≥ 95 %"),
    ("right_pair", "right set, two at once", "≥ 85 %"),
    ("near", "explained within 25 %", ""),
    ("unseen_named", "named instead of unexplained", "≤ 2 %"),
    ("clean_named", "wrongly named per 1,000 emits, clean", "≤ 1"),
)
TITLES = {
    "spans": "Probe with spans",
    "no_spans": "Probe without spans",
    "hooks": "Hooks on an unmodified program",
    "log": "Text log",
    "observe": "Observation only",
}


def render(results: Mapping[str, Any]) -> str:
    """All tables, as Markdown."""
    loads, cores = results["load_average"], results["outside_cores"]
    lines = []
    lines.append(
        f"{results['date']}, {results['machine']}, Python {results['python']}; seeds "
        f"{', '.join(map(str, results['seeds']))}; {results['runs']} runs."
    )
    if loads:
        lines.append(
            f"Load average after the runs {loads[0]:.1f}–{loads[-1]:.1f}; other programs used "
            f"{cores[0]:.2f}–{cores[-1]:.2f} cores during them."
        )
    for level, found in results["levels"].items():
        lines += ["", f"## {TITLES[level]}", ""]
        if not found["confusion"]:
            lines.append("No late frame is found and nothing is named: there are no frames to see.")
            continue
        lines += goals(found)
        lines += ["", "What was named for each single fault:", ""]
        lines += matrix(found["confusion"])
        if "outside" in found:
            lines += ["", "Faults from outside the program (character `single`):", ""]
            lines += goals({"all": found["outside"]["all"], "characters": {}}, short=True)
            lines += ["", *matrix(found["outside"]["confusion"])]
    return "\n".join(lines)


def goals(found: Mapping[str, Any], short: bool = False) -> list[str]:
    """The metrics beside their goals: of all runs, then by character."""
    names = list(found["characters"])
    lines = [
        "| | goal | all |" + "".join(f" `{name}` |" for name in names),
        "|---|---|---|" + "---|" * len(names),
    ]
    for key, title, goal in GOALS:
        if short and key not in ("found", "right", "near"):
            continue
        groups = [found["all"], *(found["characters"][name] for name in names)]
        cells = [_cell(key, group[key], first=not i) for i, group in enumerate(groups)]
        if any(group[key]["n"] for group in groups):
            lines.append(f"| {title} | {goal} | " + " | ".join(cells) + " |")
    return lines


def _cell(key: str, count: Mapping[str, Any], first: bool) -> str:
    if not count["n"]:
        return "–"
    scale, unit = (1000, "") if key == "clean_named" else (100, " %")
    text = f"{scale * count['share']:.1f}{unit}"
    if first:
        text += f" [{scale * count['low']:.1f}–{scale * count['high']:.1f}]"
    return f"{text} ({count['hits']}/{count['n']})"


def matrix(named: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Faults in rows, what was named for them in columns."""
    names = sorted({name for row in named.values() for name in row})
    lines = [
        "| fault | " + " | ".join(names) + " |",
        "|---|" + "---|" * len(names),
    ]
    for fault, row in named.items():
        cells = [str(row[name]) if name in row else "" for name in names]
        lines.append(f"| `{fault}` | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    print(render(json.loads(Path(sys.argv[1]).read_text())))
