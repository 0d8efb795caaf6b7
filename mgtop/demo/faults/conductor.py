"""Lets faults strike where they were ordered to, measures them, and writes the truth down."""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic_ns

from mgtop.demo.blocks import Blocks
from mgtop.demo.errors import DemoError
from mgtop.demo.faults.compilation import Recompilation
from mgtop.demo.faults.fault import Fault, Place, Scene
from mgtop.demo.faults.on_cpu import (
    Collection,
    ExpensiveResize,
    Leak,
    MoreSteps,
    SlowOutput,
    Stall,
    Starvation,
)
from mgtop.demo.faults.orders import Order
from mgtop.demo.faults.reclaim import Reclaim
from mgtop.demo.faults.schedule import Schedule
from mgtop.demo.generator import Generator
from mgtop.demo.truth import Strike, Truth

CLASSES: dict[str, type[Fault]] = {
    "stall": Stall,
    "cpu": ExpensiveResize,
    "gc": Collection,
    "output": SlowOutput,
    "compute": MoreSteps,
    "queue": Starvation,
    "leak": Leak,
    "vram": Reclaim,
    "compile": Recompilation,
}

LEAST_MS = 120.0
USUAL_INTERVALS = 2.0
"""A strike without ``ms`` lasts so many usual intervals, and ``LEAST_MS`` at least."""

SPARED = 3
"""Random strikes spare so many first emits of a request, which no statistic counts."""

APART = 4
"""Random strikes lie so many emits apart at least, so that each stands alone."""


@dataclass
class _Ordered:
    fault: Fault
    schedule: Schedule
    lead: int


class Conductor:
    """All ordered faults of one run. Its streams may run in several threads."""

    def __init__(self, orders: Sequence[Order], truth: Truth) -> None:
        self._orders = orders
        self._truth = truth
        self._faults: list[_Ordered] = []
        self._lock = threading.Lock()
        self._next_emit = 0
        self._last_random = -APART
        self._usual_ns: deque[int] = deque(maxlen=32)

    def prepare(self, generator: Generator, capacity: int, block: int, seed: int) -> None:
        """Make every fault ready.

        Args:
            generator: the loaded model.
            capacity: of the prefetch queue, frames.
            block: frames of an emit.
            seed: of the random times.

        Raises:
            DemoError: one cannot be had here.
        """
        for order in self._orders:
            if order.kind.needs_cuda and generator.device.type != "cuda":
                raise DemoError(f"--fault {order.name}: it needs --device cuda.")
            fault = CLASSES[order.name](order)
            fault.prepare(generator)
            schedule = Schedule(order, seed, monotonic_ns())
            self._faults.append(_Ordered(fault, schedule, fault.lead(capacity, block)))

    def settle(self) -> None:
        """The run is about to begin."""
        for ordered in self._faults:
            ordered.fault.settle()

    def watch(self, request: str, blocks: Blocks, emits: int) -> Watch:
        """Begin a request of ``emits`` emits."""
        return Watch(self, request, blocks, emits)

    def plan(
        self, emit: int, emits: int, armed: set[tuple[int, int]], scene: Scene, blocks: Blocks
    ) -> tuple[int, list[Fault]]:
        """Number the next emit, and tell which faults strike it.

        Args:
            emit: its number in the request.
            emits: of the request.
            armed: strikes of this request that were prepared for; more are put in.
            scene: the request's.
            blocks: sizes of its blocks.

        Returns:
            The emit's number in the run, and the faults.
        """
        with self._lock:
            number = self._next_emit
            self._next_emit += 1
            for place, ordered in enumerate(self._faults):
                self._give_random(ordered, number, emit, emits)
                for ahead in range(min(ordered.lead, emits - 1 - emit) + 1):
                    key = (place, number + ahead)
                    if key not in armed and ordered.schedule.strikes(number + ahead):
                        armed.add(key)
                        ordered.fault.arm(scene.prefetch, blocks.first_frame_of(emit + ahead))
            return number, [o.fault for o in self._faults if o.schedule.strikes(number)]

    def _give_random(self, ordered: _Ordered, number: int, emit: int, emits: int) -> None:
        """Where a random time has come, let it strike the first emit that it suits."""
        now_ns = monotonic_ns()
        if not ordered.schedule.is_due(now_ns):
            return
        struck = number + ordered.lead
        if SPARED <= emit + ordered.lead < emits and struck - self._last_random >= APART:
            self._last_random = struck
            ordered.schedule.give(struck, now_ns)

    def wanted_ms(self, order: Order) -> float:
        """How long a strike is to last."""
        if order.ms is not None:
            return order.ms
        with self._lock:
            usual_ms = statistics.median(self._usual_ns or (LEAST_MS * 1e6,)) / 1e6
        return max(LEAST_MS, USUAL_INTERVALS * usual_ms)

    def note(self, interval_ns: int | None, strikes: Sequence[Strike]) -> None:
        """An emit is over: keep its interval if nothing struck it, else the truth about it."""
        with self._lock:
            if interval_ns is not None and not strikes:
                self._usual_ns.append(interval_ns)
            for strike in strikes:
                self._truth.write(strike)


class Watch:
    """One request's view of the faults."""

    def __init__(self, conductor: Conductor, request: str, blocks: Blocks, emits: int) -> None:
        self._conductor = conductor
        self._request = request
        self._blocks = blocks
        self._emits = emits
        self._armed: set[tuple[int, int]] = set()
        self._emit = -1
        self._number = -1
        self._due: list[Fault] = []
        self._strikes: list[Strike] = []
        self._last_ns: int | None = None

    def begin(self, emit: int, scene: Scene) -> None:
        """Work on emit number ``emit`` of the request begins."""
        self._emit = emit
        self._scene = scene
        self._number, self._due = self._conductor.plan(
            emit, self._emits, self._armed, scene, self._blocks
        )

    def at(self, place: Place) -> None:
        """Work has come to this place: whatever is ordered here strikes."""
        for fault in self._due:
            if fault.place == place:
                self._strike(fault)

    def _strike(self, fault: Fault) -> None:
        order = fault.order
        ms = self._conductor.wanted_ms(order)
        begin_ns = monotonic_ns()
        kept = fault.strike(ms, self._scene)
        end_ns = monotonic_ns()
        self._strikes.append(
            Strike(
                fault=order.name,
                cause=order.kind.cause,
                request=self._request,
                emit=self._emit,
                index=self._blocks.first_frame_of(self._emit),
                run_emit=self._number,
                t_begin_ns=begin_ns,
                t_end_ns=end_ns,
                injected_ms=(end_ns - begin_ns) / 1e6,
                bytes=kept,
            )
        )

    def emitted(self) -> None:
        """The block was emitted."""
        now_ns = monotonic_ns()
        interval_ns = None if self._last_ns is None else now_ns - self._last_ns
        self._last_ns = now_ns
        self._conductor.note(interval_ns, self._strikes)
        self._strikes = []
