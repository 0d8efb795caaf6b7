"""Sessions side by side: what differs, and which figures changed by more than chance.

Every session after the first one is held against the first. A figure has changed where the
95 % interval of its change, by bootstrap over stretches of emits (or requests), leaves out
zero, and where it is no smaller than what two runs of the same program differ by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from mgtop.analysis.statistics import quantile
from mgtop.analysis.summary import Summary
from mgtop.config import RunConfig
from mgtop.config.differences import differences
from mgtop.config.errors import ConfigError
from mgtop.config.load import load_config
from mgtop.record.launch import CONFIG_FILE
from mgtop.report.json_text import json_text
from mgtop.report.numbers import NOT_KNOWN, plural
from mgtop.rounds.between_runs import Scatter, scatter_of
from mgtop.rounds.bootstrap import median, percentile_interval
from mgtop.rounds.reading import Reading, read_session
from mgtop.rounds.samples import Draws, draws_of, thinned
from mgtop.rounds.surroundings import differences as surroundings_differ
from mgtop.rounds.surroundings import is_loaded
from mgtop.rounds.variables import RESOLUTION

SMALLEST_PERCENT = 3.0
"""A smaller change of a time is not called one: one run each does not show how much runs of the
same program differ."""
_TIMES = ("first_frame_ms", "interval_ms", "frame_interval_ms", "fps", "memory")

Value = float | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    path: str
    name: str
    params: dict[str, Any]
    intervals: int
    duration_ms: float


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter, and its value in each session; None: not given."""

    name: str
    values: list[Any]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in each session, and its change against the first one.

    ``change_percent``, ``low``, ``high`` (the 95 % interval of the change, percent) and
    ``changed`` have one entry per session, that of the first one None. Where the first session
    has 0, a change has no percentage; ``changed`` then goes by the difference.
    """

    values: list[Value]
    change_percent: list[Value]
    low: list[Value]
    high: list[Value]
    changed: list[bool | None]


class BetweenRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How much runs of the same settings differ: standard deviation of the P50, percent."""

    p50_percent: float
    repeats: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, in the order of the contract.

    Attributes:
        differs: parameters of the runs that differ.
        single_variable: exactly one does.
        circumstances: what else differs: git state, driver, versions, other load, by session.
        between_runs: how much runs of the same settings differ, where repeats are known (rounds
            of the same sweep, or sessions with the same parameters): it is in the intervals then.
        quantiles: of the intervals, for a picture: ms at 1 %, 2 %, … 99 % of each session.
        settings_known: all sessions keep their configuration; else only parameters are compared.
    """

    sessions: list[Compared]
    differs: list[Differing]
    single_variable: bool
    metrics: dict[str, Metric]
    circumstances: list[list[str]]
    quantiles: list[list[float]]
    notes: list[str]
    between_runs: BetweenRuns | None = None
    settings_known: bool = True


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare sessions with the first one.

    Args:
        folders: two or more.
    """
    readings = [read_session(folder) for folder in folders]
    causes = sorted({name for reading in readings for name in reading.summary.causes})
    draws = [draws_of(reading, causes, seed=n) for n, reading in enumerate(readings)]
    values = [_figures(reading, causes) for reading in readings]
    configs = [_config_of(folder) for folder in folders]
    differs = _differing(configs, [reading.summary for reading in readings])
    scatter = scatter_of(folders, values, _alike(differs, len(folders)))
    return Comparison(
        sessions=[
            Compared(
                path=str(folder.resolve()),
                name=folder.resolve().name,
                params=reading.summary.session.params,
                intervals=len(reading.emits),
                duration_ms=reading.summary.session.duration_ms,
            )
            for folder, reading in zip(folders, readings, strict=True)
        ],
        differs=differs,
        single_variable=len(differs) == 1,
        metrics={name: _metric(name, values, draws, scatter) for name in values[0]},
        circumstances=surroundings_differ(
            [reading.surroundings for reading in readings], against_first=True
        ),
        quantiles=[_quantiles(reading) for reading in readings],
        notes=[*_unreadable(folders, readings, configs), *_notes(readings)],
        settings_known=None not in configs,
        between_runs=BetweenRuns(p50_percent=scatter.percent(), repeats=scatter.repeats)
        if scatter is not None
        else None,
    )


