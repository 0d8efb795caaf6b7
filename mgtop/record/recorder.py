"""The loop that turns what happens into the session log.

Every 40 ms it takes what is there, from the FIFO and from the samplers, and appends it as
one chunk. It waits for nobody: not for the target, not for a sampler, not for a reader.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from mgtop.record.digester import Digester
from mgtop.record.events import Intake
from mgtop.record.loss import LossAccount
from mgtop.record.notes import note
from mgtop.record.observer import observe
from mgtop.record.pipes import PIPE_BYTES
from mgtop.record.sampler import Sampler
from mgtop.record.stops import Stops
from mgtop.record.upkeep import Upkeep
from mgtop.session.writer import LogWriter, SessionWriteError
from mgtop.wire.records import Observer, Record, SessionEnd, SourceState, TargetExit

PERIOD_NS = 40_000_000
"""The pipe holds 8,000 events and more, so that 100,000 a second are not lost; looking twice as
often costs another 0.4 % of a core and shows a frame 10 ms earlier."""
_SECOND_NS = 1_000_000_000
_LOSS_PERIOD_NS = 250_000_000
_UNDER_WAY_NS = 50_000_000
"""An event may reach the FIFO this long after its time: its thread lost the GIL in between."""
_MOST_FINAL_READS = 64


class Asked:
    """What was asked of the recorder from outside; set by signal handlers."""

    def __init__(self) -> None:
        self.request: Literal["stop", "stop_target"] | None = None


class Watched(Protocol):
    """The program that is being recorded; launched, or found running."""

    exited: tuple[int | None, int | None] | None
    oom_kills: int | None
    stops: Stops

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""
        ...

    def reap(self) -> None:
        """Notice its end, if it has ended."""
        ...

    def stop(self) -> None:
        """Ask it to end."""
        ...

    def pursue(self, now_ns: int) -> bool:
        """Follow up on :meth:`stop`; True once there is nothing left to wait for."""
        ...


class Source(Protocol):
    """Where events come from: one FIFO, or those of a whole tree."""

    @property
    def absence(self) -> str | None:
        """Why none can come; None: they may."""
        ...

    def read(self) -> bytes:
        """Take all that is there."""
        ...

    def close(self, *, remove: bool) -> None:
        """Stop reading."""
        ...


class Output(Protocol):
    """What the target prints, or the log that it writes."""

    @property
    def skipped_bytes(self) -> int:
        """What was not looked at."""
        ...

    def poll(self, now_ns: int, *, final: bool = False) -> list[Record]:
        """Take what is new."""
        ...

    def states(self, now_ns: int) -> list[SourceState]:
        """What it covers, where it tells of frames."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


