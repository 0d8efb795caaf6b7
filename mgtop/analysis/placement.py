"""Where the tails stand: that is evidence of its own.

The same index in every request, or a fixed period, points to per-frame work or allocation;
random places to CPU supply and scheduling; only the start to warm-up. Each test asks how
likely the pattern would be if the tails stood at random, corrected for everything it tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from mgtop.analysis.summary import Placement

FALSE_ALARMS = 0.01
"""Random places are called a pattern at most this often; a third of it for each test."""
FEWEST_TAILS = 5
FEWEST_REQUESTS = 3
LONGEST_PERIOD = 240
MOST_TAILS = 2000
"""Of more, the newest are tested."""
FILLED = 0.6
"""A period must be there most of the time: this share of its places are tails."""
START_SHARE = 0.1


class Place(msgspec.Struct, frozen=True):
    """One tail: its request (ordinal in the session), emit and frame index."""

    request: int
    emit: int
    index: int


def place(tails: Sequence[Place], emits: dict[int, int], warmup_tails: int = 0) -> Placement:
    """Which pattern the tails show.

    Args:
        tails: the counted tails.
        emits: emits of each request in the statistics, by its ordinal.
        warmup_tails: tails in the warm-up, which are not among ``tails``.
    """
    if not tails and warmup_tails:
        return Placement(kind="start")
    if len(tails) < FEWEST_TAILS:
        return Placement()
    tails = tails[-MOST_TAILS:]
    tested = FALSE_ALARMS / 3
    found: list[tuple[float, Placement]] = []
    lowest = 1.0
    for kind, test in (("fixed", _fixed), ("periodic", _periodic), ("start", _start)):
        p_value, detail = test(tails, emits)
        lowest = min(lowest, p_value)
        if p_value <= tested:
            index = detail if kind == "fixed" else None
            period = detail if kind == "periodic" else None
            placement = Placement(kind=kind, index=index, period=period, p_value=p_value)  # type: ignore[arg-type]
            found.append((p_value, placement))
    if found:
        return min(found, key=lambda item: item[0])[1]
    return Placement(kind="random", p_value=lowest)


def _fixed(tails: Sequence[Place], emits: dict[int, int]) -> tuple[float, int | None]:
    """One frame index that is a tail in most requests."""
    by_request: dict[int, set[int]] = {}
    for tail in tails:
        by_request.setdefault(tail.request, set()).add(tail.index)
    requests = [number for number, count in emits.items() if count]
    if len(requests) < FEWEST_REQUESTS or len(by_request) < FEWEST_REQUESTS:
        return 1.0, None
    hits = Counter(index for indices in by_request.values() for index in indices)
    index, count = max(hits.items(), key=lambda item: (item[1], -item[0]))
    if count < FILLED * len(requests):
        return 1.0, None
    total = sum(emits[number] for number in requests)
    rate = min(1.0, len(tails) / total)
    places = max(emits[number] for number in requests)
    return min(1.0, places * at_least(count, len(requests), rate)), index


def _periodic(tails: Sequence[Place], emits: dict[int, int]) -> tuple[float, int | None]:
    """A distance in emits at which the tails of a request come again and again."""
    by_request: dict[int, list[int]] = {}
    for tail in tails:
        by_request.setdefault(tail.request, []).append(tail.emit)
    number, places = max(by_request.items(), key=lambda item: len(item[1]))
    if len(places) < FEWEST_TAILS:
        return 1.0, None
    first, last = min(places), max(places)
    rate = min(1.0, len(places) / max(1, emits.get(number, last + 1)))
    longest = min(LONGEST_PERIOD, (last - first) // (FEWEST_TAILS - 1))
    best: tuple[float, int | None] = (1.0, None)
    tried = sum(range(2, longest + 1))  # every phase of every period
    for period in range(2, longest + 1):
        phases = Counter(place % period for place in places)
        phase, hits = max(phases.items(), key=lambda item: item[1])
        mine = [place for place in places if place % period == phase]
        slots = (max(mine) - min(mine)) // period + 1
        if hits < FILLED * slots or hits < FILLED * len(places):
            continue
        # Both must be surprising: that the slots are filled, and that the tails share a phase.
        filled = at_least(hits, slots, rate)
        together = at_least(hits, len(places), 1 / period)
        p_value = min(1.0, tried * max(filled, together))
        if p_value < best[0]:
            best = (p_value, period)
    return best


def _start(tails: Sequence[Place], emits: dict[int, int]) -> tuple[float, int | None]:
    """Most tails in the first tenth of their requests."""
    early = total = 0
    for tail in tails:
        length = emits.get(tail.request, 0)
        if length:
            total += 1
            early += tail.emit < START_SHARE * length
    if total < FEWEST_TAILS or early < 0.8 * total:
        return 1.0, None
    return at_least(early, total, START_SHARE), None


def at_least(k: int, n: int, p: float) -> float:
    """P(X ≥ k) of a binomial X with n trials of probability p; exact."""
    if k <= 0:
        return 1.0
    if p <= 0.0 or k > n:
        return 0.0
    if p >= 1.0:
        return 1.0
    log_p, log_q = math.log(p), math.log1p(-p)
    head = math.lgamma(n + 1)
    return min(
        1.0,
        math.fsum(
            math.exp(
                head - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q
            )
            for i in range(k, n + 1)
        ),
    )