def render(comparison: Comparison) -> str:
    """As indented JSON, ended by a line break."""
    return json_text(comparison)


def _figures(reading: Reading, causes: Sequence[str]) -> dict[str, Value]:
    """The figures by name: paths of the report, and rates where counts would not compare."""
    s = reading.summary
    counted = s.interval_ms.count
    seconds = sum(emit.duration_ns for emit in reading.emits) / 1e9
    emits = len(reading.emits)
    found: dict[str, Value] = {
        "first_frame_ms.p50": s.first_frame_ms.p50,
        "interval_ms.p50": s.interval_ms.p50,
        "interval_ms.p95": s.interval_ms.p95,
        "interval_ms.p99": s.interval_ms.p99,
        "interval_ms.max": s.interval_ms.max,
        "frame_interval_ms.p50": s.frame_interval_ms.p50,
        "fps": s.fps,
        "tails.count": float(s.tails.count) if counted else None,
        "tails.per_1000": 1000 * s.tails.count / emits if emits else None,
        "tails.lost_ms_per_s": s.tails.lost_ms / seconds if seconds else None,
    }
    for cause in causes:
        total = s.causes.get(cause)
        frames = total.frames if total is not None else 0
        found[f"causes.{cause}.per_1000"] = 1000 * frames / emits if emits else None
    playout = s.playout
    found |= {
        "playout.underruns": None if playout.underruns is None else float(playout.underruns),
        "playout.stall_ms_per_s": playout.stall_ms_per_s,
        "playout.smooth_buffer_ms": playout.smooth_buffer_ms,
        "memory.resident_mib": s.memory.resident_mib,
        "memory.steady_mib": _middle(thinned(reading.steady_mib)),
        "memory.peak.mib": s.memory.peak.mib,
    }
    return found


def _middle(values: Sequence[float]) -> Value:
    return median(values) if values else None


def _alike(differs: Sequence[Differing], count: int) -> list[list[int]]:
    """Sessions with the same parameters, by their numbers; where all have, none is a repeat.

    Then it is something else that is asked about, such as the program before and after a change.
    """
    groups: dict[str, list[int]] = {}
    for n in range(count):
        groups.setdefault(repr([found.values[n] for found in differs]), []).append(n)
    return list(groups.values()) if len(groups) > 1 else []


def _metric(
    name: str,
    values: Sequence[Mapping[str, Value]],
    draws: Sequence[Draws],
    scatter: Scatter | None,
) -> Metric:
    base = values[0][name]
    rows: list[tuple[Value, Value, Value, bool | None]] = [(None, None, None, None)]
    for found, its in zip(values[1:], draws[1:], strict=True):
        drawn = _Drawn(name, draws[0].get(name), its.get(name), scatter)
        rows.append(_change(name, base, found.get(name), drawn))
    return Metric(
        values=[found.get(name) for found in values],
        change_percent=[row[0] for row in rows],
        low=[row[1] for row in rows],
        high=[row[2] for row in rows],
        changed=[row[3] for row in rows],
    )


class _Drawn:
    """Draws of a figure in two sessions, as far as there are any."""

    def __init__(
        self,
        name: str,
        base: Sequence[float] | None,
        other: Sequence[float] | None,
        scatter: Scatter | None,
    ) -> None:
        self.pairs: list[tuple[float, float]] = []
        self.freedom: int | None = None
        if not base or not other:
            return
        if scatter is not None and scatter.knows(name):
            rng = Random(name)
            base, other = scatter.spread(name, base, rng), scatter.spread(name, other, rng)
            self.freedom = scatter.freedom
        self.pairs = list(zip(base, other, strict=False))

    def interval(self, figure: Callable[[float, float], float]) -> tuple[float, float]:
        """95 % of a figure of both."""
        return percentile_interval([figure(a, b) for a, b in self.pairs], freedom=self.freedom)


def _change(
    name: str, base: Value, value: Value, drawn: _Drawn
) -> tuple[Value, Value, Value, bool | None]:
    if base is None or value is None:
        return None, None, None, None
    percent = 100 * (value / base - 1) if base else None
    if not drawn.pairs:
        return percent, None, None, None
    low, high = drawn.interval(lambda a, b: b - a)
    changed = low > 0 or high < 0
    if percent is None:
        return None, None, None, changed
    low, high = drawn.interval(lambda a, b: 100 * (b - a) / base)
    if name.startswith(_TIMES) and abs(percent) < SMALLEST_PERCENT:
        changed = False
    return percent, max(-100.0, low), high, changed


