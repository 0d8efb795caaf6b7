"""Findings as rows of the report."""

from __future__ import annotations

import pytest
from tail_bench import MS, Bench

from mgtop.analysis.evidence import Finding, matters, strongest


@pytest.fixture
def window():
    bench = Bench()
    bench.frames(10)
    bench.frame(before=lambda: bench.sleep(100))
    return bench.window(10)


def test_a_row_says_how_long_before_the_end_it_began(window) -> None:
    began = window.end_ns - 140 * MS
    finding = Finding(
        state="present",
        value=3.0,
        unit="MiB",
        source="nvml memory",
        period_ns=15 * MS,
        began_ns=began,
    )
    row = finding.evidence("vram_drop", window)
    assert (row.channel, row.state, row.value, row.unit) == ("vram_drop", "present", 3.0, "MiB")
    assert (row.source, row.period_ms, row.lead_ms) == ("nvml memory", 15.0, 140.0)


def test_what_was_not_there_has_no_lead(window) -> None:
    for state in ("absent", "not_resolved"):
        row = Finding(state=state, began_ns=window.begin_ns).evidence("gc", window)
        assert row.lead_ms is None
    assert Finding(state="present").evidence("gc", window).lead_ms is None


def test_what_is_a_tenth_of_the_loss_or_a_half_millisecond_is_scatter(window) -> None:
    assert window.excess_ns == 100 * MS
    assert matters(10 * MS, window)
    assert not matters(9.9 * MS, window)
    assert not matters(None, window)


def test_doubt_speaks_louder_than_absence_and_presence_than_doubt() -> None:
    absent = Finding(state="absent", value=9.0)
    doubt = Finding(state="not_resolved")
    little, much = Finding(state="present", value=1.0), Finding(state="present", value=2.0)
    assert strongest([absent, doubt]) is doubt
    assert strongest([doubt, little, much, absent]) is much
    assert strongest([]) is None
