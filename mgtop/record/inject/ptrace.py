"""One thread of another process, stopped: its registers, a system call, a function of its own.

Everything that is run in the thread runs on a stack that is not the thread's, comes back
through a ``syscall`` instruction at which the kernel stops it (so no signal is made up), and
with signals blocked meanwhile. All registers, vector state included, are put back, and a call
that the thread slept in is restarted by the kernel as after any interruption.

All calls must come from the thread of this process that made the object (a rule of ptrace).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time
from collections.abc import Callable

from mgtop.record.inject.registers import SIZE, Registers

_CONT, _GETREGSET, _SETREGSET, _SYSCALL = 7, 0x4204, 0x4205, 24
_DETACH, _SEIZE, _INTERRUPT = 17, 0x4206, 0x4207
_GETSIGMASK, _SETSIGMASK = 0x420A, 0x420B
_NT_PRSTATUS, _NT_XSTATE = 1, 0x202
_TRACESYSGOOD = 1
_EVENT_STOP = 128
_WALL = 0x40000000
_XSTATE_ROOM = 1 << 16
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_NOT_BLOCKED = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
_ALL_SIGNALS = (1 << 64) - 1
_MASK_BYTES = 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class ThreadGone(Exception):
    """The thread, or its process, has ended."""


class NotInTime(Exception):
    """It did not stop, or a function did not come back, in time."""


class Faulted(Exception):
    """What ran in the thread ended in a fault; the thread itself was put back."""


class _Piece(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


class Tracee:
    """A seized thread. Use :meth:`stop`, then the rest, then :meth:`let_go`.

    Args:
        tid: of the thread.

    Raises:
        ThreadGone: there is none.
        PermissionError: it may not be traced, or somebody else traces it.
    """

    def __init__(self, tid: int) -> None:
        self.tid = tid
        self._stopped = False
        self._pending_signal = 0
        _ptrace(_SEIZE, tid, 0, _TRACESYSGOOD)

    # --------------------------------------------------------------------------- stopping

    def stop(self, patience_s: float) -> None:
        """Stop it, wherever it is.

        Raises:
            NotInTime: it sleeps where nothing wakes it; it will stop and go on by itself.
            ThreadGone: it has ended.
        """
        _ptrace(_INTERRUPT, self.tid)
        self._wait_for_event(time.monotonic() + patience_s)

    def let_go(self) -> None:
        """Let it run on, untraced."""
        if self._stopped:
            self._stopped = False
            _ptrace(_DETACH, self.tid, 0, self._pending_signal)

    def _wait_for_event(self, deadline: float) -> None:
        """Wait for the stop that was asked for; signals that come first are handed on."""
        while True:
            number, event = self._wait(deadline)
            if event == _EVENT_STOP:
                return
            self._resume(_CONT, 0 if number == _SYSCALL_STOP else number)

    def _wait(self, deadline: float) -> tuple[int, int]:
        """Wait for any stop; return its signal and ptrace event."""
        spins, pause = 64, 50e-6
        while True:
            try:
                pid, status = os.waitpid(self.tid, os.WNOHANG | _WALL)
            except ChildProcessError:
                raise ThreadGone from None
            if pid:
                break
            if time.monotonic() > deadline:
                raise NotInTime
            spins -= 1  # it answers within microseconds as a rule, and stands still until seen
            time.sleep(0 if spins > 0 else pause)
            pause = pause if spins > 0 else min(2 * pause, 200e-6)
        if not os.WIFSTOPPED(status):
            raise ThreadGone
        self._stopped = True
        return os.WSTOPSIG(status), status >> 16

    def _resume(self, how: int, number: int = 0) -> None:
        self._stopped = False
        _ptrace(how, self.tid, 0, number)

    # -------------------------------------------------------------------------- registers

    def registers(self) -> Registers:
        """Its general registers."""
        return Registers.from_bytes(self._get(_NT_PRSTATUS, SIZE))

    def set_registers(self, registers: Registers) -> None:
        """Change them."""
        self._set(_NT_PRSTATUS, registers.to_bytes())

    def vector_state(self) -> bytes:
        """All other registers: floating point, SSE, AVX, AMX."""
        return self._get(_NT_XSTATE, _XSTATE_ROOM)

    def set_vector_state(self, state: bytes) -> None:
        """Change them."""
        self._set(_NT_XSTATE, state)

    def _get(self, kind: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        piece = _Piece(ctypes.addressof(buffer), size)
        _ptrace(_GETREGSET, self.tid, kind, ctypes.addressof(piece))
        return buffer.raw[: piece.size]

    def _set(self, kind: int, data: bytes) -> None:
        buffer = ctypes.create_string_buffer(data, len(data))
        piece = _Piece(ctypes.addressof(buffer), len(data))
        _ptrace(_SETREGSET, self.tid, kind, ctypes.addressof(piece))

    def block_signals(self) -> int:
        """Block all signals but those of faults; return the mask to put back."""
        mask = ctypes.c_uint64()
        _ptrace(_GETSIGMASK, self.tid, _MASK_BYTES, ctypes.addressof(mask))
        blocked = _ALL_SIGNALS
        for number in _NOT_BLOCKED:
            blocked &= ~(1 << number - 1)
        self.set_signal_mask(blocked)
        return mask.value

    def set_signal_mask(self, mask: int) -> None:
        """Set which signals are blocked."""
        value = ctypes.c_uint64(mask)
        _ptrace(_SETSIGMASK, self.tid, _MASK_BYTES, ctypes.addressof(value))

    # ---------------------------------------------------------------------------- running

    def system_call(self, base: Registers, gadget: int, deadline: float, *numbers: int) -> int:
        """Make it do one system call; return the result as the kernel gives it.

        Args:
            base: registers that the call starts from.
            gadget: address of a ``syscall`` instruction.
            deadline: monotonic time.
            *numbers: of the call, and its arguments.
        """
        names = ("rax", "rdi", "rsi", "rdx", "r10", "r8", "r9")
        registers = base.calling(rip=gadget)
        registers.update(zip(names, numbers, strict=False))
        self.set_registers(registers)
        self._run_to_syscall(deadline, lambda _: True)
        self._run_to_syscall(deadline, lambda _: True)
        return self.registers()["rax"]

    def call(
        self,
        base: Registers,
        gadget: int,
        stack: int,
        deadline: float,
        function: tuple[int, ...],
        then: tuple[int, ...],
    ) -> int:
        """Make it call a function, then do one system call; return what the function returned.

        The function returns to ``gadget``, where the kernel stops the thread at the entry of
        a system call, which becomes ``then``. After that the thread is stopped in such a way
        that the kernel restarts a call that the thread slept in before, once its registers say
        so again.

        Args:
            base: registers that the call starts from.
            gadget: address of a ``syscall`` instruction.
            stack: address that holds ``gadget``, 8 below a multiple of 16, room below it.
            deadline: monotonic time.
            function: its address and at most six arguments.
            then: number of the system call and its arguments.

        Raises:
            Faulted: it ended in a fault.
            NotInTime: it did not return in time.
        """
        names = ("rip", "rdi", "rsi", "rdx", "rcx", "r8", "r9")
        registers = base.calling(rsp=stack)
        registers.update(zip(names, function, strict=False))
        self.set_registers(registers)
        there = {"rip": gadget + 2, "rsp": stack + 8}
        self._run_to_syscall(
            deadline, lambda now: all(now[name] == value for name, value in there.items())
        )
        returned = self.registers()
        next_call = Registers(returned)
        next_call.update(zip(("orig_rax", "rdi", "rsi", "rdx"), then, strict=False))
        self.set_registers(next_call)
        _ptrace(_INTERRUPT, self.tid)  # heeded when that call is done
        self._resume(_CONT)
        self._wait_for_event(deadline)
        return returned["orig_rax"]

    def settle(self, deadline: float) -> None:
        """After :meth:`system_call`: bring it to a stop as :meth:`call` leaves it in."""
        _ptrace(_INTERRUPT, self.tid)
        self._resume(_CONT)
        self._wait_for_event(deadline)

    def _run_to_syscall(self, deadline: float, arrived: Callable[[Registers], bool]) -> None:
        """Run on to the entry or exit of a system call where ``arrived`` holds."""
        while True:
            self._resume(_SYSCALL)
            while True:
                number, event = self._wait(deadline)
                if number == _SYSCALL_STOP or event == _EVENT_STOP:
                    break
                if number not in _NOT_BLOCKED:  # SIGSTOP; it is handed on in the end
                    self._pending_signal = number
                raise Faulted(f"signal {number} at {self.registers()['rip']:#x}")
            if number == _SYSCALL_STOP and arrived(self.registers()):
                return


def _ptrace(request: int, tid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, tid, address, data) == -1:
        number = ctypes.get_errno()
        if number == errno.ESRCH:
            raise ThreadGone
        raise OSError(number, os.strerror(number))
