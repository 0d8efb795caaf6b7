"""The one way out of this process: who we are, sequence numbers, and the probe's own account.

An :class:`Outlet` is made at the first event and anew after a fork. There is no lock: sequence
numbers come from ``itertools.count``, whose ``next`` is atomic, and one ``write`` is one message.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import _local
from itertools import count
from time import monotonic_ns

from . import gc_clock, names, pack
from .context import ThreadContext, forget_files
from .transport import Unusable, open_fifo
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from .pack import Layout

SWITCH_VARIABLE = "MGTOP_PROBE"
"""``off``: the probe does nothing. ``raise``: it lets its own errors out (to debug the probe)."""

SECOND = 1_000_000_000
TIMED = 61
"""One call in so many is timed; a prime, so that no frame loop keeps step with it."""

ASK = ".ask"
"""A question lies beside the FIFO, under its name with this at the end."""

_TIMED_ONE = 7  # not one of the first, which open the outlet

_NAMES_AT_ONCE = 64


class Outlet:
    """The open channel of one process. ``proc`` names the process for good."""

    __slots__ = ("_ask", "_fd", "_fifo", "_local", "_next_tick", "_usual_ns", "_write", "cost_ns",
                 "dropped", "fifo_path", "next_seq", "pid", "proc")  # fmt: skip

    def __init__(self) -> None:
        self.pid: int = os.getpid()
        self.proc: int = start_ticks() << 22 | self.pid
        self._fifo = open_fifo()
        self._fd = self._fifo.fd
        self.fifo_path: str = self._fifo.path
        self._ask = os.fsencode(self.fifo_path + ASK)
        self._write = self._fifo.calls.write
        self._local = _local()
        self._next_tick = 0
        self.next_seq: Callable[[], int] = count().__next__
        self.dropped: int = 0
        self.cost_ns: int = 0
        self._usual_ns = 5_000

    def took(self, ns: int) -> None:
        """Account for a timed call, which stands for :data:`TIMED` of them.

        One that took far longer than usual (the first of its kind, or a thread that lost its
        core meanwhile) stands for itself alone: multiplied, it would be most of the account.
        """
        usual = self._usual_ns
        if ns > 8 * usual:
            self.cost_ns += ns
            self._usual_ns = usual + (usual >> 2)
        else:
            self.cost_ns += TIMED * ns
            self._usual_ns = max(500, usual + ((ns - usual) >> 3))

    def is_asked(self) -> bool:
        """Whether somebody has put a question beside the FIFO."""
        return self._fifo.calls.access(self._ask, 0) == 0

    def thread(self) -> ThreadContext:
        """The calling thread's readings."""
        try:
            found: ThreadContext = self._local.context
        except AttributeError:
            found = self._local.context = ThreadContext(self.proc, self._fifo.calls)
        return found

    def put(self, message: bytes, t_ns: int, seq: int) -> None:
        """Write a message whose call began at ``t_ns``; drop and count it if there is no room."""
        if self._write(self._fd, message, len(message)) < 0 and not self._fifo.write_when_full(
            message
        ):
            self.dropped += 1
        if seq % TIMED == _TIMED_ONE:
            self.took(monotonic_ns() - t_ns)
        if t_ns >= self._next_tick:
            self.tick(t_ns)

    def event(self, layout: Layout, t_ns: int, *values: int) -> None:
        """Send an event of fixed width, of this moment."""
        seq = self.next_seq()
        self.put(layout.pack(self.thread().who, t_ns, seq, *values), t_ns, seq)

    def message(self, tag: int, t_ns: int, *fields: Any) -> None:
        """Send an event with texts or parameters, of this moment."""
        seq = self.next_seq()
        self.put(pack.message(tag, self.thread().who, t_ns, seq, *fields), t_ns, seq)

    def event_of_before(self, layout: Layout, t_ns: int, *values: int) -> None:
        """Send an event of fixed width; the time since then was not spent here."""
        seq, began_ns = self.next_seq(), monotonic_ns()
        self.put(layout.pack(self.thread().who, t_ns, seq, *values), began_ns, seq)

    def message_of_before(self, tag: int, t_ns: int, *fields: Any) -> None:
        """Send an event with texts or parameters; the time since then was not spent here."""
        seq, began_ns = self.next_seq(), monotonic_ns()
        self.put(pack.message(tag, self.thread().who, t_ns, seq, *fields), began_ns, seq)

    def tick(self, t_ns: int) -> None:
        """About once a second of activity: say who we are, and account for ourselves."""
        self._next_tick = monotonic_ns() + SECOND
        if os.getpid() != self.pid:
            after_fork()  # by a fork that Python did not see
            return
        if not self._fifo.is_intact():
            try:
                self._fifo.reopen()
            except Unusable:
                return
            self._fd = self._fifo.fd
        self.message(pack.HELLO, monotonic_ns(), *self._hello())
        for number in list(names.announced)[-_NAMES_AT_ONCE:]:
            self.message(pack.NAME, monotonic_ns(), number, names.announced[number])
        for told in list(opened.values())[-_REQUESTS_AT_ONCE:]:
            self.message_of_before(pack.REQUEST_RECEIVED, *told)
        self.pulse()

    def pulse(self) -> None:
        """Send the probe's own account."""
        seq, t_ns = self.next_seq(), monotonic_ns()
        self.put(self._account(t_ns, seq), t_ns, seq)

    def _account(self, t_ns: int, seq: int) -> bytes:
        who = self.thread().who
        return pack.PULSE_LAYOUT.pack(who, t_ns, seq, self.dropped, self.cost_ns, seq + 1)

    def _hello(self) -> Tuple[Any, ...]:
        torch = sys.modules.get("torch")
        argv = getattr(sys, "argv", None) or [""]
        return (
            VERSION,
            "%d.%d.%d" % sys.version_info[:3],
            None if torch is None else _text_or_none(getattr(torch, "__version__", None)),
            _rank(),
            0,
            pack.clip(str(argv[0]), 256),
            self._fifo.calls.keeps_gil,
        )

    def number_of(self, name: str, t_ns: int) -> int:
        """The small number of a span's or queue's name; announces a new one."""
        number = names.numbers.get(name)
        if number is None:
            name = pack.clip(str(name), 200)
            number = names.give_number(name)
            if number:
                self.message(pack.NAME, t_ns, number, name)
        return number

    def leave(self) -> None:
        """The process ends: a last account, and the FIFO's name goes."""
        if os.getpid() == self.pid:
            self._fifo.write_last(self._account(monotonic_ns(), self.next_seq()))
            self._fifo.remove()

    def abandon(self) -> None:
        """Another process's outlet, inherited by a fork, or one made twice: let it go."""
        self._fifo.close()


