"""The probe's account of its own cost."""

from __future__ import annotations

from mgtop.probe.outlet import TIMED, Outlet


def outlet() -> Outlet:
    out = Outlet.__new__(Outlet)
    out.cost_ns = 0
    out._usual_ns = 5_000
    return out


def test_a_timed_call_stands_for_many() -> None:
    out = outlet()
    for _ in range(10):
        out.took(3_000)
    assert out.cost_ns == 10 * TIMED * 3_000


def test_a_call_of_its_own_kind_is_not_multiplied() -> None:
    out = outlet()
    out.took(80_000_000)  # the first CUDA event: made once
    assert out.cost_ns == 80_000_000


def test_calls_that_are_slow_from_now_on_are_believed() -> None:
    out = outlet()
    for _ in range(200):
        out.took(90_000)
    assert out.cost_ns > 150 * TIMED * 90_000
