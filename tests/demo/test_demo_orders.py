"""``--fault NAME:key=value,…`` and the emits that it strikes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mgtop.demo.errors import DemoError
from mgtop.demo.faults.kinds import KINDS
from mgtop.demo.faults.orders import Order, parse_order
from mgtop.demo.faults.schedule import Schedule

MS = 1_000_000


def test_a_name_alone_strikes_some_twenty_times_a_minute():
    order = parse_order("stall")
    assert order == Order("stall", every_s=3.0)


def test_all_keys():
    assert parse_order("gc:at=80+40+40,ms=150,seed=7") == Order("gc", at=(40, 80), ms=150, seed=7)
    assert parse_order("cpu:every=20") == Order("cpu", every_emits=20)
    assert parse_order("cpu:every=0.5s") == Order("cpu", every_s=0.5)
    assert parse_order("leak:mib=2.5") == Order("leak", every_emits=1, mib=2.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gcc", "--fault gcc: there is no fault 'gcc'; did you mean 'gc'?"),
        ("", "--fault : there is no fault ''; there are stall, cpu"),
        ("gc:size=3", "gc has no key 'size'; it takes ms, every, at, seed."),
        ("gc:mib=3", "gc has no key 'mib'"),
        ("leak:ms=3", "leak has no key 'ms'"),
        ("gc:", "gc has no key ''"),
        ("gc:ms", "ms needs a value, as in ms=150."),
        ("gc:ms=", "ms needs a value"),
        ("gc:ms=1,ms=2", "ms is given twice"),
        ("gc:ms=0", "ms=0 does not fit"),
        ("gc:ms=nan", "ms=nan does not fit"),
        ("gc:ms=1e9", "ms=1e9 does not fit; it is a number above 0 and up to 60000"),
        ("gc:at=4-5", "at=4-5 does not fit; it is numbers of emits from 0 on, joined by +"),
        ("gc:at=-4", "at=-4 does not fit"),
        ("gc:every=0", "every=0 does not fit"),
        ("gc:every=s", "every=s does not fit"),
        ("gc:seed=x", "seed=x does not fit"),
        ("gc:at=4,every=5", "give either at or every, not both"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(text: str, said: str):
    with pytest.raises(DemoError) as caught:
        parse_order(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"--fault {text}: ")
    assert "\n" not in str(caught.value)


def test_causes_are_those_of_the_contract():
    assert {name: kind.cause for name, kind in KINDS.items()} == {
        "cpu": "supply",
        "gc": "gc",
        "compile": "compile",
        "vram": "alloc_retry",
        "queue": "queue",
        "output": "output",
        "compute": "compute",
        "stall": "blocked",
        "leak": None,
    }


def _random_strikes(order: Order, seed: int, minutes: int = 5) -> list[int]:
    """Struck emits of a stream with an emit every 50 ms."""
    schedule = Schedule(order, seed, 0)
    struck = []
    for emit in range(minutes * 1200):
        if schedule.is_due(emit * 50 * MS):
            schedule.give(emit, emit * 50 * MS)
        if schedule.strikes(emit):
            struck.append(emit)
    return struck


def test_random_times_come_from_the_seed():
    order = parse_order("stall")
    struck = _random_strikes(order, seed=1)
    assert struck == _random_strikes(order, seed=1)
    assert struck != _random_strikes(order, seed=2)
    assert _random_strikes(parse_order("stall:seed=1"), seed=9) == struck
    assert 80 <= len(struck) <= 120  # 5 minutes
    gaps = [late - early for early, late in pairwise(struck)]
    assert min(gaps) >= 29
    assert max(gaps) <= 92
    assert len(set(gaps)) > 20


def test_another_fault_strikes_at_other_times():
    assert _random_strikes(parse_order("stall"), 1) != _random_strikes(parse_order("gc"), 1)


def test_after_a_long_pause_nothing_is_caught_up():
    schedule = Schedule(parse_order("stall:every=1s"), 1, 0)
    now_ns = 600_000 * MS
    given = 0
    while schedule.is_due(now_ns):
        schedule.give(given, now_ns)
        given += 1
    assert given <= 3


def test_fixed_emits():
    at = Schedule(parse_order("gc:at=3+9"), 1, 0)
    every = Schedule(parse_order("gc:every=4"), 1, 0)
    always = Schedule(parse_order("leak"), 1, 0)
    assert [emit for emit in range(12) if at.strikes(emit)] == [3, 9]
    assert [emit for emit in range(12) if every.strikes(emit)] == [4, 8]
    assert [emit for emit in range(4) if always.strikes(emit)] == [0, 1, 2, 3]
    assert not at.is_due(10**18)
