"""Time that a program spends waiting for a person: it belongs to no interval."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from mgtop.wire.records import FrameEmit, Wait


def waits_of(
    waits: Iterable[Wait], frame: FrameEmit, begin_ns: int, alone: bool, emits_ns: Sequence[int]
) -> list[Wait]:
    """Which of a process's waits held up the emit of ``frame``, whose interval began then.

    Another thread's waiting holds nothing up where other requests are served (``alone`` is
    False), or where frames went on coming while it waited; one may, it was on its way.
    ``emits_ns``: times of the request's emits, ascending.
    """
    return [
        wait
        for wait in waits
        if wait.t_ns > begin_ns
        and (
            wait.tid == frame.tid
            or not (wait.tid and frame.tid)
            or (alone and _inside(wait, emits_ns) <= 1)
        )
    ]


def _inside(wait: Wait, emits_ns: Sequence[int]) -> int:
    """How many emits came while it waited."""
    return bisect_left(emits_ns, wait.t_ns) - bisect_right(emits_ns, wait.t_ns - wait.duration_ns)


def waited_ns(waits: Iterable[Wait], begin_ns: int, end_ns: int) -> int:
    """How much of begin … end was spent waiting (overlaps counted once)."""
    covered = 0
    reached = begin_ns
    for wait in sorted(waits, key=lambda wait: wait.t_ns - wait.duration_ns):
        begin = max(wait.t_ns - wait.duration_ns, reached)
        end = min(wait.t_ns, end_ns)
        if end > begin:
            covered += end - begin
            reached = end
    return covered
