"""How much runs of the same settings differ from one another.

One run on each side cannot show it; repeats can. They are looked for in two places: the sweeps
that the sessions are rounds of, and the sessions themselves, where several of those that are
compared have the same parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec

from mgtop.rounds.bootstrap import median
from mgtop.rounds.state import find_sweep_of, read_state
from mgtop.rounds.table import groups_of

FEWEST_FREEDOM = 2
"""Two degrees of freedom (three repeats of one setting) are the least that says anything."""

_FIGURES = {
    "first_frame_ms.p50": "first_frame_ms",
    "interval_ms.p50": "p50_frame_ms",
    "interval_ms.p95": "p95_frame_ms",
    "interval_ms.p99": "p95_frame_ms",
    "frame_interval_ms.p50": "p50_frame_ms",
    "fps": "p50_frame_ms",
}
"""Figures of a comparison, and the figure of a round whose scatter they have, as a ratio."""

_ADDED = {
    "tails.per_1000": ("late_share", 1000.0),
    "tails.lost_ms_per_s": ("lost_share", 1000.0),
    "playout.stall_ms_per_s": ("stall_ms_per_s", 1.0),
}
"""Likewise where figures can be 0, so that only differences say anything; with the factor."""


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """Relative deviations (logarithms) of repeats from the middle of their settings.

    Attributes:
        deviations: by figure of a round.
        differences: likewise, not relative: of figures that can be 0.
        freedom: how many of them are independent.
        repeats: runs that they are of.
    """

    deviations: dict[str, list[float]]
    differences: dict[str, list[float]]
    freedom: int
    repeats: int

    def percent(self) -> float:
        """Standard deviation of the P50, as a percentage."""
        found = self.deviations.get("p50_frame_ms", [])
        if not found:
            return 0.0
        return 100 * math.sqrt(sum(value * value for value in found) / len(found))

    def spread(self, name: str, draws: Sequence[float], rng: Random) -> list[float]:
        """Draws of a figure, as they would be of other runs of the same settings."""
        if found := self.deviations.get(_FIGURES.get(name, "")):
            return [draw * math.exp(rng.choice(found)) for draw in draws]
        key, factor = _added(name)
        if found := self.differences.get(key):
            return [draw + factor * rng.choice(found) for draw in draws]
        return list(draws)

    def knows(self, name: str) -> bool:
        """Whether it says anything of a figure."""
        figure = _FIGURES.get(name, "")
        return bool(self.deviations.get(figure) or self.differences.get(_added(name)[0]))


def _added(name: str) -> tuple[str, float]:
    """Late frames of one cause scatter no more than all late frames do."""
    if name.startswith("causes."):
        return _ADDED["tails.per_1000"]
    return _ADDED.get(name, ("", 1.0))


def scatter_of(
    folders: Sequence[Path],
    values: Sequence[Mapping[str, float | None]],
    alike: Sequence[Sequence[int]],
) -> Scatter | None:
    """What is known of how runs differ; None: no repeats are known.

    Args:
        folders: of the sessions.
        values: their figures.
        alike: numbers of sessions with the same settings, where others have different ones.
    """
    groups: list[Sequence[Mapping[str, float | None]]] = []
    for sweep in dict.fromkeys(find_sweep_of(folder) for folder in folders):
        state = read_state(sweep) if sweep is not None else None
        if state is None:
            continue
        rows = [found.row for found in state.rounds if found.row is not None]
        groups += [
            [{key: getattr(row, key) for key in _KEYS} for row in group]
            for group in groups_of([row for row in rows if row.has_figures])
        ]
    groups += [[_as_row(values[n]) for n in numbers] for numbers in alike]
    groups = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < FEWEST_FREEDOM:
        return None
    columns = {key: [[one.get(key) for one in group] for group in groups] for key in _KEYS}
    return Scatter(
        deviations={
            key: [value for column in columns[key] for value in _deviations(column)]
            for key in set(_FIGURES.values())
        },
        differences={
            key: [value for column in columns[key] for value in _differences(column)]
            for key, _ in _ADDED.values()
        },
        freedom=freedom,
        repeats=sum(len(group) for group in groups),
    )


_KEYS = {*_FIGURES.values(), *(key for key, _ in _ADDED.values())}


def _as_row(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Figures of a session under the names that they have in a round."""
    found = {key: values.get(name) for name, key in _FIGURES.items()}
    for name, (key, factor) in _ADDED.items():
        value = values.get(name)
        found[key] = None if value is None else value / factor
    return found


def _deviations(values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None and value > 0]
    if len(known) < 2:
        return []
    middle = median(known)
    scale = math.sqrt(len(known) / (len(known) - 1))
    return [scale * math.log(value / middle) for value in known]


def _differences(values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return []
    middle = median(known)
    scale = math.sqrt(len(known) / (len(known) - 1))
    return [scale * (value - middle) for value in known]
