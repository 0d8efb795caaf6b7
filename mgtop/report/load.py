"""A session folder → its summary, by the same reader and model that the live screen uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mgtop.analysis.summary import Summary
from mgtop.report.follow import Follower
from mgtop.report.plot import IntervalPlot

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Reading:
    """What a session shows. ``plot`` is None where no column was asked for."""

    summary: Summary
    plot: IntervalPlot | None = None


def summarise(folder: Path) -> Summary:
    """The summary of a session, live or ended.

    A session that is still being recorded is summarised as far as it is written, with tails
    that are not final yet; one that has ended is judged to its end. The result depends on
    the folder's content alone.
    """
    return read(folder).summary


def read(folder: Path, columns: int = 0) -> Reading:
    """Summary, and the intervals over time in ``columns`` columns."""
    follower = Follower(folder)
    follower.catch_up()
    summary = follower.summary()
    begin_ns, end_ns = follower.begin_ns, follower.end_ns
    if columns <= 0 or begin_ns is None or end_ns <= begin_ns:
        return Reading(summary)
    series = follower.model.view(end_ns, begin_ns, end_ns, columns).series.get("interval")
    if series is None:
        return Reading(summary)
    plot = IntervalPlot(tuple(series.high), 0.0, (end_ns - begin_ns) / NS_PER_S)
    return Reading(summary, plot)
