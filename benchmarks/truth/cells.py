"""What is run: character × faults × evidence level, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.truth.generators import CHARACTERS
from benchmarks.truth.outside import OUTSIDE

SINGLE = (
    "stall", "stall_in_step", "lock", "supply", "late_decode", "gc", "compute", "output",
    "output_wait", "queue", "compile", "untold", "other_span",
)  # fmt: skip
PAIRS = (
    "stall+gc", "supply+compute", "gc+output", "queue+compute", "compute+output_wait",
    "lock+supply", "queue+gc", "compile+stall", "supply+output", "stall_in_step+compute",
    "late_decode+compute", "gc+compute", "compile+output", "stall+output",
)  # fmt: skip
DEMO_FAULTS = ("stall", "cpu", "gc", "output", "compute", "queue", "compile")
DEMO_BLOCKS = (1, 4, 12)
DEMO_CHARACTERS = tuple(f"demo-{block}" for block in DEMO_BLOCKS)
ALL_CHARACTERS = (*CHARACTERS, *DEMO_CHARACTERS)
DEMO_MS = {1: 25.0, 4: 70.0, 12: 180.0}
"""About the demo's interval by block on a small machine; sizes of its faults are drawn from it."""


@dataclass(frozen=True)
class Cell:
    """One run. ``kind``: single, pairs, clean or outside."""

    character: str
    level: str
    kind: str
    faults: tuple[str, ...]
    seconds: float
    seed: int

    @property
    def name(self) -> str:
        """For the folder's name."""
        what = self.faults[0] if self.kind == "outside" else self.kind
        return f"{self.character}-{self.level}-{what}-{self.seed}"


def cells(
    characters: Sequence[str], levels: Sequence[str], seeds: Sequence[int], quick: bool
) -> Iterator[Cell]:
    """All runs, in order. The ``log`` level needs none: it is read from those with spans."""
    for seed in seeds:
        for character in characters:
            demo = character in DEMO_CHARACTERS
            single = DEMO_FAULTS if demo else SINGLE
            if "spans" in levels:
                yield Cell(character, "spans", "single", single, 12 if quick else 22, seed)
                if not demo:
                    yield Cell(character, "spans", "pairs", PAIRS, 8 if quick else 16, seed)
                yield Cell(character, "spans", "clean", (), 6 if quick else 12, seed)
            if "no_spans" in levels and not demo:
                yield Cell(character, "no_spans", "single", single, 8 if quick else 14, seed)
            if "hooks" in levels and not demo:
                yield Cell(character, "hooks", "single", single, 8 if quick else 14, seed)
            if "observe" in levels and character == "single":
                yield Cell(character, "observe", "single", single, 5, seed)
        if "spans" in levels and "single" in characters:
            for fault in OUTSIDE:
                yield Cell("single", "spans", "outside", (fault,), 8 if quick else 12, seed)
