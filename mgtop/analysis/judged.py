"""Final tails of a session: kept small, added up as they come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from mgtop.analysis.placement import Place, Places
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import CauseTotal, Coincide, Evidence, Tail

SYMPTOMS = ("vram_drop", "gpu_idle")
MOST_SHARED = 4_096


class Judged(msgspec.Struct, frozen=True):
    """One final tail: whose it is, whether its emit is warm-up, and what it lost."""

    request: Request
    warmup: bool
    tail: Tail
    excess_ns: int
    place: Place


class Counted:
    """Tails of the statistics, in the order of time, and their sums.

    Sums are whole numbers, so that the order of adding does not matter.
    """

    def __init__(self) -> None:
        self.frames: list[Tail] = []
        self.lost_ns = 0
        self.warmup = 0
        """Tails in the warm-up, which are not among them."""
        self.longest_ms = 0.0
        """The longest interval among them."""
        self.places = Places()
        self._causes: dict[str, tuple[int, int]] = {}
        self._told = dict.fromkeys(SYMPTOMS, 0)
        self._present = dict.fromkeys(SYMPTOMS, 0)

    def add(self, judged: Judged) -> None:
        """Add a tail."""
        tail = judged.tail
        insort_tail(self.frames, tail)
        self.lost_ns += judged.excess_ns
        self.longest_ms = max(self.longest_ms, tail.interval_ms)
        self.places.add(judged.place)
        if tail.cause is not None:
            frames, lost_ns = self._causes.get(tail.cause, (0, 0))
            self._causes[tail.cause] = (frames + 1, lost_ns + judged.excess_ns)
        for evidence in tail.evidence:
            if evidence.channel in self._told and evidence.state != "not_resolved":
                self._told[evidence.channel] += 1
                self._present[evidence.channel] += evidence.state == "present"

    def causes(self) -> dict[str, CauseTotal]:
        """Tails by their main cause, the most time lost first."""
        order = sorted(self._causes.items(), key=lambda item: (-item[1][1], item[0]))
        return {
            name: CauseTotal(frames=frames, lost_ms=lost_ns / 1e6)
            for name, (frames, lost_ns) in order
        }

    def coincide(self) -> Coincide:
        """Tails that show a symptom; None where no source could tell for any of them."""
        return Coincide(
            **{name: self._present[name] if self._told[name] else None for name in SYMPTOMS}
        )


class JudgedTails:
    """All final tails, in the order of judgement."""

    def __init__(self) -> None:
        self._all: list[Judged] = []
        self._counted = Counted()
        self._added = 0
        self._recounts = 0
        self._shared: dict[Evidence, Evidence] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, judged: Judged) -> None:
        """Add a tail."""
        self._all.append(judged)

    def shared(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The same evidence; what other tails have word for word is held once."""
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()
        return [self._shared.setdefault(row, row) for row in evidence]

    def counted(self, recounts: int) -> Counted:
        """Tails of the statistics; ``recounts`` grows when other requests are left out."""
        if recounts != self._recounts:
            self._recounts = recounts
            self._counted, self._added = Counted(), 0
        for judged in self._all[self._added :]:
            if judged.request.dropped or judged.request.landed not in (None, "live"):
                continue
            if judged.warmup or judged.request.is_warmup:
                self._counted.warmup += 1
            else:
                self._counted.add(judged)
        self._added = len(self._all)
        return self._counted


def insort_tail(frames: list[Tail], tail: Tail) -> None:
    """Put a tail in its place in the order of time; equal times keep the order of judgement."""
    if not frames or frames[-1].t_ms <= tail.t_ms:
        frames.append(tail)
    else:
        frames.insert(bisect_right(frames, tail.t_ms, key=lambda other: other.t_ms), tail)
