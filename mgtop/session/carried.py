"""What a log file that goes on from another has to begin with, to be understood alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mgtop.wire import records as r

MOST_OPEN = 1_000
"""Open requests; a program that never ends its requests must not make the log grow by them."""
MOST_NAMES = 10_000

_REQUEST = (r.RequestReceived, r.PreprocessDone, r.Sink)
_KEYS: dict[type, Callable[[Any], Hashable]] = {
    r.SessionStart: lambda record: (),
    r.TargetStart: lambda record: (),
    r.GpuDevice: lambda record: record.gpu,
    r.Hello: lambda record: record.proc,
    r.Name: lambda record: (record.proc, record.id),
    r.Load: lambda record: (record.proc, record.done),
    r.TorchAllocator: lambda record: (record.proc, record.device),
    r.SourceState: lambda record: record.source,
    r.Loss: lambda record: record.proc,
    r.Notice: lambda record: (record.source, record.text),
    r.RequestReceived: lambda record: (record.proc, record.request),
    r.PreprocessDone: lambda record: (record.proc, record.request),
    r.Sink: lambda record: (record.proc, record.request),
}


class Carried:
    """Keeps the newest record of each thing that stays true until something else is said.

    That is the session, the program, its processes, devices and names, and the requests that are
    open. Readings are not kept: each is written again within a second.
    """

    def __init__(self) -> None:
        self._kept: dict[type, dict[Hashable, r.Record]] = {kind: {} for kind in _KEYS}

    def take(self, records: Sequence[r.Record]) -> None:
        """What was written."""
        for record in records:
            kind = type(record)
            key = _KEYS.get(kind)
            if key is not None:
                self._keep(kind, key(record), record)
            elif kind is r.StreamEnd:
                ended = (record.proc, record.request)  # type: ignore[attr-defined]
                for of_request in _REQUEST:
                    self._kept[of_request].pop(ended, None)

    def head(self, number: int, t_ns: int, began_ns: int) -> list[r.Record]:
        """The first records of the file of that number, which begins at ``t_ns``."""
        kept = [record for of_kind in self._kept.values() for record in of_kind.values()]
        return [r.LogSegment(t_ns=t_ns, number=number, began_ns=began_ns), *kept]

    def _keep(self, kind: type, key: Hashable, record: r.Record) -> None:
        kept = self._kept[kind]
        if kind is r.SessionStart and kept:
            return  # the first one counts
        most = MOST_OPEN if kind in _REQUEST else MOST_NAMES
        if key not in kept and len(kept) >= most:
            del kept[next(iter(kept))]
        kept[key] = record
