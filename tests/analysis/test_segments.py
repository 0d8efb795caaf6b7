"""What a map of the allocator's segments says, on hand-made maps."""

from __future__ import annotations

import msgspec
import pytest

from mgtop.analysis.segments import SegmentFile, by_device, read_segments
from mgtop.report.text_segments import render

MIB = 1 << 20


def segment(total: int, *blocks: tuple[int, str], device: int = 0, expandable: bool = False):
    """Sizes in MiB; what no block tells of is in use."""
    used = sum(size for size, state in blocks if state == "active_allocated")
    return {
        "device": device, "total": total * MIB, "allocated": used * MIB, "active": used * MIB,
        "expandable": expandable,
        "blocks": [[size * MIB, size * MIB, state] for size, state in blocks],
    }  # fmt: skip


def file_of(*segments: dict[str, object], backend: str = "native") -> SegmentFile:
    return read_segments(
        msgspec.json.encode(
            {"schema": 1, "pid": 7, "torch": "2.11.0", "backend": backend, "segments": segments,
             "later": "a key of a newer probe"}
        )
    )  # fmt: skip


def test_free_memory_is_what_a_reclaim_can_give_back_and_what_it_cannot() -> None:
    (found,) = by_device(
        file_of(
            segment(400, (300, "active_allocated"), (100, "inactive")),
            segment(200, (200, "inactive")),
            segment(50, (50, "active_allocated")),
        )
    )
    assert (found.segments, found.reserved_mib, found.allocated_mib) == (3, 650, 350)
    assert (found.free_mib, found.largest_free_mib, found.stranded_mib) == (300, 200, 100)
    assert found.fragmentation == pytest.approx(1 / 3)
    assert (found.releasable, found.releasable_mib) == (1, 200)
    assert [block.mib for block in found.largest] == [300, 50]
    assert found.largest[0].segment_mib == 400


@pytest.mark.parametrize(
    ("count", "mib", "low", "high"),
    [(1_982, 20, 118, 119), (382, 20, 21, 24), (30, 2_048, 23, 25), (7, 400, 5, 6)],
)
def test_a_reclaim_costs_what_was_measured(count: int, mib: int, low: float, high: float) -> None:
    """The four rows of the measurement come back."""
    (found,) = by_device(file_of(*[segment(mib, (mib, "inactive"))] * count))
    assert found.releasable == count
    assert low <= found.reclaim_low_ms <= found.reclaim_high_ms <= high


def test_between_the_sizes_that_were_measured_it_is_a_range() -> None:
    (found,) = by_device(file_of(*[segment(100, (100, "inactive"))] * 100))
    assert found.reclaim_low_ms == pytest.approx(6)
    assert found.reclaim_high_ms == pytest.approx(80)


def test_expandable_segments_are_not_given_back_whole() -> None:
    found = file_of(
        segment(4_000, (1_000, "active_allocated"), (3_000, "inactive"), expandable=True)
    )
    (device,) = by_device(found)
    assert (device.expandable, device.releasable) == (1, 0)
    assert "expandable segments are reused in place" in " ".join(render(found).split())


def test_each_device_by_itself() -> None:
    found = by_device(
        file_of(segment(2, (2, "inactive"), device=1), segment(4, (4, "active_allocated")))
    )
    assert [(one.device, one.segments) for one in found] == [(0, 1), (1, 1)]
    assert found[0].fragmentation is None


def test_nothing_held() -> None:
    assert by_device(file_of()) == []
    assert "holds no segment" in render(file_of())


def test_the_text_names_what_a_reader_needs() -> None:
    text = " ".join(
        render(
            file_of(*[segment(20, (20, "inactive"))] * 2_000, segment(40, (40, "active_allocated")))
        ).split()
    )
    assert "2,001 segments" in text
    assert "about 120.0 ms" in text
    assert "fragmentation 100 %" in text


@pytest.mark.parametrize("data", [b"", b"[]", b'{"schema": "x"}', b'{"segments": 3}'])
def test_what_is_no_map(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_segments(data)
