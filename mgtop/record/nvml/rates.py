"""How often each figure of a GPU is read, and what it may cost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mgtop.record.sampler import MS
from mgtop.record.schedule import Reading


@dataclass(frozen=True)
class Rate:
    """One figure's rate.

    Attributes:
        wanted_ns: its period on a GPU that the target uses.
        share: the share of the time that it may take, all such GPUs together.
        rest_ns: its period on a GPU that the target does not use.
    """

    wanted_ns: int
    share: float
    rest_ns: int


RATES = {
    # 20 ms: a drop that lasts 25 ms is seen, and 100 Hz would cost twice as much.
    "memory": Rate(20 * MS, 0.008, 1_000 * MS),
    "utilisation": Rate(200 * MS, 0.001, 1_000 * MS),
    # The driver's own samples speak of 200 ms each and cost one call a second. GPM resolves
    # no finer (it answers 0 below 100 ms) and costs 1.5 ms for each, so it is for where the
    # samples cannot be had: MIG instances.
    "ring": Rate(1_000 * MS, 0.0015, 60_000 * MS),
    "gpm": Rate(200 * MS, 0.005, 1_000 * MS),
    "state": Rate(500 * MS, 0.0005, 1_000 * MS),
    "throttle": Rate(1_000 * MS, 0.001, 10_000 * MS),
    "ecc": Rate(10_000 * MS, 0.001, 60_000 * MS),
    "processes": Rate(100 * MS, 0.001, 1_000 * MS),
    # 2 ms a call, made only while another process shares the target's GPU.
    "process_work": Rate(1_000 * MS, 0.002, 60_000 * MS),
    "graphics": Rate(5_000 * MS, 0.001, 10_000 * MS),
}
"""The shares are 1.3 % all told, 1.6 % with ``gpm`` instead of ``ring``, and 0.2 % more beside a
neighbour (``ecc`` and ``graphics`` are too rare to reach theirs); docs/gpu.md has the
measurements behind them."""


def spread(readings: Sequence[Reading], used: Collection[int]) -> None:
    """Set periods and shares: quick on the GPUs in ``used``, at rest on the others.

    Several GPUs share what one may cost, so that a machine with eight of them does not
    spend eight times as long inside the driver.
    """
    gpus = {reading.gpu for reading in readings}
    for reading in readings:
        rate = RATES[reading.name]
        if reading.gpu in used:
            if reading.wanted_ns > rate.wanted_ns and reading.lost is None:
                reading.due_ns = 0  # now, and not when it would have been due at rest
            reading.wanted_ns, reading.share = rate.wanted_ns, rate.share / len(used)
        else:
            reading.wanted_ns, reading.share = rate.rest_ns, rate.share / len(gpus)
