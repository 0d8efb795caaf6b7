"""The generator as a process of its own: every fault, its events, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from watched import SMALL, Watched, frames_in, watch

from mgtop.wire.records import (
    AnyEvent,
    Compile,
    FrameEmit,
    GarbageCollection,
    Load,
    PreprocessDone,
    Queue,
    RequestReceived,
    StreamEnd,
)

STRUCK = {
    "stall": 6,
    "cpu": 10,
    "gc": 14,
    "output": 18,
    "compute": 22,
    "queue": 26,
    "compile": 30,
}
BUSY_MS = 300.0
"""A machine that is busy makes a strike longer, by as much as a slow compilation."""
WANTED_MS = 150.0
TOLERANCE_MS = {"compile": 120.0, "gc": 75.0}
"""A strike of whole collections, or compilations, comes as near as half of one; what one takes was
measured before, and a busy machine takes more or less of it the next time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def run(folder: Path) -> Watched:
    """Two requests of 20 emits each, and every fault that a CPU can have."""
    faults = [f"{name}:at={emit},ms={WANTED_MS:.0f}" for name, emit in STRUCK.items()]
    return watch(
        folder,
        *SMALL,
        *("--requests", "2", "--frames", "77", "--block", "4"),
        *(word for fault in [*faults, "leak:at=34,mib=3"] for word in ("--fault", fault)),
        *("--truth", str(folder / "truth.json"), "--out", str(folder)),
    )


@pytest.fixture(scope="module")
def strikes(run: Watched, folder: Path) -> dict[str, dict[str, float]]:
    assert run.code == 0, run.stderr
    lines = (folder / "truth.json").read_text().splitlines()
    return {strike["fault"]: strike for strike in map(json.loads, lines)}


def test_it_says_that_the_weights_are_random(run: Watched):
    assert "RANDOM" in run.stdout.splitlines()[0]
    assert run.stderr == ""


def test_all_events_come_in_order(run: Watched):
    assert [load.done for load in run.all(Load)] == [False, True]
    # Told again once a second, for whoever comes late.
    requests = list(
        {request.id: request for request in reversed(run.all(RequestReceived))}.values()
    )
    requests.sort(key=lambda request: request.t_ns)
    assert [request.id for request in requests] == ["demo-1", "demo-2"]
    assert requests[0].params == {
        "width": 64, "height": 64, "steps": 2, "fps": 20.0, "block": 4, "seed": 0,
    }  # fmt: skip
    for request in requests:
        emits = [emit for emit in run.all(FrameEmit) if emit.request == request.request]
        assert [(emit.emit, emit.index, emit.count) for emit in emits] == [
            (number, max(0, 4 * number - 3), 4 if number else 1) for number in range(20)
        ]
        done = [event for event in run.all(PreprocessDone) if event.request == request.request]
        ends = [event for event in run.all(StreamEnd) if event.request == request.request]
        assert len(done) == len(ends) == 1
        assert ends[0].frames == 77
        assert request.t_ns < done[0].t_ns < emits[0].t_ns < ends[0].t_ns


def test_every_stage_has_its_spans(run: Watched):
    emits = len(run.all(FrameEmit))
    for name in ("resize", "h2d", "vae_decode", "postprocess", "encode", "write"):
        assert len(run.spans(name)) == emits
    assert len(run.spans("forward")) == 3 * emits  # two steps, and one for the cache
    decoded = [span.index for span in run.spans("decode") if span.request == 1]
    assert decoded[:77] == list(range(77))
    assert {span.tid for span in run.spans("decode")}.isdisjoint(
        emit.tid for emit in run.all(FrameEmit)
    )


def test_videos_can_be_played(run: Watched, folder: Path):
    assert run.code == 0
    assert [frames_in(path) for path in sorted(folder.glob("*.ts"))] == [77, 77]


