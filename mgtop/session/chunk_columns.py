"""Reading a log chunk by chunk, with frequent kinds of records as columns.

What only copies readings into tables needs no object for each of them: a compacted chunk holds two
thousand records of few kinds, and its columns are columns of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mgtop.session.columns import Laid, NoColumns, is_squeezed, laid, sums
from mgtop.session.reader import LogReader
from mgtop.wire.records import AnyRecord

MOST_BYTES = 256 << 10
"""Read at once."""
WORTH_RECORDS = 64
"""Of a smaller chunk, columns cost more than they save."""

_encode = msgspec.msgpack.Encoder().encode


class Kind(NamedTuple):
    """The records of one kind in a chunk, in their order.

    Whether fields hold what they should was not looked at: a log can hold anything.

    Attributes:
        tag: as in :mod:`mgtop.wire.records`.
        places: where each stands among all records of the chunk.
        t_ns: its time.
        columns: its fields after the time; :meth:`field` opens one.
    """

    tag: int
    places: list[int]
    t_ns: list[int]
    columns: Sequence[list[Any]]

    def field(self, number: int) -> list[Any]:
        """The values of a field; 0 is the first one after the time."""
        return sums(self.columns[number])


class Chunk(NamedTuple):
    """What one chunk holds.

    Attributes:
        kinds: those that were asked for, as columns.
        records: all others, and those that were asked for besides.
        places: where each of ``records`` stands among all of the chunk.
        newest_ns: the newest time of all.
        whole: gives all of it as records, where the columns turn out to be no good.
        apart: False: everything came as records, since there are few.
    """

    kinds: list[Kind]
    records: list[AnyRecord]
    places: Sequence[int]
    newest_ns: int | None
    whole: Callable[[], list[AnyRecord]]
    apart: bool


class ChunkReader:
    """Gives the chunks of a log in order; damage and what is unknown is counted by its ``log``.

    Args:
        folder: the session's.
        tags: kinds that are wanted as columns, where a chunk has many records.
        besides: which of a kind, by their number in it, are wanted as records, too.
        records: kinds that are wanted as records alone; None: all others. Of a chunk with few
            records, all come as records.
    """

    def __init__(
        self,
        folder: Path,
        tags: Container[int],
        besides: Callable[[Kind], Sequence[int]] = lambda kind: (),
        records: Container[int] | None = None,
    ) -> None:
        self.log = LogReader(folder, most_bytes=MOST_BYTES)
        self._uncounted = LogReader(folder)
        self._tags = tags
        self._besides = besides
        self._records = records

    def chunks(self) -> Iterator[Chunk]:
        """All that are there now."""
        while not self.log.at_end:
            for payload in self.log.poll_payloads():
                yield self._chunk(payload)

    def _chunk(self, payload: bytes | memoryview) -> Chunk:
        if is_squeezed(payload):
            try:
                found = laid(payload)
            except NoColumns:
                return _plain(self.log.decode(payload))  # it counts that
            if len(found.order) >= WORTH_RECORDS:
                return self._apart(found, lambda: self._uncounted.decode(payload))
        return _plain(self.log.decode(payload))

    def _apart(self, found: Laid, whole: Callable[[], list[AnyRecord]]) -> Chunk:
        places: list[list[int]] = [[] for _ in found.kinds]
        for place, number in enumerate(found.order):
            places[number].append(place)
        times = found.times
        kinds: list[Kind] = []
        rows: dict[int, tuple[Any, ...]] = {}
        for (tag, _), own, columns in zip(found.kinds, places, found.columns, strict=True):
            kind = Kind(tag, own, [times[place] for place in own], columns)
            if tag in self._tags:
                kinds.append(kind)
                chosen = self._besides(kind)
                if not chosen:
                    continue
                values = list(_rows(kind))
                rows.update((own[number], values[number]) for number in chosen)
            elif self._records is None or tag in self._records:
                rows.update(zip(own, _rows(kind), strict=True))
        order = sorted(rows)
        records = self.log.decode(_encode([rows[place] for place in order]))
        if len(records) != len(order):  # some are of a newer version, and counted by now
            return _plain(whole())
        return Chunk(kinds, records, order, max(times), whole, apart=True)


def _rows(kind: Kind) -> Iterator[tuple[Any, ...]]:
    return zip(repeat(kind.tag), kind.t_ns, *map(sums, kind.columns))


def _plain(records: list[AnyRecord]) -> Chunk:
    newest_ns = max((record.t_ns for record in records), default=None)
    return Chunk([], records, range(len(records)), newest_ns, lambda: records, apart=False)
