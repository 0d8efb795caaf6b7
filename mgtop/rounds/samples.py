"""A session as something to resample: figures of stretches of its emits, drawn anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from mgtop.analysis.statistics import quantile
from mgtop.rounds.bootstrap import SEED, median, moving_blocks, resampled
from mgtop.rounds.reading import Reading

MOST_EMITS = 20_000
"""Of longer sessions so many are resampled: their interval is a little wide, not too narrow."""
FEWEST_EMITS = 20
FEWEST_REQUESTS = 3
_QUANTILES = (("interval_ms.p50", 0.5), ("interval_ms.p95", 0.95), ("interval_ms.p99", 0.99))

Draws = dict[str, list[float]]


def draws_of(reading: Reading, causes: Sequence[str], seed: int = SEED) -> Draws:
    """Each figure of many resamples of a session; figures that cannot be resampled are left out.

    Args:
        reading: of the session.
        causes: those to count late frames of.
        seed: of the draws.
    """
    draws: Draws = {}
    if len(reading.emits) >= FEWEST_EMITS:
        draws.update(_Emits(reading, causes).draws(seed))
    draws.update(_playout_draws(reading, seed))
    first = [
        request.first_frame_ms
        for request in reading.summary.requests
        if not request.warmup and request.first_frame_ms is not None
    ]
    count = _resamples(len(reading.emits))
    if len(first) >= FEWEST_REQUESTS:
        draws["first_frame_ms.p50"] = resampled(first, median, count, seed)
    steady = thinned(reading.steady_mib)
    if len(steady) >= FEWEST_EMITS:
        draws["memory.steady_mib"] = [
            median([value for piece in pieces for value in steady[piece]])
            for pieces in moving_blocks(steady, min(count, 200), seed)
        ]
    return draws


def thinned(values: Sequence[float]) -> list[float]:
    """At most :data:`MOST_EMITS` of them, evenly spread."""
    step = math.ceil(len(values) / MOST_EMITS) or 1
    return list(values[::step])


def _resamples(count: int) -> int:
    return 600 if count <= 1_500 else 400 if count <= 6_000 else 200


class _Emits:
    """Emits of one session, with running sums, so that a stretch is summed at once."""

    def __init__(self, reading: Reading, causes: Sequence[str]) -> None:
        emits = reading.emits[-MOST_EMITS:]
        late = {
            (tail.proc, tail.request, tail.emit): (tail.cause or "", tail.excess_ms)
            for tail in reading.summary.tails.frames
        }
        found = [late.get(emit.key) for emit in emits]
        self.count = len(emits)
        self._frames = [emit.frames for emit in emits]
        self._ms = [emit.duration_ns / 1e6 for emit in emits]
        sizes = reading.summary.interval_ms_by_count
        commonest = max(sizes, key=lambda size: (sizes[size].count, int(size)))
        self._mixed = len(sizes) > 1
        self._block = int(commonest)
        self._time = _running(self._ms)
        self._made = _running(self._frames)
        self._late = _running([one is not None for one in found])
        self._lost = _running([one[1] if one else 0.0 for one in found])
        self._by_cause = {
            cause: _running([one is not None and one[0] == cause for one in found])
            for cause in causes
        }

    def draws(self, seed: int) -> Draws:
        """All figures of so many resamples as the number of emits allows."""
        names = [name for name, _ in _QUANTILES]
        names += ["frame_interval_ms.p50", "fps", "tails.per_1000", "tails.lost_ms_per_s"]
        names += [f"causes.{cause}.per_1000" for cause in self._by_cause]
        draws: Draws = {name: [] for name in names}
        rng = Random(seed + 1)
        for pieces in moving_blocks(self._ms, _resamples(self.count), seed):
            for name, value in self._figures(pieces, rng):
                draws[name].append(value)
        return {name: values for name, values in draws.items() if values}

    def _figures(self, pieces: Sequence[slice], rng: Random) -> Iterator[tuple[str, float]]:
        times = [value for piece in pieces for value in self._ms[piece]]
        if self._mixed:
            frames = (value for piece in pieces for value in self._frames[piece])
            pairs = list(zip(times, frames, strict=True))
            common = sorted(ms for ms, size in pairs if size == self._block)
            paced = sorted(ms / size for ms, size in pairs for _ in range(size))
        else:
            common = sorted(times)
            paced = []
        for name, q in _QUANTILES:
            if common:
                yield name, quantile(common, q)
        if paced or common:
            pace = quantile(paced, 0.5) if paced else quantile(common, 0.5) / self._block
            yield "frame_interval_ms.p50", pace
        seconds = _sum(self._time, pieces) / 1000 or 1e-9
        yield "fps", _sum(self._made, pieces) / seconds
        yield "tails.per_1000", 1000 * (_sum(self._late, pieces) + _half(rng)) / self.count
        yield "tails.lost_ms_per_s", _sum(self._lost, pieces) / seconds
        for cause, running in self._by_cause.items():
            late = _sum(running, pieces) + _half(rng)
            yield f"causes.{cause}.per_1000", 1000 * late / self.count


def _playout_draws(reading: Reading, seed: int) -> Draws:
    """Of the request whose viewer fared worst, which is the one that the report shows."""
    fps = reading.summary.playout.target_fps
    known = [
        request
        for request in reading.summary.requests
        if not request.warmup and request.playout.smooth_buffer_ms is not None
    ]
    if not fps or not known:
        return {}
    worst = max(known, key=lambda q: (q.playout.stall_ms or 0.0, q.playout.smooth_buffer_ms or 0.0))
    emits = [emit for emit in reading.emits if emit.key[:2] == (worst.proc, worst.id)]
    emits = emits[-MOST_EMITS:]
    if len(emits) < FEWEST_EMITS:
        return {}
    times = [emit.duration_ns / 1e6 for emit in emits]
    frames = [emit.frames for emit in emits]
    draws: Draws = {"playout.stall_ms_per_s": [], "playout.smooth_buffer_ms": []}
    for pieces in moving_blocks(times, _resamples(len(emits)), seed):
        drawn = [value for piece in pieces for value in times[piece]]
        made = [value for piece in pieces for value in frames[piece]]
        stall, delay = played(drawn, made, fps)
        draws["playout.stall_ms_per_s"].append(1000 * stall / (sum(drawn) or 1.0))
        draws["playout.smooth_buffer_ms"].append(delay)
    return draws


def played(times: Sequence[float], frames: Sequence[int], fps: float) -> tuple[float, float]:
    """Stall time and smallest smooth start-up delay (ms) of emits as far apart as ``times``.

    The player starts with the first block and re-anchors at every stall, as the analysis does
    (docs/concepts.md, playout).
    """
    per_frame = 1000.0 / fps
    now = anchor = made = stall = delay = 0.0
    made = frames[0] if frames else 0.0
    for ms, count in zip(times, frames, strict=True):
        now += ms
        behind = now - made * per_frame
        delay = max(delay, behind)
        if behind > anchor:
            stall += behind - anchor
            anchor = behind
        made += count
    return stall, delay


def _running(values: Sequence[float]) -> list[float]:
    return [0.0, *accumulate(float(value) for value in values)]


def _sum(running: Sequence[float], pieces: Sequence[slice]) -> float:
    total = 0.0
    for piece in pieces:
        total += running[piece.stop] - running[piece.start]
    return total


def _half(rng: Random) -> int:
    """Poisson with mean one half: that none was seen does not mean that there are none."""
    limit = math.exp(-0.5)
    count, product = 0, rng.random()
    while product > limit:
        count += 1
        product *= rng.random()
    return count
