"""How long the GPU worked for a frame and stood idle, on its own time line.

A CUDA event is recorded before and after each span that runs on the GPU, on the current stream.
The pairs of a frame are read one or two frames later, only when all of them have happened, and
never while the current stream is being captured. Nothing here synchronises. Events are pooled.

What lies between pairs counts as idle. Where it cannot be told (pairs of another request stood
in between, or another device), nothing is sent for that frame.
"""

# ruff: noqa: SLF001 (torch offers it in no other way)

from __future__ import annotations

from itertools import count
from time import monotonic_ns

from . import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from .context import ThreadContext
    from .outlet import Outlet
    from .requests import Request

    # the thread's work, the request's, the pair, whether it is lengthened; made by ``begin``
    Token = Tuple["ThreadWork", "RequestWork", Optional["Pair"], bool]

MOST_PAIRS = 8
"""Pairs of one frame; later spans lengthen the last one, so that idle time is never overstated."""

COST_SHARE = 0.01
"""Recording may take this share of the time; where it would take more, frames are left out."""

_MOST_WAITING = 64
_READ_AT_ONCE = 2
_POOL = 256

_serials = count()
_pools: Dict[int, List[Any]] = {}


class Pair:
    """Two CUDA events around one span's work. ``serial`` orders the pairs of the process."""

    __slots__ = ("by", "device", "end", "serial", "start")

    def __init__(self, by: ThreadWork, device: int, start: Any, end: Any) -> None:
        self.by: ThreadWork = by
        self.device: int = device
        self.start: Any = start
        self.end: Any = end
        self.serial: int = next(_serials)


class ThreadWork:
    """What one thread has recorded and not read yet."""

    __slots__ = ("depth", "waiting")

    def __init__(self) -> None:
        self.depth: int = 0
        self.waiting: List[Emit] = []


class RequestWork:
    """What one request has recorded since its last emit.

    ``last``: the last pair before it, from whose end idle time counts. ``resting``: this frame
    is left out, to keep the cost down.
    """

    __slots__ = ("cost_ns", "last", "pairs", "resting", "since_ns", "torch")

    def __init__(self, torch: Any) -> None:
        self.torch: Any = torch
        self.pairs: List[Pair] = []
        self.last: Optional[Pair] = None
        self.resting: bool = False
        self.cost_ns: int = 0
        self.since_ns: int = 0


class Emit:
    """The pairs of one emit, until they can be read."""

    __slots__ = ("before", "emit", "pairs", "request", "t_ns")

    def __init__(
        self, request: int, emit: int, t_ns: int, pairs: List[Pair], before: Optional[Pair]
    ) -> None:
        self.request: int = request
        self.emit: int = emit
        self.t_ns: int = t_ns
        self.pairs: List[Pair] = pairs
        self.before: Optional[Pair] = before

    def is_over(self) -> bool:
        """Whether the GPU has passed all of its events."""
        return all(pair.end.query() for pair in self.pairs)

    def is_of_one_line(self) -> bool:
        """Whether nothing else was recorded in between, and all on one device."""
        first, last = self.before or self.pairs[0], self.pairs[-1]
        between = len(self.pairs) - (self.before is None)
        return last.serial - first.serial == between and all(
            pair.device == first.device for pair in self.pairs
        )

    def times(self) -> Tuple[int, int]:
        """Busy and idle time, ns: the pairs' union, and what lies between."""
        origin = self.pairs[0].start if self.before is None else self.before.end
        lines = sorted(
            (origin.elapsed_time(pair.start), origin.elapsed_time(pair.end)) for pair in self.pairs
        )
        busy = idle = at = 0.0
        for start, end in lines:
            if start > at:
                idle += start - at
                at = start
            if end > at:
                busy += end - at
                at = end
        return int(busy * 1e6), int(idle * 1e6)

    def release(self) -> None:
        """Give the events back that no later emit needs."""
        for pair in self.pairs:
            _give_back(pair.device, pair.start)
            if pair is not self.pairs[-1]:
                _give_back(pair.device, pair.end)
        if self.before is not None:
            _give_back(self.before.device, self.before.end)


def begin(out: Outlet, torch: Any, thread: ThreadContext, request: Request) -> Token:
    """Record the first event of a pair, and read what has become ready meanwhile."""
    work = thread.gpu
    if work is None:
        work = thread.gpu = ThreadWork()
    mine = request.gpu
    if mine is None:
        mine = request.gpu = RequestWork(torch)
    work.depth += 1
    if work.depth > 1 or mine.resting:
        return (work, mine, None, False)
    if work.waiting:
        collect(out, work)
    if len(mine.pairs) >= MOST_PAIRS:
        return (work, mine, mine.pairs[-1], True)
    began_ns = monotonic_ns()
    device = torch._C._cuda_getDevice()
    pair = Pair(work, device, _take(torch, device), _take(torch, device))
    pair.start.record()
    mine.cost_ns += monotonic_ns() - began_ns
    return (work, mine, pair, False)


def end(token: Token, may_record: bool) -> None:
    """Record the second event; the token is what :func:`begin` returned."""
    work, mine, pair, lengthened = token
    work.depth -= 1
    if pair is None or not may_record:
        return
    began_ns = monotonic_ns()
    if not lengthened:
        pair.end.record()
        mine.pairs.append(pair)
    elif mine.pairs and mine.pairs[-1] is pair:  # else its frame was emitted meanwhile
        pair.end.record()
    mine.cost_ns += monotonic_ns() - began_ns


def at_emit(out: Outlet, request: Request, emit: int, t_ns: int) -> None:
    """Close the frame's pairs, and read what has become ready."""
    mine = request.gpu
    if mine is None:
        return
    work = out.thread().gpu
    if work is not None and work.waiting:
        collect(out, work)
    pairs, mine.pairs = mine.pairs, []
    if pairs:
        waiting = pairs[-1].by.waiting
        waiting.append(Emit(request.number, emit, t_ns, pairs, mine.last))
        if len(waiting) > _MOST_WAITING:
            del waiting[0]
        mine.last = pairs[-1]
    affordable_ns = mine.since_ns + int(mine.cost_ns / COST_SHARE)
    mine.resting = t_ns < affordable_ns
    if mine.resting:
        mine.last = None  # what is not measured must not look idle
    else:
        mine.since_ns, mine.cost_ns = t_ns, 0
        if mine.last is None:
            mine.last = _mark(mine.torch, work or ThreadWork())


def _mark(torch: Any, work: ThreadWork) -> Pair:
    """An event alone, after frames that were left out: idle time counts from here."""
    device = torch._C._cuda_getDevice()
    event = _take(torch, device)
    event.record()
    return Pair(work, device, event, event)


def collect(out: Outlet, work: ThreadWork) -> None:
    """Send what the GPU has finished of this thread's emits, a few at a time."""
    for _ in range(_READ_AT_ONCE):
        if not work.waiting or not work.waiting[0].is_over():
            return
        done = work.waiting.pop(0)
        if done.is_of_one_line():
            busy_ns, idle_ns = done.times()
            out.event_of_before(
                pack.GPU_WORK_LAYOUT, done.t_ns, done.request, done.emit, busy_ns, idle_ns,
                len(done.pairs),
            )  # fmt: skip
        done.release()


def _take(torch: Any, device: int) -> Any:
    pool = _pools.get(device)
    if pool:
        return pool.pop()
    return torch.cuda.Event(enable_timing=True)


def _give_back(device: int, event: Any) -> None:
    pool = _pools.setdefault(device, [])
    if len(pool) < _POOL:
        pool.append(event)


def forget() -> None:
    """In a forked child: the events were the parent's."""
    _pools.clear()
