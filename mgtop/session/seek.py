"""Where in a log a time is: found by halving, in the log itself, so no index can be wrong."""

from __future__ import annotations

import contextlib
import os

from mgtop.session.chunks import HEADER, MAX_PAYLOAD, whole_chunk
from mgtop.session.columns import NoColumns, newest_ns

LATE_NS = 2_000_000_000
"""A record is in the log so long after its time, at the latest."""

_WINDOW, _MOST = 64 << 10, 2 * (HEADER.size + MAX_PAYLOAD)
"""Read to find a chunk: most are small, and one of the largest is surely in the other."""


def place_of(fd: int, t_ns: int) -> int:
    """A byte from which on all records of ``t_ns`` and later stand, near the first of them.

    The order in the log is that of arrival; what came more than :data:`LATE_NS` late may stand
    before it. Reads some 64 KiB for each doubling of the log's length. Damage is passed over.

    Args:
        fd: the log.
        t_ns: nanoseconds of ``CLOCK_MONOTONIC``.

    Returns:
        Where a chunk begins, or 0.

    Raises:
        OSError: the log cannot be read.
    """
    # Chunks that begin before ``before`` are earlier, the first one from ``after`` on is not.
    before, after = 0, os.fstat(fd).st_size
    while after - before > 1:
        middle = (before + after) // 2
        found = _chunk_from(fd, middle, after)
        if found is None:  # the rest of one that began earlier, or damage
            after = middle
            continue
        _, end, newest = found
        if newest >= t_ns - LATE_NS:
            after = middle
        else:
            before = end
    found = _chunk_from(fd, before, os.fstat(fd).st_size)
    return found[0] if found is not None else before


def first_ns(fd: int) -> int | None:
    """The newest time of the first whole chunk; None: there is no such chunk.

    Raises:
        OSError: the log cannot be read.
    """
    found = _chunk_from(fd, 0, os.fstat(fd).st_size)
    return None if found is None else found[2]


def _chunk_from(fd: int, begin: int, until: int) -> tuple[int, int, int] | None:
    """Begin, end and newest time of the first whole chunk with a time that begins there."""
    window = _WINDOW
    while begin < until:
        data = os.pread(fd, window, begin)
        at = whole_chunk(data)
        if at < 0:
            if window == _MOST or len(data) < window:
                return None
            window = _MOST
            continue
        end = at + HEADER.size + HEADER.unpack_from(data, at)[1]
        if begin + at >= until:
            return None
        with contextlib.suppress(NoColumns):
            newest = newest_ns(data[at + HEADER.size : end])
            return begin + at, begin + end, newest
        begin, window = begin + end, _WINDOW
    return None
