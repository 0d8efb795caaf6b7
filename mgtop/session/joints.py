"""Where one file of a log goes on from another: what is passed over, and what is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from mgtop.session.columns import NoColumns, newest_ns
from mgtop.session.log_heads import Head, gap_in, head_of, is_end, payload_of, rows_of
from mgtop.session.log_open import OpenLog
from mgtop.wire.records import LogGap


class Joints:
    """Follows a reader from file to file.

    Args:
        number: of the file before the first one that is read, which does not count as missing.
        at_begin: the reader begins at the begin of a file.
    """

    def __init__(self, number: int = 0, at_begin: bool = True) -> None:
        self._number = number
        """Of the file before; what was dropped counts as read."""
        self._ended = True
        """That file has its end."""
        self._told = False
        """It was a gap."""
        self._at_begin = at_begin
        self._last: bytes | None = None

    def passed(
        self, file: OpenLog, payloads: Sequence[bytes | memoryview]
    ) -> Sequence[bytes | memoryview]:
        """What a reader is to be given of what it has read in a file."""
        if not payloads:
            return payloads
        given = list(payloads)
        ended, before = is_end(given[-1]), self._ended
        if ended:
            given.pop()
        self._ended = ended
        if self._at_begin and given:
            self._at_begin = False
            given[:1] = self._begun(file, given[0], before)
        if given and not self._told:
            self._last = bytes(given[-1])
        return given

    def left(self, file: OpenLog) -> None:
        """A file was read to its end, and another one is begun."""
        if self._at_begin:  # nothing of it could be read
            self._ended = False
        self._number = max(self._number, file.number)
        self._at_begin = True

    def _begun(
        self, file: OpenLog, payload: bytes | memoryview, ended: bool
    ) -> list[bytes | memoryview]:
        """What is given for the first payload of a file; ``ended``: the one before has its end."""
        told, self._told = self._told, False
        missing = file.number > self._number + 1
        if not file.is_finished and file.number == 1:
            return [payload]
        rows = rows_of(payload)
        dropped = gap_in(rows)
        if dropped is not None:
            self._number, self._told = max(file.number, dropped.last), True
            return [payload]
        head = head_of(rows)
        if not (told or missing) and ended:
            return [payload] if head is None else []
        last_ns = None if self._last is None else _time_of(self._last)
        gap = self._gap(file, head, payload, last_ns) if missing or not told else None
        news = [] if head is None else head.news_since(last_ns)
        given: list[bytes | memoryview] = []
        if gap is not None or news:
            given.append(payload_of(gap, news))
        if head is None:
            given.append(payload)
        return given

    def _gap(
        self, file: OpenLog, head: Head | None, payload: bytes | memoryview, last_ns: int | None
    ) -> LogGap:
        until_ns = _time_of(payload) if head is None else head.t_ns
        begin_ns = last_ns
        if begin_ns is None:
            begin_ns = until_ns if head is None else head.session_begin_ns
        missing = file.number > self._number + 1
        return LogGap(
            t_ns=min(begin_ns, until_ns),
            until_ns=until_ns,
            reason="missing" if missing else "damaged",
            first=self._number + missing,
            last=file.number - 1,
        )


def _time_of(payload: bytes | memoryview) -> int:
    with contextlib.suppress(NoColumns):
        return newest_ns(payload)
    return 0
