"""A source that is read on a thread of its own, and never waited for.

The recorder's loop takes what is there (:meth:`Sampler.drain`) and what the source says of
itself (:meth:`Sampler.states`); a read that hangs in the kernel or in a driver holds up
this thread and nothing else.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from mgtop.record.schedule import MetricGone, NoValue, Reading, SourceLost
from mgtop.wire.records import Record, SourceState

MS = 1_000_000
HANG_NS = 2_000_000_000
NAP_NS = 50 * MS  # so that stop() is quick and a changed schedule is seen
AWAITED_NS = 1_500 * MS
TOGETHER_NS = 2 * MS  # readings due this close are made in one wake-up


class Sampler(ABC):
    """Makes readings when they are due; a subclass plans them in :meth:`open`.

    Args:
        name: the source's name in the log.
        clock: ``CLOCK_MONOTONIC`` in ns.
    """

    def __init__(self, name: str, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.name = name
        self.readings: list[Reading] = []
        self._clock = clock
        self._records: deque[Record] = deque()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: str | None = None
        self._busy: tuple[str, int] | None = None

    # ------------------------------------------------------------------ the recorder's side

    def start(self) -> None:
        """Start the thread; returns at once, whatever the source does."""
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 1.0) -> None:
        """Ask the thread to end; a thread that hangs is left behind."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def drain(self) -> list[Record]:
        """What was read since the last time."""
        records = self._records
        return [records.popleft() for _ in range(len(records))]

    def states(self, now_ns: int) -> list[SourceState]:
        """One line for the source as a whole, and one for each value that cannot be had."""
        if self._failed is not None:
            return [self._state(now_ns, "absent", self._failed)]
        hanging = self.hanging(now_ns)
        if hanging is not None:
            return [self._state(now_ns, "stale", hanging)]
        failing = [(r, why) for r in list(self.readings) if (why := r.gone or r.lost)]
        lines = [self._state(now_ns, "ok", "")]
        lines += [
            self._without(now_ns, reading, reading.name, why, gone=reading.gone is not None)
            for reading, why in failing
        ]
        lines += [
            self._without(now_ns, reading, f"{reading.name}.{part}", said.reason, gone=said.gone)
            for reading in list(self.readings)
            if not (reading.gone or reading.lost)
            for part, said in list(reading.parts.items())
        ]
        living = [reading for reading in self.readings if reading.wanted]
        if living and all(reading.lost for reading in living):
            reasons = sorted({reading.lost for reading in living if reading.lost})
            lines[0] = self._state(now_ns, "failed", "; ".join(reasons))
        return lines

    def hanging(self, now_ns: int) -> str | None:
        """What has not come back for :data:`HANG_NS`, in a sentence."""
        busy = self._busy
        if busy is None or now_ns - busy[1] < HANG_NS:
            return None
        return f"reading {busy[0]} has not come back for {(now_ns - busy[1]) / 1e9:.0f} s"

    @property
    def missed(self) -> int:
        """Readings that were due and not made."""
        return sum(reading.missed for reading in self.readings)

    def period_ns(self) -> int | None:
        """The period of the quickest reading, as the source's own resolution."""
        return min((r.period_ns for r in self.readings if r.wanted), default=None)

    def _state(self, now_ns: int, state: str, reason: str) -> SourceState:
        return SourceState(
            t_ns=now_ns,
            source=self.name,
            state=state,
            reason=reason,
            period_ns=self.period_ns(),
            covered_ns=self._cover() if state == "ok" else None,
        )

    def _without(
        self, now_ns: int, reading: Reading, name: str, reason: str, *, gone: bool
    ) -> SourceState:
        gpu = f":{reading.gpu}" if reading.gpu is not None else ""
        return SourceState(
            t_ns=now_ns,
            source=f"{self.name}.{name}{gpu}",
            state="absent" if gone else "failed",
            reason=reason,
        )

    # ------------------------------------------------------------------------- the thread

    @abstractmethod
    def open(self) -> None:
        """Plan the readings; on the thread, before the first of them.

        Raises:
            MetricGone, SourceLost: the source is not there; ``str()`` says why.
        """

    def close(self) -> None:
        """Clean up; on the thread, after the last reading."""

    def before_step(self, now_ns: int) -> None:
        """Called before each round of readings."""

    def after_step(self) -> None:
        """Called after each round of readings."""

    def _run(self) -> None:
        try:
            self.open()
            while not self._stop.is_set():
                wait_ns = self.step()
                self._stop.wait(min(wait_ns, NAP_NS) / 1e9)
            self.close()
        except (MetricGone, NoValue, SourceLost) as error:
            self._failed = str(error)
        except Exception as error:  # else the thread ends and the source still says "ok"
            self._failed = f"unexpected error ({type(error).__name__}: {error})"

    def _cover(self) -> int | None:
        """Up to when everything is read that a frame is judged by.

        Judgement waits two seconds at most, so readings that are rarer are not waited for.
        Without this, a frame would be judged before the next reading of a figure that is
        read once a second, and could not be told from one without it.
        """
        awaited = [
            reading.read_ns
            for reading in self.readings
            if reading.wanted and reading.lost is None and reading.period_ns <= AWAITED_NS
        ]
        read = [t_ns for t_ns in awaited if t_ns is not None]
        return min(read, default=None) if len(read) == len(awaited) else None

    def step(self) -> int:
        """Make the readings that are due; return how long to wait for the next, in ns."""
        now = self._clock()
        self.before_step(now)
        for reading in self.readings:
            if not reading.wanted or reading.due_ns > now + TOGETHER_NS:
                continue
            self._busy = (reading.name, self._clock())
            self._records.extend(reading.run(self._clock))
            self._busy = None
            if self._stop.is_set():
                break
        self.after_step()
        upcoming = min((r.due_ns for r in self.readings if r.wanted), default=now + NAP_NS)
        return max(0, upcoming - self._clock())
