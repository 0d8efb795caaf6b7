"""What else differed between rounds than what was varied.

Of each round: the target's git state, driver, versions, GPU, and what other programs did on
the processor and on the GPU while frames came. A round that stands out says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from mgtop.analysis.summary import Summary
from mgtop.rounds.bootstrap import median
from mgtop.wire import records as r

NOTABLE_CORES = 0.25
NOTABLE_SHARE = 0.10
"""Other load on the processor stands out from so many cores, and this share of all, on…"""
NOTABLE_MIB = 64.0
"""…and other programs' memory on the GPU from so much on."""
NOTABLE_STEAL = 0.02
MIB = 1 << 20


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a round ran in; None: not known.

    Attributes:
        other_cores: cores that programs other than the target and mgtop kept busy while frames
            came, on average.
        cores: those of the machine.
        neighbours_mib: the most that other programs held on the target's GPUs at once.
        neighbours: their names.
        stolen_share: share of the machine's time that its host gave to others.
    """

    git: str | None = None
    driver: str | None = None
    gpu: str | None = None
    torch: str | None = None
    python: str | None = None
    mgtop: str | None = None
    host: str | None = None
    other_cores: float | None = None
    cores: int | None = None
    neighbours_mib: float | None = None
    neighbours: list[str] = []
    stolen_share: float | None = None


_SAME = (
    ("git", "the program's git state"),
    ("driver", "the GPU driver"),
    ("gpu", "the GPU"),
    ("torch", "torch"),
    ("python", "Python"),
    ("mgtop", "mgtop"),
    ("host", "the machine"),
)
"""What must be the same in all rounds, and what it is called."""


class SurroundingsLog:
    """Takes a session's records in order."""

    def __init__(self) -> None:
        self._first: r.HostCpu | None = None
        self._last: r.HostCpu | None = None
        self._observer: list[r.Observer] = []
        self._frames = False
        self._held: dict[tuple[int, int], int] = {}
        self._most: float | None = None
        self._names: dict[str, None] = {}

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next one."""
        if isinstance(record, r.FrameEmit):
            self._frames = True
        elif isinstance(record, r.HostCpu):
            if not self._frames or self._first is None:
                self._first = record
            self._last = record
        elif isinstance(record, r.Observer):
            self._observer.append(record)
        elif isinstance(record, r.GpuDevice):
            self._most = self._most or 0.0
        elif isinstance(record, r.GpuProcess) and record.relation == "neighbour":
            self._held[record.gpu, record.pid] = record.used_bytes or 0
            self._most = max(self._most or 0.0, sum(self._held.values()) / MIB)
            if record.name:
                self._names[record.name] = None

    def result(self, summary: Summary) -> Surroundings:
        """All that was seen."""
        target, environment = summary.target, summary.environment
        other, stolen = self._other_load()
        return Surroundings(
            git=target.git,
            driver=environment.driver,
            gpu=", ".join(gpu.uuid for gpu in target.gpus) or None,
            torch=target.torch,
            python=target.python,
            mgtop=environment.mgtop,
            host=environment.cpu,
            other_cores=other,
            cores=self._last.cores if self._last is not None else None,
            neighbours_mib=self._most,
            neighbours=list(self._names),
            stolen_share=stolen,
        )

    def _other_load(self) -> tuple[float | None, float | None]:
        first, last = self._first, self._last
        if first is None or last is None or last.t_ns <= first.t_ns:
            return None, None
        span = last.t_ns - first.t_ns
        stolen = None
        if first.steal_ns is not None and last.steal_ns is not None:
            stolen = (last.steal_ns - first.steal_ns) / (span * last.cores)
        if first.tree_cpu_ns is None or last.tree_cpu_ns is None:
            return None, stolen
        busy = last.busy_ns - first.busy_ns - (last.tree_cpu_ns - first.tree_cpu_ns)
        busy -= self._own(first.t_ns, last.t_ns)
        return max(0.0, busy / span), stolen

    def _own(self, begin_ns: int, end_ns: int) -> int:
        """What the recorder used in that time."""
        inside = [record.cpu_ns for record in self._observer if begin_ns <= record.t_ns <= end_ns]
        return inside[-1] - inside[0] if len(inside) > 1 else 0


def differences(
    rounds: Sequence[Surroundings | None], *, against_first: bool = False
) -> list[list[str]]:
    """For each round, sentences on what else differs from the other ones.

    What must be the same is compared with what most rounds have (the earlier one, where two are
    even); load with the middle one. None, for a round that has not run, gets none.

    Args:
        rounds: in their order.
        against_first: compare with the first one instead, which gets no sentences.
    """
    known = [found for found in rounds if found is not None]
    basis = known[:1] if against_first else known
    usual = _Usual(
        same={name: _commonest([getattr(found, name) for found in basis]) for name, _ in _SAME},
        cores=_middle([found.other_cores for found in basis]),
        held=_middle([found.neighbours_mib for found in basis]),
        stolen=_middle([found.stolen_share for found in basis]),
        where="in the first" if against_first else "in the middle round",
    )
    return [[] if found is None else _stands_out(found, usual) for found in rounds]


def is_loaded(found: Surroundings) -> bool:
    """Whether other programs kept the processor busy enough to matter."""
    least = max(NOTABLE_CORES, NOTABLE_SHARE * (found.cores or 1))
    return found.other_cores is not None and found.other_cores > least


class _Usual(NamedTuple):
    """What a round is compared with."""

    same: dict[str, str | None]
    cores: float | None
    held: float | None
    stolen: float | None
    where: str


def _stands_out(found: Surroundings, usual: _Usual) -> list[str]:
    notes = []
    for name, called in _SAME:
        value, other = getattr(found, name), usual.same[name]
        if value is not None and other is not None and value != other:
            notes.append(f"{called} was {value}, not {other}")
    least = max(NOTABLE_CORES, NOTABLE_SHARE * (found.cores or 1))
    if abs(_beyond(found.other_cores, usual.cores)) > least:
        cores = f" of {found.cores}" if found.cores else ""
        notes.append(
            f"other programs used {found.other_cores:.1f}{cores} cores "
            f"({usual.cores:.1f} {usual.where})"
        )
    if _beyond(found.stolen_share, usual.stolen) > NOTABLE_STEAL:
        notes.append(f"the machine's host took {100 * (found.stolen_share or 0):.0f} % of its time")
    if abs(_beyond(found.neighbours_mib, usual.held)) > NOTABLE_MIB:
        names = f" ({', '.join(found.neighbours[:3])})" if found.neighbours else ""
        notes.append(
            f"other programs{names} held {found.neighbours_mib:,.0f} MiB on the GPU "
            f"({usual.held:,.0f} {usual.where})"
        )
    return notes


def _beyond(value: float | None, usual: float | None) -> float:
    return 0.0 if value is None or usual is None else value - usual


def _commonest(values: Sequence[str | None]) -> str | None:
    known = [value for value in values if value is not None]
    return max(known, key=known.count) if known else None


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