def _config_of(folder: Path) -> RunConfig | None:
    try:
        return load_config(folder / CONFIG_FILE)
    except (ConfigError, OSError):
        return None


def _differing(
    configurations: Sequence[RunConfig | None], summaries: Sequence[Summary]
) -> list[Differing]:
    """From the configurations that the sessions keep; else from their parameters."""
    configs = [config for config in configurations if config is not None]
    tables: list[dict[str, Any]]
    if len(configs) == len(configurations):
        base = configs[0]
        found = [differences(base, config) for config in configs[1:]]
        names = list(dict.fromkeys(key for one in found for key in one))
        first = {key: one[key][0] for one in found for key in one}
        tables = [
            first,
            *({k: one[k][1] if k in one else first[k] for k in names} for one in found),
        ]
    else:
        tables = [summary.session.params for summary in summaries]
        names = list(dict.fromkeys(key for table in tables for key in table))
        names = [
            name for name in names if any(t.get(name) != tables[0].get(name) for t in tables[1:])
        ]
    found_all = [
        Differing(name=name.removeprefix("params."), values=[table.get(name) for table in tables])
        for name in names
    ]
    return _joined(found_all)


def _joined(differs: Sequence[Differing]) -> list[Differing]:
    """Width and height that both differ are one variable: the resolution."""
    by_name = {found.name: found.values for found in differs}
    widths, heights = by_name.get("width"), by_name.get("height")
    if widths is None or heights is None or None in widths or None in heights:
        return list(differs)
    sizes = [f"{width}x{height}" for width, height in zip(widths, heights, strict=True)]
    others = [found for found in differs if found.name not in ("width", "height")]
    return [*others, Differing(name=RESOLUTION, values=list(sizes))]


def _quantiles(reading: Reading) -> list[float]:
    ordered = sorted(emit.duration_ns / emit.frames / 1e6 for emit in reading.emits)
    return [quantile(ordered, n / 100) for n in range(1, 100)] if ordered else []


def _unreadable(
    folders: Sequence[Path], readings: Sequence[Reading], configs: Sequence[RunConfig | None]
) -> list[str]:
    """What is missing of sessions: figures of half of one are no figures of the whole."""
    notes = []
    for folder, reading, config in zip(folders, readings, configs, strict=True):
        name, session = folder.resolve().name, reading.summary.session
        damaged = reading.summary.losses.log_damaged
        if damaged:
            notes.append(f"{name}: {plural(damaged, 'damaged place')} of its log left out")
        elif session.end is None and not session.live:
            notes.append(f"{name}: its recording was cut off")
        if not any(request.frames for request in reading.summary.requests):
            notes.append(f"{name}: no frame is in it")
        if config is None:
            notes.append(
                f"{name}: no configuration that can be read, so only parameters are compared"
            )
    return notes


def _notes(readings: Sequence[Reading]) -> list[str]:
    notes = []
    sizes = {_block(reading.summary) for reading in readings} - {None}
    if len(sizes) > 1:
        notes.append(
            f"emits have {', '.join(map(str, sorted(s for s in sizes if s)))} frames: compare "
            "frame_interval_ms, not interval_ms"
        )
    if any(len(reading.emits) < 20 for reading in readings):
        notes.append(
            "a session has fewer than 20 counted intervals: no interval of change is known"
        )
    loads = [reading.surroundings for reading in readings]
    if any(is_loaded(found) for found in loads):
        told = ", ".join(
            NOT_KNOWN if found.other_cores is None else f"{found.other_cores:.1f}"
            for found in loads
        )
        notes.append(
            f"other programs used {told} cores of these machines: what changed may be their doing"
        )
    if any(reading.summary.session.live for reading in readings):
        notes.append("a session is still being recorded")
    return notes


def _block(summary: Summary) -> int | None:
    sizes = summary.interval_ms_by_count
    return int(max(sizes, key=lambda size: (sizes[size].count, int(size)))) if sizes else None
