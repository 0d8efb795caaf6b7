"""What threads of a process did between their spans.

A long span carries its thread's totals of CPU time and run-queue delay at its end; less its
own share they are known at its begin, too. So between two long spans of one thread it is known
whether it ran, waited for a core, or neither, although nobody gave that time a name. Spans whose
names have no role count as none.
"""

from __future__ import annotations

from collections import deque

import msgspec

from mgtop.analysis.spans import Interval, Work, length, overlap

MOST_GAPS = 1_024


class Gap(msgspec.Struct, frozen=True):
    """The time between two spans of a thread (ns). The totals are those at its begin."""

    begin_ns: int
    end_ns: int
    total_cpu_ns: int
    total_delay_ns: int | None
    cpu_ns: int
    delay_ns: int

    def ending_at(self, end_ns: int, total_cpu_ns: int, total_delay_ns: int | None) -> Gap:
        """The same gap with another end, where the totals were these."""
        delay = 0
        if self.total_delay_ns is not None and total_delay_ns is not None:
            delay = max(0, total_delay_ns - self.total_delay_ns)
        return msgspec.structs.replace(
            self, end_ns=end_ns, cpu_ns=max(0, total_cpu_ns - self.total_cpu_ns), delay_ns=delay
        )


class ThreadLog:
    """The recent gaps of one thread.

    Attributes:
        serves: the request that it worked for last (0: none, or not known).
        computes: whether it does the model's work for that request.
    """

    def __init__(self) -> None:
        self.gaps: deque[Gap] = deque(maxlen=MOST_GAPS)
        self.serves = 0
        self.computes = False
        self._last: Gap | None = None
        """A gap that begins where the latest span ended."""

    def add(self, work: Work) -> None:
        """Take the next span of the thread; an outer one comes after those inside it."""
        if work.request:
            if work.request != self.serves:
                self.computes = False
            self.serves = work.request
        self.computes = self.computes or work.role == "compute"
        if work.role is None or work.total_cpu_ns is None or work.cpu_ns is None:
            return  # a name that says nothing leaves its time as open as none at all
        cpu = work.total_cpu_ns - work.cpu_ns
        delay = work.total_delay_ns
        if delay is not None:
            delay -= work.delay_ns or 0
        while self.gaps and self.gaps[-1].end_ns > work.begin_ns:
            gap = self.gaps.pop()
            if gap.begin_ns < work.begin_ns:
                self.gaps.append(gap.ending_at(work.begin_ns, cpu, delay))
                break
        last = self._last
        if last is not None and last.begin_ns < work.begin_ns:
            self.gaps.append(last.ending_at(work.begin_ns, cpu, delay))
        self._last = Gap(work.end_ns, work.end_ns, work.total_cpu_ns, work.total_delay_ns, 0, 0)

    def between(self, free: list[Interval]) -> tuple[int, int]:
        """CPU time and run-queue delay in gaps, as far as they lie in ``free``.

        Within one gap both are taken to be even.
        """
        cpu = delay = 0
        if not free:
            return cpu, delay
        begin_ns, end_ns = free[0][0], free[-1][1]
        for gap in reversed(self.gaps):
            if gap.end_ns <= begin_ns:
                break
            if gap.begin_ns >= end_ns:
                continue
            share = length(overlap([(gap.begin_ns, gap.end_ns)], free)) / (
                gap.end_ns - gap.begin_ns
            )
            cpu += int(gap.cpu_ns * share)
            delay += int(gap.delay_ns * share)
        return cpu, delay
