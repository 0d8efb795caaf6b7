"""A source on a thread of its own: what it covers, and how it fails."""

from __future__ import annotations

import time

import pytest

from mgtop.record.observer import observe
from mgtop.record.sampler import MS, Sampler
from mgtop.record.schedule import MetricGone, Reading, SourceLost
from mgtop.wire.records import HostMemory, Record


class Clock:
    def __init__(self) -> None:
        self.now = 10_000 * MS

    def __call__(self) -> int:
        return self.now


class Source(Sampler):
    """Readings of given names and periods (ms), on virtual time."""

    def __init__(self, clock: Clock, **periods_ms: int) -> None:
        super().__init__("source", clock)
        self.clock = clock
        self.readings = [
            Reading(name, None, self.read, period * MS, 0.5) for name, period in periods_ms.items()
        ]

    def read(self, now_ns: int) -> list[Record]:
        return [HostMemory(t_ns=now_ns, total_bytes=2, available_bytes=1, tree_rss_bytes=None)]

    def open(self) -> None:
        pass

    def covered_ms(self) -> float | None:
        covered = self.states(self.clock.now)[0].covered_ns
        return None if covered is None else covered / MS

    def run(self, ms: int) -> None:
        until = self.clock.now + ms * MS
        while self.clock.now < until:
            self.step()
            self.clock.now += MS


def test_nothing_is_covered_before_everything_was_read() -> None:
    source = Source(Clock(), quick=20)
    assert source.covered_ms() is None
    source.step()
    assert source.covered_ms() == 10_000


def test_what_is_read_once_a_second_is_waited_for() -> None:
    source = Source(Clock(), quick=20, slow=1_000)
    source.run(900)
    assert source.covered_ms() == 10_000
    source.run(200)
    assert source.covered_ms() == pytest.approx(11_000, abs=3)


def test_what_is_rarer_than_judgement_waits_is_not_waited_for() -> None:
    source = Source(Clock(), quick=20, rare=10_000)
    source.run(500)
    assert source.covered_ms() == pytest.approx(10_480, abs=25)


def test_what_cannot_be_had_or_does_not_answer_holds_up_nothing() -> None:
    source = Source(Clock(), quick=20, gone=1_000, lost=1_000)

    def gone(_now_ns: int) -> list[Record]:
        raise MetricGone("not supported")

    def lost(_now_ns: int) -> list[Record]:
        raise SourceLost("does not answer")

    source.readings[1].read, source.readings[2].read = gone, lost
    source.run(500)
    assert source.covered_ms() == pytest.approx(10_480, abs=25)


@pytest.mark.parametrize("where", ["open", "before_step"])
def test_a_fault_of_the_source_is_said_and_is_not_taken_for_life(where: str) -> None:
    def broken(*_: object) -> None:
        raise TypeError("two arguments expected")

    source = Source(Clock(), quick=20)
    setattr(source, where, broken)
    source.start()
    deadline = time.monotonic() + 5
    while source.states(0)[0].state == "ok" and time.monotonic() < deadline:
        time.sleep(0.01)
    source.stop()
    (state,) = source.states(0)
    assert state.state == "absent"
    assert state.reason == "unexpected error (TypeError: two arguments expected)"


class Counting(Source):
    def __init__(self, spent: tuple[int, int] | None) -> None:
        super().__init__(Clock())
        self.spent = spent

    def cost(self) -> tuple[int, int] | None:
        return self.spent


@pytest.mark.parametrize("spent", [(5, 700), None])
def test_calls_into_a_driver_that_is_not_there_are_not_known_rather_than_none(
    spent: tuple[int, int] | None,
) -> None:
    record = observe(1, 2, [Source(Clock()), Counting(spent)])
    assert (record.nvml_calls, record.nvml_ns) == (spent or (None, None))
    assert record.cpu_ns > 0
