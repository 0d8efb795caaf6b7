"""Out-of-memory errors: raised, printed and counted, and what was in use then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mgtop.analysis.memory_figures import Stage
from mgtop.wire import records as r
from mgtop.wire.memory_amounts import MOST_BYTES, amounts_in

WAYS = ("raised", "printed", "counted")
"""How an out-of-memory error is seen, the way whose message says most first."""
SAME_WAY_NS, OTHER_WAY_NS = 200_000_000, 5_000_000_000
"""Two out-of-memory errors so near each other, seen in the same or another way, are one."""
MOST = 100


class InUse(msgspec.Struct, frozen=True):
    """What was in use when it was last read; bytes."""

    process: int | None = None
    device: int | None = None
    allocated: int | None = None
    reserved: int | None = None


class Oom(msgspec.Struct, frozen=True):
    """One out-of-memory error."""

    t_ns: int
    stage: Stage
    frame: int | None
    message: str
    seen: frozenset[str]
    """Of :data:`WAYS`."""
    request: str | None = None
    amounts: dict[str, int] = {}
    in_use: InUse = InUse()


class Ooms:
    """The errors in order; one can be raised, printed (in several lines) and counted."""

    def __init__(self) -> None:
        self.all: list[Oom] = []

    def merge(self, t_ns: int, how: str, message: str, amounts: Mapping[str, int]) -> bool:
        """Whether this is an error that is known already; what it adds is kept."""
        for i, known in enumerate(self.all):
            apart = SAME_WAY_NS if how in known.seen else OTHER_WAY_NS
            if abs(known.t_ns - t_ns) <= apart:
                # The message of the way that says most; of several lines the longest.
                best = min(WAYS.index(way) for way in known.seen)
                if (-WAYS.index(how), len(message)) > (-best, len(known.message)):
                    known = msgspec.structs.replace(known, message=message)
                self.all[i] = msgspec.structs.replace(
                    known, seen=known.seen | {how}, amounts={**amounts, **known.amounts}
                )
                return True
        return len(self.all) >= MOST

    def add(self, oom: Oom) -> None:
        """Take a new error."""
        self.all.append(oom)


def is_oom(record: r.Failure) -> bool:
    """Whether a failure is an out-of-memory error."""
    return "OutOfMemory" in record.kind or "out of memory" in record.text.lower()


def stated(message: str, amounts: Mapping[str, Any] | None = None) -> dict[str, int]:
    """The amounts of a message, in bytes by name."""
    told = {k: v for k, v in (amounts or {}).items() if isinstance(v, int) and 0 <= v < MOST_BYTES}
    return told or amounts_in(message)
