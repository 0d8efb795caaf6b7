"""A request in this process: what is told in which order, and where faults strike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from watched import frames_in

from mgtop.demo.blocks import Blocks
from mgtop.demo.clip import find_clip
from mgtop.demo.errors import DemoError
from mgtop.demo.faults.conductor import APART, SPARED, Conductor
from mgtop.demo.faults.orders import parse_order
from mgtop.demo.generator import Generator
from mgtop.demo.options import parse
from mgtop.demo.run import KEPT, Run
from mgtop.demo.serving import Faultless, Service
from mgtop.demo.truth import Truth


class Told:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.counts: list[int] = []

    @contextmanager
    def span(self, name: str, index: int | None = None) -> Iterator[None]:
        if name != "decode":  # of another thread, which works ahead
            self.said.append(name)
        yield

    def preprocess_done(self) -> None:
        self.said.append("preprocess_done")

    def frame(self, count: int = 1) -> None:
        self.said.append("frame")
        self.counts.append(count)


def _service(block: int, tmp_path: Path) -> Service:
    generator = Generator(torch.device("cpu"), Blocks(block), 64, 64, 2, 0)
    return Service(generator, find_clip(tmp_path), Blocks(block), lambda: False)


@pytest.mark.parametrize(("block", "counts"), [(1, [1, 1, 1]), (4, [1, 4, 4]), (12, [9, 12, 12])])
def test_blocks_are_told_and_written(block: int, counts: list[int], tmp_path: Path):
    told, path = Told(), tmp_path / "out.ts"
    depths: list[int] = []
    frames, times = _service(block, tmp_path).serve(
        told,
        Faultless(),
        path,
        fps=24,
        emits=3,
        seed=0,
        queue=lambda _name, depth, _capacity: depths.append(depth),
    )
    assert told.counts == counts
    assert frames == sum(counts) == frames_in(path)
    assert times == sorted(times)
    assert len(times) == 3
    made = ["forward"] * 3 + ["vae_decode", "postprocess", "encode", "write", "frame"]
    assert told.said == ["resize", "h2d", "preprocess_done", *made, *(["resize", "h2d", *made] * 2)]
    assert max(depths) <= max(8, 2 * block)


def _struck(
    tmp_path: Path, fault: str, *, emits: int, requests: int = 1
) -> list[dict[str, object]]:
    """Strikes of a run in this process."""
    truth = Truth(tmp_path / "truth.json")
    conductor = Conductor([parse_order(fault)], truth)
    service = _service(4, tmp_path)
    generator = Generator(torch.device("cpu"), Blocks(4), 64, 64, 2, 0)
    conductor.prepare(generator, service.capacity, 4, seed=0)
    conductor.settle()
    for number in range(requests):
        watch = conductor.watch(f"r{number}", Blocks(4), emits)
        service.serve(
            Told(),
            watch,
            tmp_path / "out.ts",
            fps=24,
            emits=emits,
            seed=0,
            queue=lambda *_: None,
        )
    truth.close()
    return [json.loads(line) for line in (tmp_path / "truth.json").read_text().splitlines()]


def test_emits_are_counted_over_the_run(tmp_path: Path):
    strikes = _struck(tmp_path, "stall:at=0+7+12,ms=5", emits=5, requests=3)
    assert [(s["run_emit"], s["request"], s["emit"], s["index"]) for s in strikes] == [
        (0, "r0", 0, 0),
        (7, "r1", 2, 5),
        (12, "r2", 2, 5),
    ]


def test_a_line_of_the_truth(tmp_path: Path):
    (strike,) = _struck(tmp_path, "stall:at=2,ms=20", emits=4)
    assert strike.keys() == {
        "fault", "cause", "request", "emit", "index", "run_emit", "t_begin_ns", "t_end_ns",
        "injected_ms", "bytes",
    }  # fmt: skip
    assert (strike["fault"], strike["cause"], strike["bytes"]) == ("stall", "blocked", None)
    begin, end = strike["t_begin_ns"], strike["t_end_ns"]
    assert isinstance(begin, int)
    assert isinstance(end, int)
    assert strike["injected_ms"] == pytest.approx((end - begin) / 1e6)


def test_a_leak_tells_what_it_kept(tmp_path: Path):
    strikes = _struck(tmp_path, "leak:mib=0.5", emits=3)
    assert [strike["bytes"] for strike in strikes] == [1 << 19] * 3
    assert {strike["cause"] for strike in strikes} == {None}


@pytest.mark.parametrize("at", ["0", "1", "5", "9"])
def test_the_queue_runs_empty_before_the_very_emit(at: str, tmp_path: Path):
    (strike,) = _struck(tmp_path, f"queue:at={at},ms=40", emits=10)
    assert strike["emit"] == int(at)
    assert 40 <= float(str(strike["injected_ms"])) < 200


def test_random_strikes_spare_the_start_and_stand_apart(tmp_path: Path):
    strikes = _struck(tmp_path, "stall:every=0.1s,ms=20", emits=12, requests=4)
    emits = [int(str(strike["run_emit"])) for strike in strikes]
    assert len(emits) > 3
    assert all(int(str(strike["emit"])) >= SPARED for strike in strikes)
    assert all(late - early >= APART for early, late in pairwise(emits))


def test_without_ms_a_strike_outlasts_the_usual_interval(tmp_path: Path):
    (strike,) = _struck(tmp_path, "stall:at=6", emits=8)
    assert float(str(strike["injected_ms"])) >= 120


def test_gpu_memory_needs_a_gpu(tmp_path: Path):
    conductor = Conductor([parse_order("vram")], Truth(None))
    generator = Generator(torch.device("cpu"), Blocks(4), 64, 64, 2, 0)
    with pytest.raises(DemoError, match=r"--fault vram: it needs --device cuda\."):
        conductor.prepare(generator, 8, 4, seed=0)


def test_a_truth_file_that_cannot_be_is_named(tmp_path: Path):
    with pytest.raises(DemoError, match=r"--truth .*nowhere.*No such file"):
        Truth(tmp_path / "nowhere" / "truth.json")
    with pytest.raises(DemoError, match="The truth file cannot be written: No space left"):
        _full_truth(tmp_path)


def _full_truth(tmp_path: Path) -> None:
    conductor = Conductor([parse_order("stall:at=1,ms=1")], Truth(Path("/dev/full")))
    service = _service(4, tmp_path)
    conductor.prepare(Generator(torch.device("cpu"), Blocks(4), 64, 64, 2, 0), 8, 4, seed=0)
    service.serve(
        Told(), conductor.watch("r", Blocks(4), 3), tmp_path / "o.ts", fps=24, emits=3, seed=0,
        queue=lambda *_: None,
    )  # fmt: skip


def test_an_endless_run_keeps_the_newest_videos(tmp_path: Path):
    run = Run(parse(["--requests", "0", "--out", str(tmp_path)]), print)
    paths = [tmp_path / f"request-{number}.ts" for number in range(KEPT + 3)]
    for path in paths:
        run._make_room(path)
        path.write_text("video")
    assert sorted(tmp_path.iterdir()) == sorted(paths[3:])
