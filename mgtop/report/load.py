"""A session folder → its summary, by the same reader and model that the live screen uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mgtop.analysis.live import LiveView
from mgtop.analysis.summary import Summary
from mgtop.report import digest as digests
from mgtop.report.digest import COLUMNS, Digest
from mgtop.report.follow import Follower
from mgtop.report.plot import IntervalPlot

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Reading:
    """What a session shows. ``plot`` is None where nothing was recorded."""

    summary: Summary
    plot: IntervalPlot | None = None


def summarise(folder: Path, told: Callable[[float], None] | None = None) -> Summary:
    """The summary of a session, live or ended.

    A session that is still being recorded is summarised as far as it is written, with tails
    that are not final yet; one that has ended is judged to its end. The result depends on
    the folder's content alone.

    Args:
        folder: the session's.
        told: is called now and then with the share of the log that was read, 0 to 1.
    """
    return picture(folder, told)[0]


def read(folder: Path, told: Callable[[float], None] | None = None) -> Reading:
    """Summary, and the intervals over time; ``told`` as in :func:`summarise`."""
    summary, view = picture(folder, told)
    series = None if view is None else view.series.get("interval")
    if view is None or series is None:
        return Reading(summary)
    plot = IntervalPlot(tuple(series.high), 0.0, (view.end_ns - view.begin_ns) / NS_PER_S)
    return Reading(summary, plot)


def picture(
    folder: Path, told: Callable[[float], None] | None = None
) -> tuple[Summary, LiveView | None]:
    """Summary, and all channels over the whole session in :data:`COLUMNS` columns.

    The picture is None where nothing was recorded; ``told`` as in :func:`summarise`.
    """
    kept = digests.find(folder)
    if kept is not None:
        return _placed(kept.summary, folder), kept.view
    origin = digests.origin_of(folder)
    follower = Follower(folder)
    for _ in follower.rest():
        if told is not None:
            told(follower.share_read)
    made = digest_of(follower, origin)
    if not follower.live and digests.origin_of(folder) == origin:
        digests.keep(folder, made)
    return made.summary, made.view


def digest_of(follower: Follower, origin: digests.Origin) -> Digest:
    """What was read of a session; ``origin``: from what."""
    summary = follower.summary()
    begin_ns, end_ns = follower.begin_ns, follower.end_ns
    view = None
    if begin_ns is not None and end_ns > begin_ns:
        view = follower.model.view(end_ns, begin_ns, end_ns, COLUMNS)
    return Digest(origin, summary, view)


def _placed(summary: Summary, folder: Path) -> Summary:
    """A session's folder may have been moved since."""
    session = msgspec.structs.replace(summary.session, path=str(folder.resolve()))
    return msgspec.structs.replace(summary, session=session)
