"""Memory as rows: readings by source, stages, pins, and what is not known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from view_pictures import START, SUMMARY, S, live_view

from mgtop.analysis.live import LiveView, Series
from mgtop.analysis.memory_figures import (
    HostMemorySummary,
    MemoryPin,
    MemoryReading,
    MemorySummary,
    StageMemory,
    StageSpan,
)
from mgtop.analysis.reasons_memory import RELEASE
from mgtop.charts import BLOCKS
from mgtop.view.memory_rows import memory_rows
from mgtop.view.window import Window

MEMORY = MemorySummary(
    total_mib=81_559.0,
    text="Flat: that is the true peak.",
    shape="flat",
    readings={
        "resident": MemoryReading(process_mib=20_000.0, allocated_mib=18_000.0),
        "steady": MemoryReading(process_mib=21_400.0, allocated_mib=None),
    },
    stages={
        "load": StageMemory(process_mib=22_000.0, process_t_ms=3_000.0),
        "steady": StageMemory(process_mib=21_500.0, process_t_ms=30_000.0, allocated_mib=19_000.0),
    },
)


def picture(memory: MemorySummary = MEMORY, **changes: Any) -> LiveView:
    summary = msgspec.structs.replace(SUMMARY, memory=memory)
    view = live_view(summary=summary, memory_gpu=0)
    return msgspec.structs.replace(view, **changes)


def text(view: LiveView, width: int = 120, height: int = 37) -> str:
    window = Window(end_ns=START + width * S // 2, step_ns=S // 2, width=width)
    series = {
        key: msgspec.structs.replace(one, high=one.high[:width], low=one.low[:width])
        for key, one in view.series.items()
    }
    view = msgspec.structs.replace(view, series=series)
    rows = memory_rows(view, window, height, BLOCKS, None)
    assert all(sum(len(run.text) for run in row) == width for row in rows)
    return "\n".join("".join(run.text for run in row).rstrip() for row in rows)


def test_each_source_has_its_row_and_unknown_is_not_zero() -> None:
    lines = text(picture()).split("\n")
    assert lines[0] == " ▸ Flat: that is the true peak."
    row = next(line for line in lines if "process (driver)" in line)
    assert row.split() == [
        "process", "(driver)", "n/a", "20,000", "n/a", "21,400", "22,000", "in", "loading", "0:03",
    ]  # fmt: skip
    row = next(line for line in lines if "allocated (framework)" in line)
    assert row.split()[2:7] == ["n/a", "18,000", "n/a", "n/a", "19,000"]
    assert not any("reserved (framework)" in line for line in lines)


def test_stages_and_pins_stand_on_the_time_axis() -> None:
    view = picture(
        stages=[
            StageSpan(stage="load", begin_ns=START, end_ns=START + 10 * S, inferred=True),
            StageSpan(stage="steady", begin_ns=START + 10 * S, end_ns=None),
        ],
        pins=[
            MemoryPin(t_ns=START + 20 * S, kind="retry", stage="steady", frame=7, text="gave back"),
            MemoryPin(t_ns=START + 30 * S, kind="oom", stage="steady", frame=9, text="no \x1b[m"),
        ],
    )
    lines = text(view).split("\n")
    stages = next(line for line in lines if line.startswith("╵loading?"))
    assert stages.index("╵steady") == 20
    pins = lines[lines.index(stages) + 1]
    assert (pins.index("R"), pins.index("O")) == (40, 60)
    below = [line for line in lines if "frame 9" in line or "frame 7" in line]
    assert below[0].startswith(" O   0:30.0 out of memory  steady, frame 9  no [m")
    assert below[1].startswith(" R   0:20.0 retry  steady, frame 7  gave back")


def test_a_rise_says_what_to_do() -> None:
    rising = msgspec.structs.replace(MEMORY, shape="rising", text="Rises by 2 MiB a frame.")
    assert " → " + RELEASE[:40] in text(picture(rising))
    host = HostMemorySummary(shape="rising", text="RAM of the program rises by 1 MiB a frame.")
    told = text(picture(msgspec.structs.replace(MEMORY, host=host)))
    assert " ▸ RAM of the program rises" in told
    assert " → " + RELEASE[:40] in told


def test_curves_of_the_driver_and_of_the_framework_are_apart() -> None:
    view = picture()
    held = msgspec.structs.replace(view.series["vram:0"], last=19_000.0)
    series = view.series | {"torch_allocated:0": held, "torch_reserved:0": held}
    told = text(msgspec.structs.replace(view, series=series))
    assert "by the driver" in told
    assert "by the framework  0–79.6 GiB  █ allocated 18.6 GiB  ░ reserved 18.6 GiB" in told


def test_without_a_gpu_one_line_says_why() -> None:
    none = Series(name="x", unit="MiB", high=[None], low=[None], reason="no driver here")
    view = picture(
        MemorySummary(unavailable={"process": "no driver here", "device": "no driver here"}),
        series={"vram:0": none, "vram_process:0": none},
    )
    told = text(view)
    assert "GPU memory: n/a (no driver here)." in told
    assert "GPU memory, by driver and framework  n/a: no driver here" in told
    assert "process, device: n/a, no driver here" in told


@pytest.mark.parametrize("height", [7, 9, 12, 21, 37, 80])
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_it_fits(width: int, height: int) -> None:
    lines = text(picture(), width, height).split("\n")
    assert len(lines) <= max(height, 14)
