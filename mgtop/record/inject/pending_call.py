"""Have a running CPython 3.8–3.13 (x86-64) run a text, by ``Py_AddPendingCall``.

One thread is stopped for about a millisecond. It makes one memory mapping, the text is written
there, and it calls ``Py_AddPendingCall(PyRun_SimpleString, text)``, which takes no GIL,
allocates nothing and only puts the call into a queue. CPython's main thread runs it where it
would run a signal handler: between two bytecodes, with all its invariants whole.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.interpreter import Interpreter
from mgtop.record.inject.memory import Mapping, Memory, mappings
from mgtop.record.inject.ptrace import Faulted, NotInTime, ThreadGone, Tracee
from mgtop.record.inject.registers import Registers
from mgtop.record.inject.threads import FUTEX, UNSAFE, all_threads, call_of, sleeping_threads

_MMAP, _MUNMAP = 9, 11
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22
_PAGE = 4096
_STACK = 1 << 17
"""The first call of a function through the linker saves all vector registers: 12 KiB with AMX."""
_SYSCALL = b"\x0f\x05"
_SEARCH_S = 0.02
_SEARCH_AMONG_MANY_S = 0.15
"""A program none of whose threads is seen asleep for so long is taken as it runs."""
_SEARCH_PAUSE_S = 250e-6
_STOP_PATIENCE_S = 2.0
_CALL_PATIENCE_S = 5.0
_RECOVERY_PATIENCE_S = 60.0
"""A borrowed thread has to be put back, whatever it takes."""
_EINTR = (1 << 64) - 4


@dataclass(frozen=True)
class Done:
    """How it went.

    Attributes:
        stopped_ns: how long the borrowed thread stood still.
        was_sleeping: whether it slept in a harmless call (else it was stopped as it ran).
    """

    stopped_ns: int
    was_sleeping: bool


def schedule(pid: int, python: Interpreter, text: str, *, on_main: bool = False) -> Done:
    """Queue a text for the main thread; it has not run yet when this returns.

    Call it from a thread of its own: where that ends, the kernel lets go of everything.

    Args:
        pid: of the process.
        python: its interpreter.
        text: source code. It runs in ``__main__``; nothing may be raised out of it.
        on_main: borrow the main thread itself, wherever it is. Python 3.9 to 3.12 only look
            into the queue when it was filled by the main thread, or when that has given up
            the GIL for a moment; a loop of nothing but Python, without rivals, never does.

    Raises:
        CannotInject: it could not be queued; the process goes on as before.
    """
    memory = Memory(pid)
    try:
        gadget = _find_gadget(memory, mappings(pid))
        data = text.encode() + b"\0"
        if not on_main:
            return _schedule(pid, python, data, memory, gadget)
        done = _borrow(pid, python, data, memory, gadget, sleeping_only=False)
        if done is None:
            raise ThreadGone
        return done
    except ThreadGone:
        raise CannotInject(f"Process {pid} has ended.") from None
    except NotInTime:
        raise CannotInject(
            f"A thread of process {pid} did not answer in time; it goes on as before. Try again."
        ) from None
    except Faulted as error:
        raise CannotInject(f"Process {pid} refused the call ({error}).") from None
    finally:
        memory.close()


def _schedule(pid: int, python: Interpreter, text: bytes, memory: Memory, gadget: int) -> Done:
    many = len(all_threads(pid)) > 1
    until = time.monotonic() + (_SEARCH_AMONG_MANY_S if many else _SEARCH_S)
    while time.monotonic() < until:
        for tid in sleeping_threads(pid):
            done = _borrow(tid, python, text, memory, gadget, sleeping_only=True)
            if done is not None:
                return done
        time.sleep(_SEARCH_PAUSE_S)
    # A program that never sleeps: its state is saved whole, so any place will do as well.
    for tid in all_threads(pid):
        done = _borrow(tid, python, text, memory, gadget, sleeping_only=False)
        if done is not None:
            return done
    raise ThreadGone


def _borrow(
    tid: int,
    python: Interpreter,
    text: bytes,
    memory: Memory,
    gadget: int,
    *,
    sleeping_only: bool,
) -> Done | None:
    """Let one thread do it; None where that thread has ended, or is not as wanted any more."""
    try:
        thread = Tracee(tid)
    except ThreadGone:
        return None
    began_ns = time.monotonic_ns()
    try:
        thread.stop(_STOP_PATIENCE_S)
    except ThreadGone:
        return None
    try:
        saved = thread.registers()
        slept = saved.in_call is not None and saved.in_call not in UNSAFE
        if sleeping_only and not slept:
            return None
        _Borrowed(thread, saved, gadget).queue(python, text, memory)
    finally:
        thread.let_go()
    return Done(time.monotonic_ns() - began_ns, slept)


class _Borrowed:
    """A stopped thread whose state is kept, and put back in the end."""

    def __init__(self, thread: Tracee, saved: Registers, gadget: int) -> None:
        self._thread, self._saved, self._gadget = thread, saved, gadget
        self._vectors = thread.vector_state()

    def queue(self, python: Interpreter, text: bytes, memory: Memory) -> None:
        mask = self._thread.block_signals()
        try:
            self._queue(python, text, memory, time.monotonic() + _CALL_PATIENCE_S)
        except NotInTime:
            self._thread.stop(_RECOVERY_PATIENCE_S)
            raise
        finally:
            self._thread.set_vector_state(self._vectors)
            self._thread.set_registers(self._saved)
            self._thread.set_signal_mask(mask)

    def _queue(self, python: Interpreter, text: bytes, memory: Memory, deadline: float) -> None:
        thread, saved, gadget = self._thread, self._saved, self._gadget
        room = -(-len(text) // _PAGE) * _PAGE
        area = thread.system_call(
            saved, gadget, deadline,
            _MMAP, 0, room + _STACK, _READ_WRITE, _PRIVATE_ANONYMOUS, NO_FILE, 0,
        )  # fmt: skip
        if area > (1 << 64) - _PAGE:
            thread.settle(deadline)
            raise Faulted(f"no memory, error {(1 << 64) - area}")
        top = area + room + _STACK - 16 - 8
        memory.write(area, text)
        memory.write(top, struct.pack("<Q", gadget))
        result = thread.call(
            saved,
            gadget,
            top,
            deadline,
            (python.add_pending_call, python.run_string, area),
            (_MUNMAP, area + room, _STACK),
        )
        if result & 0xFFFFFFFF:  # the text, a page or two, stays as well
            raise CannotInject(
                "Python's queue of pending calls is full: its main thread has not run Python "
                "code for a while. Try again when it does."
            )


NO_FILE = (1 << 64) - 1


def _find_gadget(memory: Memory, maps: list[Mapping]) -> int:
    """Address of a ``syscall`` instruction: every process has one in its vDSO, or in libc."""
    for mapping in sorted(maps, key=lambda mapping: mapping.path != "[vdso]"):
        if mapping.path == "[vdso]" or ("/libc" in mapping.path and "x" in mapping.modes):
            code = memory.read(mapping.begin, min(mapping.end - mapping.begin, 1 << 21))
            at = code.find(_SYSCALL)
            if at >= 0:
                return mapping.begin + at
    raise CannotInject("The process has no system call instruction where one is looked for.")


def nudge(pid: int) -> bool:
    """Wake the main thread from a wait for a lock, as any signal would: it runs what is queued.

    The wait returns EINTR once, which CPython answers by running pending calls and waiting on.

    Returns:
        Whether it was waiting so.
    """
    if call_of(pid, pid) != FUTEX:
        return False
    try:
        thread = Tracee(pid)
        thread.stop(_STOP_PATIENCE_S)
    except (ThreadGone, NotInTime):
        return False
    try:
        saved = thread.registers()
        if saved.in_call != FUTEX:
            return False
        changed = saved.calling()
        changed["eflags"] = saved["eflags"]
        changed["rax"] = _EINTR
        thread.set_registers(changed)
    finally:
        thread.let_go()
    return True
