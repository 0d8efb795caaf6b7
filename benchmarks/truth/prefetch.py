"""Input prepared ahead by a thread of its own; it can pause, or decode for too long."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from benchmarks.truth.plan import Order, Plan
from mgtop import probe

CAPACITY = 4

Wait = tuple[str, int, int]
"""A fault, and when the consumer's waiting for it began and ended."""


class Prefetch:
    """A queue of inputs, one for each emit, in order.

    A planned ``queue`` or ``late_decode`` strikes once the consumer has drained the queue and
    waits: so long a wait is what the program really suffers, however far the thread ran ahead.

    Args:
        plan: whose ``queue`` and ``late_decode`` orders strike here.
        decode: does the usual work of one input.
        decoding: runs the decoding of the input for an emit, as a part of the work by name.
        name: of the queue, as reported.
        tells: whether the queue is reported to the probe.
    """

    def __init__(
        self,
        plan: Plan,
        decode: Callable[[], None],
        decoding: Callable[[int, Callable[[], None]], None],
        name: str,
        tells: bool,
    ) -> None:
        self._plan, self._decode, self._decoding = plan, decode, decoding
        self._name, self._tells = name, tells
        self._items: deque[int] = deque()
        self._changed = threading.Condition()
        self._waiting = self._closed = False
        self._thread = threading.Thread(target=self._fill, name=f"{name}-thread", daemon=True)

    def take(self, emit: int) -> Wait | None:
        """The input of an emit; the wait, where a fault was planned here for it."""
        planned = [f for f in ("queue", "late_decode") if f in self._plan.at(emit)]
        began_ns = 0
        with self._changed:
            while not self._items:
                began_ns = began_ns or time.monotonic_ns()
                self._waiting = True
                self._changed.notify_all()
                self._changed.wait()
            self._waiting = False
            ended_ns = time.monotonic_ns()
            self._items.popleft()
            self._tell()
            self._changed.notify_all()
        return (planned[0], began_ns, ended_ns) if planned and began_ns else None

    def _fill(self) -> None:
        emit = 0
        while not self._closed:
            orders = self._plan.at(emit)
            if "queue" in orders:
                self._pause(orders["queue"].ms)
            late = orders.get("late_decode")
            self._decoding(emit, lambda late=late: self._decode_one(late))  # type: ignore[misc]
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._items) < CAPACITY)
                self._items.append(emit)
                self._tell()
                self._changed.notify_all()
            emit += 1

    def _decode_one(self, late: Order | None) -> None:
        self._decode()
        if late is not None:
            self._pause(late.ms)

    def _pause(self, ms: float) -> None:
        """Wait until the consumer waits, and then for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._waiting and not self._items))
        time.sleep(ms / 1e3)

    def _tell(self) -> None:
        if self._tells:
            probe.queue(self._name, len(self._items), CAPACITY)

    def __enter__(self) -> Prefetch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