class Recorder:
    """One recording, from the target's start to the last record.

    Args:
        writer: the log; its first records are already in it.
        pipe: where events come from (None: the target sends none).
        losses: the account that ``intake`` counts in.
        target: what is recorded.
        asked: requests from outside, honoured within one period.
        samplers: already started; stopped at the end.
        output: the target's output (None: it cannot be read).
        end_ns: when to end (None: never).
        digester: reads along (None: nobody does).
        upkeep: keeps the log small (None: nobody does).
        leaves_target: at ``end_ns`` the target goes on; else it is stopped.
    """

    def __init__(
        self,
        *,
        writer: LogWriter,
        pipe: Source,
        intake: Intake,
        losses: LossAccount,
        target: Watched,
        asked: Asked,
        samplers: Sequence[Sampler],
        output: Output | None = None,
        end_ns: int | None = None,
        leaves_target: bool = False,
        digester: Digester | None = None,
        upkeep: Upkeep | None = None,
    ) -> None:
        self.reason = ""
        """Why it ended, once it has."""
        self.greeting = ""
        """What to tell whoever started it."""
        self._writer = writer
        self._pipe = pipe
        self._intake = intake
        self._losses = losses
        self._target = target
        self._asked = asked
        self._samplers = samplers
        self._output = output
        self._end_ns = end_ns
        self._leaves_target = leaves_target
        self._digester = digester
        self._upkeep = upkeep
        self._log_bytes = 0
        self._next_second_ns = 0
        self._next_loss_ns = 0
        self._stop_reason = "stopped"

    def run(self) -> None:
        """Record until the end.

        Raises:
            SessionWriteError: the log cannot be written any more; the target goes on.
        """
        try:
            self._loop(time.monotonic_ns)
            self._finish()
        except SessionWriteError as error:
            self.reason = f"error: {error}"
            # The failed chunk was cut back; the short last word may still fit.
            with contextlib.suppress(SessionWriteError):
                self._append([SessionEnd(t_ns=time.monotonic_ns(), reason=self.reason)])
            raise
        finally:
            for sampler in self._samplers:
                sampler.stop()
            if self._output is not None:
                self._output.close()
                if self._output.skipped_bytes:
                    note(f"{self._output.skipped_bytes} bytes of output came too fast to be read")
            self._writer.close()
            self._pipe.close(remove=self._target.exited is not None)

    def _loop(self, clock: Callable[[], int]) -> None:
        due = clock()
        while True:
            began = clock()
            self._tick(began)
            now = clock()
            self.reason = self._ending(now) or ""
            if self.reason:
                return
            due = max(due + PERIOD_NS, now)
            time.sleep((due - now) / 1e9)

    def _tick(self, began_ns: int) -> None:
        records: list[Record] = []
        data = self._pipe.read()
        if data:
            records += self._intake.feed(data, time.monotonic_ns())
            if len(data) == PIPE_BYTES:  # a flood: what came meanwhile is not to be lost
                records += self._intake.feed(self._pipe.read(), time.monotonic_ns())
        records += self._target.stops.take()
        states: list[SourceState] = []
        second = began_ns >= self._next_second_ns
        if second:
            self._next_second_ns = began_ns + _SECOND_NS
            states = self._states(began_ns, began_ns - _UNDER_WAY_NS)
        for sampler in self._samplers:
            records += sampler.drain()
        if self._output is not None:
            records += self._output.poll(began_ns)
        if began_ns >= self._next_loss_ns:
            self._next_loss_ns = began_ns + _LOSS_PERIOD_NS
            records += self._losses.take(began_ns)
        records += states
        if second:
            records.append(self._observed(began_ns))
            if self._digester is not None:
                self._digester.poll(began_ns, self._log_bytes)
            if self._upkeep is not None:
                self._upkeep.poll(began_ns)
        if records:
            self._append(records)

    def _states(self, now_ns: int, probe_covered_ns: int) -> list[SourceState]:
        """What each source covers.

        Taken before the samplers are drained: what is covered by then is drained after, and
        so stands before its state in the log.
        """
        absence = self._pipe.absence
        waiting = "" if self._intake.emitting else "no event yet"
        states = [
            SourceState(
                t_ns=now_ns,
                source="probe",
                state="ok" if absence is None else "absent",
                reason=waiting if absence is None else absence,
                period_ns=PERIOD_NS,
                covered_ns=probe_covered_ns if absence is None else None,
            )
        ]
        for sampler in self._samplers:
            states += sampler.states(now_ns)
        if self._output is not None:
            states += self._output.states(now_ns)
        return states

    def _ending(self, now_ns: int) -> str | None:
        """Why the recording ends now; None: it goes on."""
        target = self._target
        target.reap()
        if target.stopping:
            return self._stop_reason if target.pursue(now_ns) else None
        if target.exited is not None:
            return "target_exit"
        if self._asked.request == "stop":
            return "stopped"
        if self._asked.request == "stop_target":
            target.stop()
        elif self._end_ns is not None and now_ns >= self._end_ns:
            self._stop_reason = "seconds"
            if self._leaves_target:
                return self._stop_reason
            target.stop()
        return None

    def _finish(self) -> None:
        """Take what is still in the FIFO and in the samplers, and write the last records."""
        records: list[Record] = []
        for _ in range(_MOST_FINAL_READS):
            data = self._pipe.read()
            if not data:
                break
            records += self._intake.feed(data, time.monotonic_ns())
        for sampler in self._samplers:
            sampler.stop()
        now = time.monotonic_ns()
        states = self._states(now, now)
        for sampler in self._samplers:
            records += sampler.drain()
        if self._output is not None:
            records += self._output.poll(now, final=True)
        records += self._losses.take(now, final=True)
        records += states
        records.append(self._observed(now))
        if self._target.exited is not None:
            code, number = self._target.exited
            kills = self._target.oom_kills
            records.append(TargetExit(t_ns=now, code=code, signal=number, oom_kills=kills))
        records.append(SessionEnd(t_ns=now, reason=self.reason))
        self._append(records)

    def _observed(self, now_ns: int) -> Observer:
        beside_ns = sum(
            process.cpu_ns() for process in (self._digester, self._upkeep) if process is not None
        )
        return observe(now_ns, self._log_bytes, self._samplers, beside_ns)

    def _append(self, records: Sequence[Record]) -> None:
        self._log_bytes += self._writer.append(records)
