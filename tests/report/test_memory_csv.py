"""Memory by stage as CSV."""

from __future__ import annotations

import csv

from report_summaries import BLOCKS_ON_A_GPU, EMPTY, FROM_A_LOG

from mgtop.analysis.memory_figures import (
    MemoryReading,
    MemorySummary,
    PeakMemory,
    StageMemory,
)
from mgtop.analysis.summary import RequestSummary, SessionInfo, Summary
from mgtop.report.memory_csv import COLUMNS, render


def rows(summary: Summary) -> list[dict[str, str]]:
    return list(csv.DictReader(render(summary).splitlines()))


def test_the_columns_are_always_there() -> None:
    assert render(EMPTY) == ",".join(COLUMNS) + "\n"
    assert rows(FROM_A_LOG) == []


def test_a_row_for_each_stage_and_each_error() -> None:
    load, steady, oom = rows(BLOCKS_ON_A_GPU)
    assert load["timestamp"] == "2026-11-30T22:15:20.000+01:00"
    assert (load["stage"], load["steps"], load["resolution"]) == ("load", "16", "1280x720")
    assert (load["weights_resident_mib"], load["peak_extra_mib"]) == ("38400.0", "600.0")
    assert load["total_used_mib"] == "39000.0"
    assert "stage inferred" in load["note"]
    assert "process memory by the driver" in load["note"]
    assert "peak of the session" in steady["note"]
    assert oom["note"].startswith("out of memory at frame 310: CUDA out of memory")
    assert oom["total_used_mib"] == "52000.0"


def test_the_frameworks_figures_where_the_driver_tells_none() -> None:
    summary = Summary(
        session=SessionInfo(name="x", params={"steps": 4}),
        requests=[],
        memory=MemorySummary(
            peak=PeakMemory(mib=900.0, stage="steady", t_ms=5.0, source="framework"),
            stages={"steady": StageMemory(reserved_mib=900.0, t_ms=5_250.0)},
            readings={"resident": MemoryReading(reserved_mib=700.0)},
            text="Flat.",
        ),
    )
    (row,) = rows(summary)
    assert row["timestamp"] == "5.250"
    assert (row["weights_resident_mib"], row["peak_extra_mib"]) == ("700.0", "200.0")
    assert row["note"] == "reserved by the framework; peak of the session; Flat."


def test_what_is_not_known_is_empty() -> None:
    memory = MemorySummary(stages={"load": StageMemory(device_mib=4_000.0)})
    (row,) = rows(Summary(memory=memory))
    assert (row["total_used_mib"], row["peak_extra_mib"], row["timestamp"]) == ("", "", "")
    assert "not known" in row["note"]


def test_the_size_comes_from_the_request_where_the_session_has_none() -> None:
    from mgtop.analysis.summary import Quantiles

    request = RequestSummary(
        id="a", warmup=False, received_ms=0.0, preprocess_ms=None, first_frame_ms=None, frames=1,
        blocks=1, ended=True, interval_ms=Quantiles(), tails=0,
        params={"w": 640, "h": 360, "steps": 8},
    )  # fmt: skip
    memory = MemorySummary(stages={"load": StageMemory()})
    (row,) = rows(Summary(requests=[request], memory=memory))
    assert (row["steps"], row["resolution"]) == ("8", "640x360")
