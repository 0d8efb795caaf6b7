"""``mgtop.open``: a session from Python, recorded or live. Names here are stable."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from mgtop.analysis.summary import MarkSummary as Mark
from mgtop.analysis.summary import Summary as Report
from mgtop.analysis.summary import Tail
from mgtop.export.emits import Emits, Frame, late_frames
from mgtop.export.spans import Span, spans_of
from mgtop.report.follow import Follower
from mgtop.report.samples import Sample, Sampled
from mgtop.session.folder import find
from mgtop.session.pack.read import is_pack, unpacked
from mgtop.wire.records import AnyRecord

if TYPE_CHECKING:
    from mgtop.export.arrow import Tables

__all__ = ["Frame", "Mark", "Report", "Sample", "Session", "Span", "Tail", "open_session"]


class Session:
    """A session as far as it was read, at :func:`mgtop.open` or at the last :meth:`refresh`.

    Everything that it gives is of that one moment. Times are milliseconds since the session's
    start, memory is MiB; what is not known is None.

    Args:
        path: the session's folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._follower = Follower(path)
        self._emits = Emits(self._follower.model)
        self._read = 0
        self._frames: list[Frame] | None = None
        self._report: Report | None = None
        self.refresh()

    def __repr__(self) -> str:
        return f"<mgtop session {self.name}{', live' if self.live else ''}>"

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def live(self) -> bool:
        """Whether it was still being recorded when it was read."""
        return self._follower.live

    @property
    def start_ns(self) -> int:
        """Its start in ``CLOCK_MONOTONIC`` of its machine: zero of all times."""
        return self._follower.model.about.start_ns

    def refresh(self) -> bool:
        """Read what was written since; whether there was anything.

        Costs what is new, not what is there already.
        """
        live = self.live
        read = sum(map(len, self._follower.rest()))
        self._read += read
        changed = read > 0 or live != self.live
        if changed or self._report is None:
            self._frames = None
            self._report = self._follower.summary()
        return changed

    @property
    def report(self) -> Report:
        """What ``mgtop report --json`` says, as structs (docs/report-json.md)."""
        assert self._report is not None
        return self._report

    @property
    def frames(self) -> list[Frame]:
        """The emits that count, in the order of time."""
        if self._frames is None:
            self._frames = list(self._emits.frames(self.start_ns, late_frames(self.report)))
        return self._frames

    @property
    def tails(self) -> list[Tail]:
        """The late frames with their causes and evidence, in the order of time."""
        return self.report.tails.frames

    @property
    def marks(self) -> list[Mark]:
        """Notes put on the time axis, in the order of time."""
        return self.report.marks

    @property
    def spans(self) -> Iterator[Span]:
        """The named work of the program, in the order of the log; read from it each time."""
        traffic = self._follower.model.traffic
        for records in self._records():
            yield from spans_of(records, traffic, self.start_ns)

    @property
    def samples(self) -> Iterator[Sample]:
        """The readings, in the order of the log; read from it each time."""
        sampled = Sampled(self.start_ns)
        for records in self._records():
            yield from sampled.rows(records)

    def arrow(self) -> Tables:
        """Frames, spans, samples, tails and marks as Arrow tables.

        Raises:
            ModuleNotFoundError: pyarrow is missing (``pip install 'mgtop[parquet]'``).
        """
        from mgtop.export.arrow import tables

        frames = self._emits, late_frames(self.report)
        return tables(
            self.report, *frames, self._records(), self._follower.model.traffic, self.start_ns
        )

    def _records(self) -> Iterator[list[AnyRecord]]:
        """The records that were read, some megabytes of the log at a time."""
        from mgtop.session.reader import LogReader

        reader, left = LogReader(self.path), self._read
        while left > 0:
            records = reader.poll()[:left]
            left -= len(records)
            yield records
            if reader.at_end:
                return


def open_session(session: str | PathLike[str]) -> Session:
    """Open a session.

    Args:
        session: its folder, a unique part of its name, as on the command line, or a file that
            ``mgtop pack`` made (unpacked for as long as the session lives).

    Raises:
        SessionNotFound, SessionAmbiguous, SessionNewer, NoPack: ``str()`` says what there is.
    """
    if not is_pack(Path(session)):
        return Session(find(fspath(session)))
    folder = ExitStack()
    opened = Session(folder.enter_context(unpacked(Path(session))))
    weakref.finalize(opened, folder.close)
    return opened
