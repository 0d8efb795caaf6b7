"""A session's log, read for what rounds and comparisons need beside the summary."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from mgtop.analysis.model import Model
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import Summary
from mgtop.analysis.tails import Interval
from mgtop.rounds.surroundings import Surroundings, SurroundingsLog
from mgtop.session.lock import is_live
from mgtop.session.reader import LogReader
from mgtop.wire import records as r

MIB = 1 << 20


class Emit(NamedTuple):
    """One counted interval: it ended at ``end_ns`` with ``frames`` frames.

    ``request`` is the request's number in the session; ``key`` names the emit as late frames do.
    """

    end_ns: int
    duration_ns: int
    frames: int
    request: int
    key: tuple[int, str, int]


class Reading(NamedTuple):
    """What a session shows.

    Attributes:
        summary: as ``mgtop report`` has it.
        emits: counted intervals (no warm-up), in order of request and time.
        steady_mib: memory of the target while frames came, each reading in turn: the driver's
            of its processes, else what the framework's allocator has reserved.
        surroundings: what else the machine did.
    """

    summary: Summary
    emits: list[Emit]
    steady_mib: list[float]
    surroundings: Surroundings


class SessionReader:
    """Reads a session, while it grows or afterwards.

    Args:
        folder: the session's; its log need not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reader = LogReader(folder)
        self._model = Model()
        self._model.on_interval = self._take_interval
        self._log = SurroundingsLog()
        self._intervals: list[tuple[Request, Interval]] = []
        self._frames = False
        self._process: dict[tuple[int, int], int] = {}
        self._process_mib: list[float] = []
        self._reserved_mib: list[float] = []

    def poll(self) -> Summary:
        """Take what is new; what is known so far."""
        self._read()
        return self._model.summary()

    def finish(self) -> Reading:
        """Read to the end; a session that is over is judged to its end."""
        live = is_live(self.folder)
        self._read()
        if not live:
            self._model.finish()
        summary = self._model.summary()
        session = msgspec.structs.replace(
            summary.session, path=str(self.folder.resolve()), live=live
        )
        losses = msgspec.structs.replace(
            summary.losses,
            log_damaged=self._reader.malformed_chunks,
            records_unknown=self._reader.unknown_records,
        )
        emits = [
            Emit(
                interval.frame.t_ns,
                interval.duration_ns,
                interval.frame.count,
                request.ordinal,
                (interval.frame.proc, request.id, interval.frame.emit),
            )
            for request, interval in self._intervals
            if not (interval.warmup or request.left_out or request.dropped)
        ]
        emits.sort(key=lambda emit: (emit.request, emit.end_ns))
        return Reading(
            msgspec.structs.replace(summary, session=session, losses=losses),
            emits,
            self._process_mib or self._reserved_mib,
            self._log.result(summary),
        )

    def _read(self) -> None:
        while True:
            for record in self._reader.poll():
                self._model.feed(record)
                self._log.feed(record)
                self._take_memory(record)
            if self._reader.at_end:
                return

    def _take_interval(self, request: Request, interval: Interval) -> None:
        self._intervals.append((request, interval))
        self._frames = self._frames or not interval.warmup

    def _take_memory(self, record: r.AnyRecord) -> None:
        if isinstance(record, r.GpuProcess):
            if record.relation == "target" and record.used_bytes is not None:
                self._process[record.gpu, record.pid] = record.used_bytes
                if self._frames:
                    self._process_mib.append(sum(self._process.values()) / MIB)
        elif isinstance(record, r.TorchMemory) and self._frames:
            self._reserved_mib.append(record.reserved_bytes / MIB)


def read_session(folder: Path) -> Reading:
    """Read a whole session, live or ended."""
    return SessionReader(folder).finish()