@pytest.mark.parametrize("name", STRUCK)
def test_a_fault_strikes_the_emit_it_was_ordered_for(
    name: str, strikes: dict[str, dict[str, float]], run: Watched
):
    strike = strikes[name]
    request, emit = divmod(STRUCK[name], 20)
    assert (strike["run_emit"], strike["request"]) == (STRUCK[name], f"demo-{request + 1}")
    assert (strike["emit"], strike["index"]) == (emit, 4 * emit - 3)
    least = WANTED_MS - TOLERANCE_MS.get(name, 2.0)
    most = WANTED_MS + TOLERANCE_MS.get(name, 0.0) + BUSY_MS
    assert least <= strike["injected_ms"] <= most
    emits = [event for event in run.all(FrameEmit) if event.request == request + 1]
    assert emits[emit - 1].t_ns < strike["t_begin_ns"] < strike["t_end_ns"] < emits[emit].t_ns
    interval_ms = run.intervals_ms(request + 1)[emit]
    assert interval_ms >= strike["injected_ms"]


SPANS = {"cpu": "resize", "gc": "postprocess", "output": "write", "compute": "forward"}


@pytest.mark.parametrize("name", [*SPANS, "compile", "stall", "queue"])
def test_a_fault_strikes_inside_its_span(
    name: str, strikes: dict[str, dict[str, float]], run: Watched
):
    strike = strikes[name]
    inside = {
        span_name
        for span_name in (
            "resize",
            "h2d",
            "forward",
            "vae_decode",
            "postprocess",
            "encode",
            "write",
        )
        for span in run.spans(span_name)
        if span.t_ns - span.duration_ns <= strike["t_begin_ns"] and strike["t_end_ns"] <= span.t_ns
    }
    expected = {"compile": "postprocess"} | SPANS
    assert inside == ({expected[name]} if name in expected else set())


def test_what_a_fault_does_is_real(strikes: dict[str, dict[str, float]], run: Watched):
    def during(name: str, events: list[AnyEvent]) -> list[AnyEvent]:
        begin, end = strikes[name]["t_begin_ns"], strikes[name]["t_end_ns"]
        return [event for event in events if begin <= event.t_ns <= end]

    collections = during("gc", list(run.all(GarbageCollection)))
    took_ns = sum(
        event.duration_ns for event in collections if isinstance(event, GarbageCollection)
    )
    assert took_ns / 1e6 > 0.8 * strikes["gc"]["injected_ms"]
    compilations = during("compile", list(run.all(Compile)))
    took_ns = sum(event.duration_ns for event in compilations if isinstance(event, Compile))
    assert took_ns / 1e6 > 0.5 * strikes["compile"]["injected_ms"]
    queue = [event for event in run.all(Queue) if event.t_ns <= strikes["queue"]["t_begin_ns"]]
    assert queue[-1].depth == 0
    assert strikes["leak"]["bytes"] == 3 << 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(number: signal.Signals, tmp_path: Path):
    sent = False

    def stop_once(process: subprocess.Popen[str], events: list[AnyEvent]) -> None:
        nonlocal sent
        if not sent and sum(isinstance(event, FrameEmit) for event in events) >= 5:
            process.send_signal(number)
            sent = True

    run = watch(tmp_path, *SMALL, "--requests", "0", "--out", str(tmp_path), during=stop_once)
    assert run.code == 0, run.stderr
    frames = sum(emit.count for emit in run.all(FrameEmit))
    ends = run.all(StreamEnd)
    assert len(ends) == len(run.all(RequestReceived))
    assert sum(end.frames or 0 for end in ends) == frames
    assert sum(frames_in(path) for path in tmp_path.glob("*.ts")) == frames
    assert "Traceback" not in run.stderr


def test_a_fault_that_needs_a_gpu_ends_with_a_sentence(tmp_path: Path):
    if _has_gpu():
        pytest.skip("this machine has a GPU, which --device auto would take")
    run = watch(tmp_path, *SMALL[2:], "--fault", "vram", "--out", str(tmp_path))
    assert run.code == 2
    assert run.stderr == "mgtop.demo: --fault vram: it needs --device cuda.\n"


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
