"""The events of a running tree of processes: from all their FIFOs, under the pids of here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mgtop.record.attach.fifos import FoundPipe, Place, identity_of, places
from mgtop.record.attach.process import Process
from mgtop.record.notes import note
from mgtop.record.pipes import PIPE_BYTES, PipeError
from mgtop.wire.records import AnyEvent

LOOK_PERIOD_NS = 1_000_000_000
LOOK_INTO_NS = 5_000_000_000
"""How often a process without a FIFO is asked what it has open; that costs with its files."""
_THREADS_PERIOD_NS = 500_000_000


class TreePipes:
    """All FIFOs of the processes that ``members`` names, found anew once a second.

    What :class:`mgtop.record.recorder.Recorder` takes for its pipe.

    Args:
        members: the processes, the attached one first.
        known: FIFOs that are read whoever writes to them.
    """

    def __init__(self, members: Callable[[], list[Process]], known: Sequence[Place] = ()) -> None:
        self._members = members
        self._known = known
        self._pipes: dict[tuple[int, int], FoundPipe] = {}
        self._by_process: dict[int, tuple[int, int]] = {}
        self._refused: dict[tuple[int, int], PipeError] = {}
        self._looked_into: set[int] = set()
        self._looked_ns = self._looked_into_ns = 0
        self._buffer = memoryview(bytearray(PIPE_BYTES))

    @property
    def places(self) -> list[Place]:
        """Of the FIFOs that are being read."""
        return [pipe.place for pipe in self._pipes.values()]

    @property
    def has_writer(self) -> bool:
        """Whether any of them was open for writing, as of the last read."""
        return any(pipe.has_writer for pipe in self._pipes.values())

    @property
    def refused(self) -> PipeError | None:
        """Why a FIFO that is there cannot be read."""
        return next(iter(self._refused.values()), None)

    @property
    def absence(self) -> str | None:
        """Why no events come; None: they may."""
        if self._pipes:
            return None
        return str(self.refused or "there is no probe in the process")

    def read(self) -> bytes:
        """All that is there, of all FIFOs; a read takes whole messages only."""
        if time.monotonic_ns() - self._looked_ns >= LOOK_PERIOD_NS:
            self.look()
        pieces = []
        for pipe in self._pipes.values():
            size = pipe.read_into(self._buffer)
            if size:
                pieces.append(bytes(self._buffer[:size]))
        return b"".join(pieces)

    def look(self) -> None:
        """Open the FIFOs of processes that had none so far."""
        now = self._looked_ns = time.monotonic_ns()
        into = now - self._looked_into_ns >= LOOK_INTO_NS
        if into:
            self._looked_into_ns = now
        for place in self._known:
            identity = identity_of(place)
            if identity is not None:
                self._open(place, identity)
        for member in self._members():
            if member.proc not in self._by_process:
                fresh = member.proc not in self._looked_into
                self._looked_into.add(member.proc)
                self._open_first(member, look_into=into or fresh)

    def _open_first(self, member: Process, *, look_into: bool) -> None:
        for place in places(member, look_into=look_into):
            identity = identity_of(place)
            if identity is not None and self._open(place, identity):
                self._by_process[member.proc] = identity
                return

    def _open(self, place: Place, identity: tuple[int, int]) -> bool:
        if identity not in self._pipes:
            try:
                self._pipes[identity] = FoundPipe(place)
            except FileNotFoundError:
                return False
            except PipeError as error:
                if identity not in self._refused:
                    note(str(error))
                self._refused[identity] = error
                return False
            self._refused.pop(identity, None)
        return True

    def close(self, *, remove: bool) -> None:
        """Give them all up. They are their processes' own, so they stay."""
        del remove
        for pipe in self._pipes.values():
            pipe.close()
        self._pipes.clear()


class Translator:
    """Says events under the pids and thread ids of this machine.

    A process in a container knows other ones of itself. Events of a process that left its
    FIFO to another one of the same pid are dropped.

    Args:
        members: the processes, as in :class:`TreePipes`.
        is_shared: whether a FIFO is read that descendants share: whoever writes to it belongs.
    """

    def __init__(self, members: Callable[[], list[Process]], is_shared: Callable[[], bool]) -> None:
        self.strangers = 0
        """Events that were dropped."""
        self._members = members
        self._is_shared = is_shared
        self._by_inner: dict[int, Process] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self._threads_listed_ns: dict[int, int] = {}

    def __call__(self, event: AnyEvent) -> AnyEvent | None:
        """The event as it is recorded; None: it is not of these processes."""
        process = self._by_inner.get(event.proc)
        if process is None:
            self._by_inner.update((member.inner_proc, member) for member in self._members())
            process = self._by_inner.get(event.proc)
        if process is None:
            if self._is_shared():
                return event
            self.strangers += 1
            return None
        if not process.is_contained:
            return event
        tid = self._thread(process, event.tid)
        return msgspec.structs.replace(event, proc=process.proc, tid=tid)

    def _thread(self, process: Process, inner: int) -> int:
        """The thread's id here; 0 where it has ended before it was asked for."""
        found = self._threads.get((process.pid, inner))
        if found is None:
            now = time.monotonic_ns()
            if now - self._threads_listed_ns.get(process.pid, 0) >= _THREADS_PERIOD_NS:
                self._threads_listed_ns[process.pid] = now
                for outer in _tasks(process.pid):
                    self._threads[process.pid, _inner_id(process.pid, outer)] = outer
            found = self._threads.get((process.pid, inner), 0)
        return found


def _tasks(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _inner_id(pid: int, tid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/task/{tid}/status").read_text(errors="replace").split("\n"):
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    except (OSError, ValueError):
        pass
    return tid
