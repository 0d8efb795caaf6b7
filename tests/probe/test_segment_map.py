"""A map of the allocator's segments: asked for by a file, taken at an emit, answered by a file."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_torch import Gpu

from mgtop import probe
from mgtop.probe import gpu_work, outlet, segment_map, torch_memory, torch_watch
from mgtop.wire.records import SegmentMap

MIB = 1 << 20


def segment(total: int, allocated: int, *blocks: tuple[int, str]) -> dict[str, Any]:
    """A segment as torch tells it, with what mgtop has no use for."""
    return {
        "device": 0, "address": 1 << 40, "total_size": total, "allocated_size": allocated,
        "active_size": allocated, "requested_size": allocated, "stream": 0,
        "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
        "frames": [{"filename": "secret.py"}],
        "blocks": [
            {"size": size, "requested_size": size, "state": state, "frames": [], "address": 0}
            for size, state in blocks
        ],
    }  # fmt: skip


@pytest.fixture
def gpu(probed: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    made = Gpu()
    made.segments = [
        segment(20 * MIB, 12 * MIB, (12 * MIB, "active_allocated"), (8 * MIB, "inactive")),
        segment(2 * MIB, 0, (2 * MIB, "inactive")),
    ]
    monkeypatch.setitem(sys.modules, "torch", made.module())
    monkeypatch.setattr(torch_watch, "_torch", None)
    monkeypatch.setattr(torch_watch, "seen", 0)
    monkeypatch.setattr(torch_memory, "COST_SHARE", 1e9)
    monkeypatch.setattr(gpu_work, "COST_SHARE", 1e9)
    segment_map.forget()
    torch_memory.forget()
    yield made
    made.capturing = False


class Asker:
    """The other side: puts the question, finds the answer."""

    def __init__(self, folder: Path) -> None:
        self.fifo = folder / f"{os.getpid()}.fifo"

    def ask(self, token: str = "20261201-050000", t_ns: int | None = None) -> None:
        question = Path(f"{self.fifo}.ask")
        question.write_text(f"{token} {time.monotonic_ns() if t_ns is None else t_ns}\n")
        segment_map.next_look_ns = 0

    def answer(self, token: str = "20261201-050000") -> Any:
        path = Path(f"{self.fifo}.map-{token}-{os.getpid()}.json")
        return json.loads(path.read_text()) if path.exists() else None


@pytest.fixture
def asker(probed: Any, gpu: Gpu) -> Asker:
    return Asker(probed.folder)


def test_it_is_taken_at_the_next_emit(probed: Any, gpu: Gpu, asker: Asker) -> None:
    r = probe.request()
    r.frame()
    asker.ask()
    assert asker.answer() is None
    r.frame(count=4)
    found = asker.answer()
    assert (found["pid"], found["backend"], found["token"]) == (
        os.getpid(), "native", "20261201-050000",
    )  # fmt: skip
    assert [s["total"] for s in found["segments"]] == [20 * MIB, 2 * MIB]
    assert found["segments"][0]["blocks"][1] == [8 * MIB, 8 * MIB, "inactive"]
    assert "secret.py" not in json.dumps(found)
    (told,) = probed.read(SegmentMap)
    assert (told.request, told.index, told.token) == (r.number, 4, "20261201-050000")
    assert (told.segments, told.reserved_bytes, told.allocated_bytes) == (2, 22 * MIB, 12 * MIB)
    assert told.error == ""
    assert told.duration_ns > 0
    # Newer torch leaves out the history of allocations when asked to; older knows no such thing.
    assert gpu.snapshot_arguments == [(0, 0, False), None]
    mode = Path(f"{asker.fifo}.map-20261201-050000-{os.getpid()}.json").stat().st_mode
    assert mode & 0o777 == 0o600
    r.end()


def test_a_question_is_answered_once(probed: Any, gpu: Gpu, asker: Asker) -> None:
    r = probe.request()
    asker.ask()
    for _ in range(3):
        segment_map.next_look_ns = 0
        r.frame()
    assert len(probed.read(SegmentMap)) == 1
    asker.ask("another")
    r.frame()
    assert [told.token for told in probed.read(SegmentMap)] == ["another"]
    r.end()


def test_it_is_looked_for_four_times_a_second_at_most(probed: Any, gpu: Gpu, asker: Asker) -> None:
    r = probe.request()
    r.frame()
    out = outlet.current
    assert out is not None
    segment_map.next_look_ns = begin_ns = time.monotonic_ns() - 10_000_000_000
    looks = set()
    for n in range(1_000):
        torch_watch.at_emit(out, r, n, begin_ns + n * 1_000_000)
        looks.add(segment_map.next_look_ns)
    assert sorted(looks) == [begin_ns + (i + 1) * 250_000_000 for i in range(4)]
    r.end()


@pytest.mark.parametrize(
    ("token", "t_ns"),
    [
        ("old", 1),
        ("../../etc/passwd", None),
        ("a b", None),
        ("x" * 65, None),
        ("", None),
    ],
)
def test_what_is_no_question(
    probed: Any, gpu: Gpu, asker: Asker, token: str, t_ns: int | None
) -> None:
    r = probe.request()
    asker.ask(token, t_ns)
    r.frame()
    assert probed.read(SegmentMap) == []
    r.end()


def test_a_link_is_not_followed(probed: Any, gpu: Gpu, asker: Asker, tmp_path: Path) -> None:
    r = probe.request()
    r.frame()
    elsewhere = tmp_path / "question"
    elsewhere.write_text(f"token {time.monotonic_ns()}\n")
    Path(f"{asker.fifo}.ask").symlink_to(elsewhere)
    segment_map.next_look_ns = 0
    r.frame()
    assert probed.read(SegmentMap) == []
    r.end()


def test_what_is_there_already_is_not_written_over(
    probed: Any, gpu: Gpu, asker: Asker, tmp_path: Path
) -> None:
    r = probe.request()
    r.frame()
    precious = tmp_path / "precious"
    precious.write_text("mine")
    Path(f"{asker.fifo}.map-token-{os.getpid()}.json.part").symlink_to(precious)
    asker.ask("token")
    r.frame()
    assert precious.read_text() == "mine"
    (told,) = probed.read(SegmentMap)
    assert told.error.startswith("FileExistsError")
    assert told.segments is None
    r.end()


def test_an_allocator_without_segments_says_so(probed: Any, gpu: Gpu, asker: Asker) -> None:
    gpu.segments, gpu.backend = [], "cudaMallocAsync"
    r = probe.request()
    asker.ask()
    r.frame()
    (told,) = probed.read(SegmentMap)
    assert told.error == "cudaMallocAsync keeps no segments of its own"
    assert asker.answer() is None
    r.end()


def test_nothing_is_taken_while_a_graph_is_captured(probed: Any, gpu: Gpu, asker: Asker) -> None:
    r = probe.request()
    asker.ask()
    gpu.capturing = True
    r.frame()
    assert probed.read(SegmentMap) == []
    gpu.capturing = False
    r.frame()
    assert len(probed.read(SegmentMap)) == 1
    r.end()
