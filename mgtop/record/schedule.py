"""When to read what: every reading has a wanted period and a share of time it may take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mgtop.wire.records import Record


class NoValue(Exception):
    """There is no value now; the metric itself is fine."""


class MetricGone(Exception):
    """This metric cannot be had here; ``str()`` says why, in one line."""


class SourceLost(Exception):
    """What is read does not answer any more; ``str()`` says why, in one line."""


Read = Callable[[int], list[Record]]
"""Takes the time (ns) and gives the records to write."""


@dataclass(frozen=True)
class Missing:
    """Why one value of a reading is null while the others come.

    ``gone``: it cannot be had here; else it had no value just now.
    """

    reason: str
    gone: bool


RETRY_NS = 1_000_000_000
RETRY_MOST_NS = 30_000_000_000
COSTS_KEPT = 15


@dataclass
class Reading:
    """One metric of one source (``gpu``: of one GPU).

    The period is ``wanted_ns``, or as much longer as its own measured cost needs to stay
    within ``share`` of the time: what costs 35 µs on one machine costs 4.5 ms on another.
    The cost is the median of the last calls: while the target itself keeps the driver busy
    (start of a context, large allocations), single calls wait 10 ms and more for its lock,
    which costs nobody anything and must not thin the readings just then.
    """

    name: str
    gpu: int | None
    read: Read
    wanted_ns: int
    share: float
    due_ns: int = 0
    parts: Mapping[str, Missing] = field(default_factory=dict)
    """Which of its values are null, as of the last reading; kept by ``read``."""
    instead_of: Reading | None = None
    """Read only once that other one turns out not to be had."""
    gone: str | None = None
    """Why it cannot be had, once that is known."""
    lost: str | None = None
    """Why it does not answer at present."""
    read_ns: int | None = None
    """When it was last read (or found to have no value)."""
    missed: int = 0
    """Periods that passed without a reading because this thread came late."""
    _retry_ns: int = field(default=RETRY_NS, repr=False)
    _costs: deque[int] = field(default_factory=lambda: deque(maxlen=COSTS_KEPT), repr=False)
    _cost_ns: float = field(default=0.0, repr=False)

    @property
    def wanted(self) -> bool:
        """Whether it has to be read at all."""
        return self.gone is None and (self.instead_of is None or self.instead_of.gone is not None)

    @property
    def cost_ns(self) -> float:
        """What one reading costs: the median of the last ones, 0 before the first."""
        return self._cost_ns

    @property
    def period_ns(self) -> int:
        """The period in force."""
        return max(self.wanted_ns, int(self.cost_ns / self.share))

    def run(self, clock: Callable[[], int]) -> list[Record]:
        """Read once and set when to read again."""
        began = clock()
        if self.due_ns:
            late = began - self.due_ns
            if late > self.period_ns and self.lost is None:
                self.missed += late // self.period_ns
        records: list[Record] = []
        try:
            records = self.read(began)
        except NoValue:
            pass
        except MetricGone as gone:
            self.gone = str(gone)
            return []
        except SourceLost as lost:
            self.lost = str(lost)
            self.due_ns = clock() + self._retry_ns
            self._retry_ns = min(2 * self._retry_ns, RETRY_MOST_NS)
            return []
        except Exception as error:  # a binding and a driver that do not fit each other
            self.gone = f"unexpected answer ({type(error).__name__}: {error})"
            return []
        self.lost = None
        self.read_ns = began
        self._retry_ns = RETRY_NS
        ended = clock()
        self._costs.append(ended - began)
        ordered = sorted(self._costs)  # statistics.median takes ten times as long
        self._cost_ns = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        # From the due time, not from now: else every period is longer by the cost and the wake-up.
        self.due_ns = max((self.due_ns or began) + self.period_ns, ended)
        return records


class Unchanged:
    """Keeps what does not change out of the log, but repeats it once a second.

    So a reader that comes in late has every value within a second, and a value that stops
    being repeated is stale.
    """

    REPEAT_NS = 1_000_000_000

    def __init__(self) -> None:
        self._last: dict[object, tuple[object, int]] = {}

    def is_news(self, key: object, value: object, t_ns: int) -> bool:
        """Whether ``value`` has to be written for ``key`` at ``t_ns``."""
        last = self._last.get(key)
        if last is not None and last[0] == value and t_ns - last[1] < self.REPEAT_NS:
            return False
        self._last[key] = (value, t_ns)
        return True

    def forget(self, key: object) -> None:
        """``key`` is no more."""
        self._last.pop(key, None)
