"""Memory in sessions recorded on an H200 by ``benchmarks.gpu.memory``, against torch's figures."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mgtop.analysis.model import Model
from mgtop.analysis.segments import by_device, read_segments
from mgtop.analysis.summary import Summary
from mgtop.session.reader import read_all
from mgtop.session.writer import LOG_NAME

SESSIONS = Path(__file__).parent.parent / "sessions" / "h200-memory"


def summary_of(name: str, folder: Path) -> Summary:
    (folder / LOG_NAME).write_bytes(gzip.decompress((SESSIONS / f"{name}.log.gz").read_bytes()))
    model = Model()
    model.feed_all(read_all(folder))
    model.finish()
    return model.summary()


@pytest.mark.parametrize(("name", "rate"), [("leak_0.5", 0.5), ("expandable", 5.0), ("async", 5.0)])
def test_leaks_of_known_slope(name: str, rate: float, tmp_path: Path) -> None:
    memory = summary_of(name, tmp_path).memory
    assert memory.shape == "rising"
    assert memory.growth is not None
    assert memory.growth.of == "allocated"
    assert memory.growth.mib_per_frame == pytest.approx(rate, rel=0.05)
    assert memory.growth.frames <= 200
    assert memory.frames_to_limit == pytest.approx(140_000 / rate, rel=0.05)


def test_expandable_segments_are_said(tmp_path: Path) -> None:
    assert summary_of("expandable", tmp_path).memory.allocator.expandable is True


def test_cuda_malloc_async_counts_no_retries(tmp_path: Path) -> None:
    memory = summary_of("async", tmp_path).memory
    assert memory.allocator.backend == "cudaMallocAsync"
    assert memory.retries is None


def test_a_first_frame_that_gives_its_memory_back(tmp_path: Path) -> None:
    memory = summary_of("first_frame", tmp_path).memory
    assert (memory.shape, memory.peak.stage) == ("first_frame", "first_frame")
    assert memory.stages["first_frame"].reserved_mib == pytest.approx(7_052, abs=1)
    assert memory.stages["load"].allocated_mib == pytest.approx(2_004, abs=1)


def test_a_peak_between_polls_is_said(tmp_path: Path) -> None:
    memory = summary_of("between_polls", tmp_path).memory
    steady = memory.stages["steady"]
    assert steady.reserved_mib == pytest.approx(4_114, abs=1)
    assert steady.process_mib is not None
    assert steady.process_mib < 2_000
    assert ["missed", "steady"] in [[one.kind, one.stage] for one in memory.differ]


def test_two_processes_and_a_neighbour(tmp_path: Path) -> None:
    memory = summary_of("two", tmp_path).memory
    (gpu,) = memory.gpus
    assert gpu.processes == 2
    assert gpu.reserved_mib == pytest.approx(4_104, abs=2)
    assert gpu.others_mib == pytest.approx(3_540, abs=100)
    assert gpu.process_mib is not None
    assert gpu.device_mib is not None
    assert gpu.process_mib < gpu.device_mib - 2_500


def test_a_sawtooth_at_the_cards_limit(tmp_path: Path) -> None:
    memory = summary_of("sawtooth", tmp_path).memory
    assert (memory.shape, memory.retries, len(memory.retry_marks)) == ("sawtooth", 19, 19)


def test_running_out_at_frame_30_and_another_error_after_it(tmp_path: Path) -> None:
    summary = summary_of("out_of_memory", tmp_path)
    (oom,) = summary.memory.ooms
    assert (oom.stage, oom.frame) == ("steady", 30)
    assert oom.amounts_mib["requested"] == pytest.approx(399_995, abs=1)
    assert (summary.verdict.code, summary.verdict.cause) == ("memory", "oom")


def test_a_map_of_2_003_segments() -> None:
    (found,) = by_device(
        read_segments(gzip.decompress((SESSIONS / "segments.json.gz").read_bytes()))
    )
    assert (found.segments, found.releasable) == (2_003, 1_980)
    assert found.reclaim_low_ms == pytest.approx(118.8)
