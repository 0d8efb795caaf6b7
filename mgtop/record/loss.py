"""How many events did not arrive: exactly, per process.

A probe numbers its attempts to send, so what is missing between the first and the last
number is lost. Threads take a number and write a moment later, so a number can arrive after
its successors; a gap counts only once it has stood for :data:`SETTLE_NS`.
"""

from __future__ import annotations

from collections import deque

from mgtop.wire.records import Loss

SETTLE_NS = 500_000_000
MOST_PROCESSES = 4096
_FASTEST_PER_NS = 1e-3  # a million events a second: no program comes near
_BURST = 1_000_000
_LONGEST_BACK = 1 << 20


class ProcessLoss:
    """The account of one process.

    ``lost`` at any moment is (highest number − first + 1) − events received; events under
    way make that too high for a moment, never too low, so the least value of the last
    :data:`SETTLE_NS` is the settled one.
    """

    def __init__(self, first: int, now_ns: int) -> None:
        self.first = first
        self.next = first
        self.received = 0
        self.malformed = 0
        self.dropped_by_probe = 0
        self.missing_before = 0
        self.last_ns = now_ns
        self._recent: deque[tuple[int, int]] = deque([(now_ns, 0)])

    def accept(self, seq: int, now_ns: int) -> bool:
        """Count an event; False where its number cannot be true."""
        upcoming = self.next
        if seq == upcoming:
            self.next = seq + 1
        elif seq > upcoming:
            if seq - upcoming > _BURST + (now_ns - self.last_ns) * _FASTEST_PER_NS:
                return False
            self.next = seq + 1
        elif upcoming - seq > _LONGEST_BACK:
            return False
        elif seq < self.first:  # the very first events came out of order
            self.first = seq
        self.received += 1
        self.last_ns = now_ns
        return True

    def begins_anew(self) -> None:
        """Another program has taken the process's place, and numbers its events from 0."""
        self.missing_before = self.missing()
        self.first = self.next = LossAccount.FIRST_SEQ
        self.received = self.dropped_by_probe = 0

    def missing(self) -> int:
        """Numbers not seen, with those still under way; never less than the probe's own count."""
        missing = max(self.next - self.first - self.received, self.dropped_by_probe, 0)
        return self.missing_before + missing

    def settled(self, now_ns: int) -> int:
        """The least :meth:`missing` of the last :data:`SETTLE_NS`. Call it regularly."""
        missing = self.missing()
        recent = self._recent
        while recent and recent[-1][1] > missing:
            recent.pop()
        if not recent or recent[-1][1] < missing:
            recent.append((now_ns, missing))
        while len(recent) > 1 and recent[1][0] <= now_ns - SETTLE_NS:
            recent.popleft()
        return recent[0][1]


class LossAccount:
    """Losses of all processes that send.

    Args:
        from_start: the recorder was there before any event was sent, so numbers missing
            before a process's first arrival are lost too; else they belong to the time
            before the recording.
    """

    FIRST_SEQ = 0
    """The number that a probe gives its first event."""

    def __init__(self, *, from_start: bool) -> None:
        self._from_start = from_start
        self._processes: dict[int, ProcessLoss] = {}
        self._written: dict[int, tuple[int, int]] = {}
        self._dropped_before: dict[int, int] = {}
        self.malformed_unknown = 0
        """Runs of bytes and payloads that belong to no known process."""

    def accept(self, proc: int, seq: int, now_ns: int) -> bool:
        """Count an event of a process; False where its number cannot be true."""
        process = self._processes.get(proc)
        if process is None:
            if len(self._processes) >= MOST_PROCESSES:
                return False
            if self._from_start and seq <= _BURST:
                process = ProcessLoss(self.FIRST_SEQ, now_ns)
            else:
                process = ProcessLoss(seq, now_ns)
            self._processes[proc] = process
        return process.accept(seq, now_ns)

    def begins_anew(self, proc: int) -> None:
        """Another program has taken a process's place (``exec``)."""
        process = self._processes.get(proc)
        if process is not None:
            process.begins_anew()
            self._dropped_before.pop(proc, None)

    def pulse(self, proc: int, dropped: int) -> None:
        """The probe's own count of events it dropped (cumulative)."""
        process = self._processes.get(proc)
        if process is None:
            return
        if not self._from_start:
            dropped -= self._dropped_before.setdefault(proc, dropped)
        # A dropped event took a number, so no more than that many can have been dropped.
        process.dropped_by_probe = max(0, min(dropped, process.next - process.first))

    def malformed(self, proc: int) -> None:
        """An event that cannot be true arrived from ``proc`` (0: nobody knows)."""
        process = self._processes.get(proc)
        if process is None:
            self.malformed_unknown += 1
        else:
            process.malformed += 1

    def take(self, now_ns: int, *, final: bool = False) -> list[Loss]:
        """Records of what has changed since the last time; ``final``: nothing is under way."""
        records: list[Loss] = []
        counts = {0: (0, self.malformed_unknown)}
        for proc, process in self._processes.items():
            settled = process.settled(now_ns)
            counts[proc] = (process.missing() if final else settled, process.malformed)
        for proc, count in counts.items():
            if count != self._written.get(proc, (0, 0)):
                self._written[proc] = count
                records.append(Loss(t_ns=now_ns, proc=proc, dropped=count[0], malformed=count[1]))
        return records
