"""How long named work usually takes for one emit of a request."""

from __future__ import annotations

from mgtop.analysis.statistics import Typical

MOST_NAMES = 64


class SpanMedians:
    """Durations by name, added up per emit; those of the warm-up apart."""

    __slots__ = ("_counted", "_warmup", "open")

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        """What was done for the emit to come."""
        self._counted: dict[str, Typical] = {}
        self._warmup: dict[str, Typical] = {}

    def add(self, name: str, duration_ns: int) -> None:
        """Work was done for the emit to come."""
        spans = self.open
        if name in spans:
            spans[name] += duration_ns
        elif len(spans) < MOST_NAMES:
            spans[name] = duration_ns

    def close(self, warmup: bool) -> None:
        """The emit has come."""
        kept = self._warmup if warmup else self._counted
        for name, duration in self.open.items():
            typical = kept.get(name)
            if typical is None:
                if len(kept) >= MOST_NAMES:
                    continue
                typical = kept[name] = Typical()
            typical.add(duration)
        self.open.clear()

    def medians_ms(self) -> dict[str, float]:
        """Median per emit; of the warm-up where a name is nowhere else."""
        medians = {
            name: found.median() for name, found in {**self._warmup, **self._counted}.items()
        }
        return {name: ns / 1e6 for name, ns in medians.items() if ns is not None}
