"""Modules that torch compiles, hooked: the same graphs, no recompilation, and their frames."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.hook_launches import launch, write_program
from mgtop.config.structs import Frames, Hook
from mgtop.wire.records import FrameEmit, Span

pytest.importorskip("torch")

MODELS = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
    def forward(self, x):
        return torch.relu(self.inner(x))

class DiT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

def twice(x):
    return 2 * x

class Streamer(torch.nn.Module):
    def forward(self, n):
        for _ in range(n):
            yield torch.ones(2)
"""
COMPILED = """
import threading, torch, models
from torch._dynamo.utils import counters

def run(ways):
    for way in ways:
        torch.manual_seed(0)
        torch._dynamo.reset()
        counters.clear()
        model = models.DiT()
        options = {"backend": "aot_eager", "fullgraph": True}
        if way == "whole":
            call = torch.compile(model, **options)
        elif way == "in place":
            model.compile(**options)
            call = model
        elif way == "forward":
            model.forward = torch.compile(model.forward, **options)
            call = model
        elif way == "around":
            call = torch.compile(lambda x: models.twice(model(x)), **options)
        else:
            call = model
        with torch.no_grad():
            for _ in range(5):
                total = call(torch.ones(2, 8)).sum().item()
        print(way, round(total, 4), counters["stats"]["unique_graphs"],
              counters["stats"]["calls_captured"], len(counters["graph_break"]))

run(["eager", "whole", "in place", "forward", "around"])

streamer = models.Streamer()
streamer(9)  # never begun
begun = streamer(9)  # taken up by another thread
thread = threading.Thread(target=lambda: list(begun))
thread.start()
thread.join()
assert [len(list(streamer(n))) for n in (3, 4)] == [3, 4]
"""
FRAMES = Frames(
    hooks=[
        Hook(target="models:DiT.forward", event="frame_emit", span="forward"),
        Hook(target="models:Streamer.forward", event="frame_emit"),
        Hook(target="models:Block.__call__", span="block"),
        Hook(target="models:twice", span="twice"),
    ]
)


def test_the_same_graphs_and_the_frames_of_what_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    write_program(folder)
    (folder / "models.py").write_text(MODELS)
    (folder / "compiled.py").write_text(COMPILED)
    words = [sys.executable, "compiled.py"]
    hooked, plain = launch(words, folder, FRAMES), launch(words, folder, Frames(from_="probe"))
    assert hooked.code == plain.code == 0, hooked.output
    assert hooked.output == plain.output
    graphs = [line.split()[-3:] for line in plain.output.splitlines()]
    assert graphs == [["0", "0", "0"], *[["1", "4", "0"]] * 3, ["1", "5", "0"]]
    # Five calls each, but of the model inside other compiled code, which is no call any more.
    # A module that hands out generators: one frame for each item, wherever they are run.
    assert len([event for event in hooked.events if isinstance(event, FrameEmit)]) == 20 + 16
    assert plain.frames == {}
    assert [event for event in hooked.events if isinstance(event, Span)]
