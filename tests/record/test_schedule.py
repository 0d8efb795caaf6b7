from __future__ import annotations

from collections.abc import Callable

import pytest

from mgtop.record.schedule import RETRY_NS, MetricGone, NoValue, Reading, SourceLost, Unchanged
from mgtop.wire.records import GpuMemory, Record

MS = 1_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1_000 * MS

    def __call__(self) -> int:
        return self.now


def reading(clock: Clock, cost_ns: int, **options: object) -> Reading:
    def read(now_ns: int) -> list[Record]:
        clock.now += cost_ns
        return [GpuMemory(t_ns=now_ns, gpu=0, used_bytes=1)]

    return Reading("memory", 0, read, 10 * MS, 0.01, **options)  # type: ignore[arg-type]


def test_a_cheap_call_keeps_its_wanted_period() -> None:
    clock = Clock()
    cheap = reading(clock, 7_000)
    cheap.run(clock)
    assert cheap.period_ns == 10 * MS
    assert cheap.due_ns == 1_010 * MS


def test_a_dear_call_is_thinned_to_its_share_of_time() -> None:
    clock = Clock()
    dear = reading(clock, 5 * MS)
    dear.run(clock)
    assert dear.period_ns == 500 * MS  # 5 ms at 1 % of the time


def test_a_single_slow_call_does_not_thin_the_readings() -> None:
    clock = Clock()
    costs = iter([10_000] * 5 + [30 * MS] + [10_000] * 5)

    def read(_now_ns: int) -> list[Record]:
        clock.now += next(costs)
        return []

    steady = Reading("memory", 0, read, 10 * MS, 0.01)
    for _ in range(11):
        clock.now = max(clock.now, steady.due_ns)
        steady.run(clock)
        assert steady.period_ns == 10 * MS


def test_periods_do_not_drift_by_the_cost_of_the_call() -> None:
    clock = Clock()
    steady = reading(clock, 50_000)
    for expected in (1_010, 1_020, 1_030):
        clock.now = max(clock.now, steady.due_ns)
        steady.run(clock)
        assert steady.due_ns == expected * MS


def test_periods_that_pass_without_a_reading_are_counted() -> None:
    clock = Clock()
    late = reading(clock, 1_000)
    late.run(clock)
    clock.now = late.due_ns + 35 * MS
    late.run(clock)
    assert late.missed == 3


def test_no_value_now_is_no_failure() -> None:
    clock = Clock()

    def read(_now_ns: int) -> list[Record]:
        raise NoValue("idle")

    empty = Reading("ring", 0, read, 10 * MS, 0.01)
    assert empty.run(clock) == []
    assert empty.gone is None
    assert empty.lost is None
    assert empty.due_ns == 1_010 * MS


def test_a_lost_device_is_asked_again_ever_more_rarely_and_recovers() -> None:
    clock = Clock()
    answers: list[Callable[[], list[Record]]] = []

    def read(_now_ns: int) -> list[Record]:
        return answers.pop(0)()

    def lost() -> list[Record]:
        raise SourceLost("the GPU is lost")

    flaky = Reading("memory", 0, read, 10 * MS, 0.01)
    answers += [lost, lost, list, lost]
    waits = []
    for _ in range(4):
        began = clock.now
        flaky.run(clock)
        waits.append(flaky.due_ns - began)
        clock.now = flaky.due_ns
    assert waits == [RETRY_NS, 2 * RETRY_NS, 10 * MS, RETRY_NS]
    assert flaky.lost == "the GPU is lost"


def test_what_cannot_be_had_says_why() -> None:
    clock = Clock()

    def read(_now_ns: int) -> list[Record]:
        raise MetricGone("no permission")

    gone = Reading("ecc", 0, read, 10 * MS, 0.01)
    gone.run(clock)
    assert gone.gone == "no permission"
    assert not gone.wanted


def test_a_substitute_is_wanted_once_the_first_choice_is_gone() -> None:
    clock = Clock()
    first = reading(clock, 1_000)
    second = reading(clock, 1_000, instead_of=first)
    assert not second.wanted
    first.gone = "not supported"
    assert second.wanted


@pytest.mark.parametrize(
    ("value", "after_ms", "news"), [(1, 999, False), (2, 1, True), (1, 1000, True)]
)
def test_unchanged_values_are_repeated_once_a_second(value: int, after_ms: int, news: bool) -> None:
    unchanged = Unchanged()
    assert unchanged.is_news("used", 1, 0)
    assert unchanged.is_news("used", value, after_ms * MS) is news