current: Optional[Outlet] = None
"""The open outlet; None before the first event, and where the probe is off or has no FIFO."""

_made: Dict[int, Outlet] = {}
_silent = False
_hooked = False
raises: bool = os.environ.get(SWITCH_VARIABLE) == "raise"


def start() -> Optional[Outlet]:
    """Open the outlet at the first event; None where there is none to have. Never raises."""
    global current, _silent
    if _silent or current is not None:
        return current
    if os.environ.get(SWITCH_VARIABLE, "").lower() in ("off", "0", "no", "false"):
        _silent = True
        return None
    try:
        made = Outlet()
        first = _made.setdefault(made.pid, made)
        if first is not made:  # another thread was faster
            made.abandon()
            return first
        current = made
        _hook_into_process()
        made.tick(monotonic_ns())
    except Exception:
        if current is None:
            _silent = True
        swallowed()
    return current


def swallowed() -> None:
    """Called where an error of the probe is caught: nothing of it reaches the program."""
    if raises:
        raise


def _hook_into_process() -> None:
    global _hooked
    if not _hooked:
        _hooked = True
        os.register_at_fork(after_in_child=after_fork)
        atexit.register(_at_exit)
        gc_clock.watch(_collected)


def _collected(t_ns: int, duration_ns: int, generation: int) -> None:
    """A garbage collection that took long has ended."""
    out = current
    if out is not None:
        out.event(pack.GARBAGE_COLLECTION_LAYOUT, t_ns, duration_ns, generation)


def _at_exit() -> None:
    try:
        if current is not None:
            current.leave()
    except Exception:
        swallowed()


def after_fork() -> None:
    """In a forked child: another process, which begins with its own first event."""
    global current, _silent
    try:
        if current is not None:
            current.abandon()
        current, _silent = None, False
        _made.clear()
        for forget in on_fork:
            forget()
    except Exception:
        swallowed()


opened: Dict[int, Tuple[Any, ...]] = {}
"""What was told of the requests that are open, by number: repeated with each Hello, with its old
time, since a reader that comes late must learn their parameters."""

_REQUESTS_AT_ONCE = 8
_MOST_OPENED = 64


def remember(told: Tuple[Any, ...]) -> None:
    """Keep what was told of a request (time, number, id, parameters, route) while it is open."""
    opened[told[1]] = told
    if len(opened) > _MOST_OPENED:
        del opened[next(iter(opened))]


on_fork: List[Callable[[], None]] = [forget_files]
"""What else a forked child has to forget."""


def start_ticks() -> int:
    """When this process started, in clock ticks since boot (``/proc/self/stat``, field 22)."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return monotonic_ns() // 10_000_000


def _rank() -> Optional[int]:
    try:
        return int(os.environ["RANK"])
    except (KeyError, ValueError):
        return None


def _text_or_none(value: object) -> Optional[str]:
    return None if value is None else pack.clip(str(value), 64)
