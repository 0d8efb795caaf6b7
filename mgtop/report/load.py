"""A session folder → its summary, by the same reader and model that the live screen uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.report.plot import IntervalPlot
from mgtop.session.lock import is_live
from mgtop.session.marks import read_marks
from mgtop.session.reader import LogReader

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
    live = is_live(folder)
    reader = LogReader(folder)
    model = Model()
    begin_ns: int | None = None
    end_ns = 0
    while not reader.at_end:
        for record in reader.poll():
            model.feed(record)
            begin_ns = record.t_ns if begin_ns is None else begin_ns
            end_ns = max(end_ns, record.t_ns)
    for mark in read_marks(folder, 0):
        model.feed(mark)
    if not live:
        model.finish()
    summary = model.summary()
    summary = msgspec.structs.replace(
        summary,
        session=msgspec.structs.replace(summary.session, path=str(folder.resolve()), live=live),
        losses=msgspec.structs.replace(
            summary.losses,
            log_damaged=reader.malformed_chunks,
            records_unknown=reader.unknown_records,
        ),
    )
    if columns <= 0 or begin_ns is None or end_ns <= begin_ns:
        return Reading(summary)
    series = model.view(end_ns, begin_ns, end_ns, columns).series.get("interval")
    if series is None:
        return Reading(summary)
    plot = IntervalPlot(tuple(series.high), 0.0, (end_ns - begin_ns) / NS_PER_S)
    return Reading(summary, plot)
