"""The probe's account of its own cost."""

from __future__ import annotations

from time import monotonic_ns

import pytest

from mgtop import probe
from mgtop.probe import outlet as outlets
from mgtop.probe import pack
from mgtop.probe.outlet import TIMED, Outlet
from mgtop.wire.records import RequestReceived
from tests.probe.conftest import Probed


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


@pytest.mark.parametrize("told", ["request", "gpu"])
def test_what_is_told_of_before_did_not_last_since_then(probed: Probed, told: str) -> None:
    """A request is told again each second, for those who came late: it was hours ago."""
    with probe.request("old"):
        out = outlets.current
        assert out is not None
        probed.read()
        hour_ns = 3_600_000_000_000
        then_ns = monotonic_ns() - hour_ns
        outlets.opened = {n: (then_ns, *rest) for n, (_, *rest) in outlets.opened.items()}
        for _ in range(3 * TIMED):
            if told == "request":
                out.tick(monotonic_ns())
            else:
                out.event_of_before(pack.GPU_WORK_LAYOUT, then_ns, 1, 0, 5, 5, 1)
        assert out.cost_ns < hour_ns / 100
        if told == "request":
            assert {event.t_ns for event in probed.read(RequestReceived)} == {then_ns}
