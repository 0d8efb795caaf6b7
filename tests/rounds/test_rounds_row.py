"""From a session's summary to the row of a round."""

from __future__ import annotations

from typing import Any

import pytest

from mgtop.analysis.summary import (
    CauseTotal,
    FirstFrame,
    MemorySummary,
    OomSummary,
    PeakMemory,
    PlayoutSummary,
    Quantiles,
    Summary,
    Tails,
)
from mgtop.rounds.row import Row, row_of


def made(**parts: Any) -> Row:
    fields = {
        "interval_ms": Quantiles(count=50, p50=120, p95=180, max=240),
        "interval_ms_by_count": {"12": Quantiles(count=50), "4": Quantiles(count=2)},
        "first_frame_ms": FirstFrame(count=1, p50=900),
        "tails": Tails(count=5),
        "playout": PlayoutSummary(target_fps=16),
    }
    return row_of(
        Summary(**(fields | parts)), {"steps": 4}, 2, session="/s/run-steps=4", memory_limit=0.95
    )


def test_times_are_per_frame_of_the_commonest_block() -> None:
    row = made()
    assert (row.p50_frame_ms, row.p95_frame_ms, row.max_frame_ms) == (10, 15, 20)
    assert row.block == 12
    assert (row.first_frame_ms, row.tails, row.counted, row.late_share) == (900, 5, 50, 0.1)
    assert (row.run_id, row.session) == ("run-steps=4", "/s/run-steps=4")
    assert row.status == "done"


def test_without_intervals_nothing_is_zero() -> None:
    row = made(interval_ms=Quantiles(), interval_ms_by_count={}, first_frame_ms=FirstFrame())
    assert row.p50_frame_ms is row.tails is row.late_share is row.peak_mem_mib is None
    assert row.status == "failed"
    assert not row.has_figures


@pytest.mark.parametrize(
    ("stage", "frame", "place"),
    [
        ("load", None, "load"),
        ("first_frame", 0, "first frame"),
        ("steady", 12, "frame 12"),
        (None, 0, "first frame"),
        ("idle", None, "idle"),
        (None, None, "unknown place"),
    ],
)
def test_where_memory_ran_out_is_named(stage: Any, frame: int | None, place: str) -> None:
    memory = MemorySummary(ooms=[OomSummary(stage=stage, frame=frame, message="CUDA …")])
    row = made(memory=memory)
    assert row.oom
    assert row.oom_place == place
    assert (row.oom_stage, row.oom_frame) == (stage, frame)
    assert made().oom_place is None


def test_only_what_gave_no_frames_cannot_load() -> None:
    memory = MemorySummary(ooms=[OomSummary(stage="load", frame=None, message="x")])
    assert not made(memory=memory).cannot_load
    nothing = made(memory=memory, interval_ms=Quantiles(), interval_ms_by_count={})
    assert nothing.cannot_load
    assert nothing.status == "done"  # it is a finding, not a failure


def test_signs_of_memory_trouble() -> None:
    assert made().memory_signs == []
    full = MemorySummary(peak=PeakMemory(mib=960, stage="steady"), total_mib=1000, retries=3)
    signs = made(memory=full, causes={"alloc_retry": CauseTotal(frames=2, lost_ms=5)}).memory_signs
    assert len(signs) == 3
    assert "3 times" in signs[0]
    assert "96 %" in signs[1]
    assert "alloc_retry" in signs[2]
    half = MemorySummary(peak=PeakMemory(mib=500), total_mib=1000, retries=0)
    assert made(memory=half).memory_signs == []
    assert made(memory=half).memory_share == 0.5
