"""Whether frames left an output as they were made, or afterwards. Pure.

A program that hands its frames to a writer tells when each was written, not when it was made.
What tells the two apart is the time between the writer's calls: there a *live* program makes the
next frame, while one that writes a finished clip (*batch*) at most converts a picture.

Bounds (docs/sinks.md): converting a picture (to bytes, other channel order, half the size, JPEG)
took at most 25 ns for each of its pixels in all, so :func:`conversion_ns` is what a gap may
last without work on a frame being in it. In this order:

- an output that takes complete clips: batch; one that is asked in the rhythm of play: live;
- fewer than :data:`FEW` calls: undecided;
- the model's own spans end between the calls: live; there were such, and none ends there: batch;
- the calls come in blocks of regular size (:func:`block_limit_ns`): live;
- half of the gaps last :data:`SURELY` conversions or more: live;
- the gaps in all last longer than :data:`LONGER` times the time before the first call, in which
  all of the frames would have to have been made: live;
- nearly all gaps are conversions, and the time before them was longer than they all took: batch;
- undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import isqrt
from typing import Any, Literal

Kind = Literal["live", "batch", "undecided"]

PACED = ("aiortc", "pygame.display")
"""Outputs whose viewer sees each frame when it comes: their rhythm is the viewer's."""
FEW = 8
SURELY = 2
LONGER = 2
NEARLY_ALL = 0.95
NS_PER_PIXEL = 25
AT_LEAST_NS = 500_000
OF_UNKNOWN_SIZE_NS = 10_000_000
WORKED = 3
"""So many of the model's spans between the calls (or before them) say something."""
JUMP = 4
"""Gaps between blocks are longer by this factor than those inside them."""
BETWEEN_NS = 5_000_000
"""…and last as long as this."""
REGULAR = 0.75
"""Share of the blocks that have the commonest size; of fewer than :data:`MANY`, all have it."""
BLOCKS = 3
MANY = 6
TRIED = 12


def conversion_ns(params: dict[str, Any]) -> int:
    """How long a gap may last in which a picture of that size is only converted."""
    width, height = params.get("width"), params.get("height")
    if isinstance(width, (int, float)) and isinstance(height, (int, float)):
        return AT_LEAST_NS + int(NS_PER_PIXEL * width * height)
    return OF_UNKNOWN_SIZE_NS


def block_limit_ns(gaps: Sequence[int], conversion: int) -> int | None:
    """Gaps from this length on stand between blocks; None: the frames come one by one.

    Tried are the places where the length of the gaps, in order of length, jumps most. The gaps
    above one stand between blocks where nine of ten below it are conversions, their median is
    longer than these by :data:`JUMP`, they take most of the time, and all blocks but the first and
    the last are of one size. Stalls of a steady stream are not regular.
    """
    ordered = sorted(gaps)
    sums = [0, *accumulate(ordered)]
    cuts = range(1, len(ordered) - BLOCKS)
    jumps = sorted(cuts, key=lambda at: -ordered[at] / max(ordered[at - 1], 1))[:TRIED]
    for cut in jumps:
        low, high = max(ordered[cut - 1], 1), ordered[cut]
        usual = ordered[(cut - 1) * 9 // 10]
        middle = ordered[(cut + len(ordered)) // 2]
        if (
            usual <= conversion
            and middle >= max(BETWEEN_NS, JUMP * usual)
            and 2 * (sums[-1] - sums[cut]) >= sums[-1]
            and high > low
            and _are_regular(gaps, high)
        ):
            return isqrt(low * high)
    return None


def _are_regular(gaps: Sequence[int], limit: int) -> bool:
    """Whether the gaps of that length and longer cut the calls into blocks of one size."""
    ends = [place for place, gap in enumerate(gaps) if gap >= limit]
    sizes = [after - before for before, after in pairwise(ends)]
    if len(sizes) < BLOCKS:
        return False
    size, commonest = Counter(sizes).most_common(1)[0]
    wanted = len(sizes) if len(sizes) < MANY else REGULAR * len(sizes)
    return size > 1 and commonest >= wanted


class Landing:
    """The calls of one output, added up.

    Args:
        sink: the output's name.
        whole: it takes complete clips.
        params: ``width`` and ``height`` of its frames, where known.
        origin_ns: since when its frames can have been made; None: that is not known.
        computed: how many of the model's spans ended before its first frame.
    """

    def __init__(
        self,
        sink: str = "",
        whole: bool = False,
        params: dict[str, Any] | None = None,
        origin_ns: int | None = None,
        computed: int = 0,
    ) -> None:
        self.sink, self.whole = sink, whole
        self.origin_ns = origin_ns
        self.conversion = conversion_ns(params or {})
        self.calls = 0
        self.first_ns = self.last_ns = 0
        self.inside_ns = 0
        """Time spent in its calls."""
        self.blocks = False
        """Its calls come in regular blocks."""
        self._computed = self._seen = computed
        self._short = self._long = self._worked = 0
        self._outside_ns = 0

    def add(self, begin_ns: int, end_ns: int, computed: int = 0) -> int | None:
        """A call that took frames; the gap before it, None for the first.

        ``computed``: how many of the model's spans have ended so far.
        """
        gap = None
        if self.calls:
            gap = max(0, begin_ns - self.last_ns)
            self._outside_ns += gap
            self._short += gap <= self.conversion
            self._long += gap >= SURELY * self.conversion
            self._worked += computed > self._seen
        else:
            self.first_ns = begin_ns
        self._seen = computed
        self.calls += 1
        self.inside_ns += max(0, end_ns - begin_ns)
        self.last_ns = max(self.last_ns, end_ns)
        return gap

    def judge(self) -> Kind:
        """What its calls are, as far as they have come."""
        if self.whole:
            return "batch"
        if self.sink in PACED:
            return "live"
        if self.calls < FEW:
            return "undecided"
        gaps = self.calls - 1
        if self.blocks or self._worked >= max(WORKED, self._long // 2):
            return "live"
        quick = self._short >= NEARLY_ALL * gaps and self._outside_ns <= gaps * self.conversion
        if self._computed >= WORKED and not self._worked and quick:
            return "batch"
        if 2 * self._long >= gaps:
            return "live"
        if self.origin_ns is None:
            return "undecided"
        before, lasted = self.first_ns - self.origin_ns, self.last_ns - self.first_ns
        if self._outside_ns > LONGER * before:
            return "live"
        return "batch" if quick and before > lasted else "undecided"
