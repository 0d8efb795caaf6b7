"""A session folder → its summary, by the same reader and model that the live screen uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mgtop.analysis.live import LiveView
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
    summary, view = picture(folder, columns)
    series = None if view is None else view.series.get("interval")
    if view is None or series is None:
        return Reading(summary)
    plot = IntervalPlot(tuple(series.high), 0.0, (view.end_ns - view.begin_ns) / NS_PER_S)
    return Reading(summary, plot)


def picture(folder: Path, columns: int) -> tuple[Summary, LiveView | None]:
    """Summary, and all channels over the whole session in ``columns`` columns.

    The picture is None where no column was asked for, or nothing was recorded.
    """
    follower = Follower(folder)
    follower.catch_up()
    summary = follower.summary()
    begin_ns, end_ns = follower.begin_ns, follower.end_ns
    if columns <= 0 or begin_ns is None or end_ns <= begin_ns:
        return summary, None
    return summary, follower.model.view(end_ns, begin_ns, end_ns, columns)
