"""Lanes: several requests at once, several GPUs, and who shares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from view_pictures import StillFeed, live_view

from mgtop.analysis.live import GpuPlace, Lane, LiveView, Series, Sharer
from mgtop.view.app import MgtopApp
from mgtop.view.canvas import Canvas
from mgtop.view.lane_panels import gpu_charts, lane_charts, sharers
from mgtop.view.panels import own_gpu

BOB = Sharer(pid=77, name="python3", user="bob", mib=12_390.0)


def crowd(requests: int = 5, gpus: int = 8, mine: int = 2) -> LiveView:
    """So many requests at once on a machine with so many GPUs, of which the target uses some."""
    view = live_view()
    interval, memory, use = (view.series[key] for key in ("interval", "vram:0", "gpu:0"))
    series = dict(view.series)
    for n in range(requests):
        series[f"lane:{n}"] = msgspec.structs.replace(interval, name=f"lane:{n}", last=60.0 + n)
    for gpu in range(1, gpus):
        series[f"gpu:{gpu}"] = msgspec.structs.replace(use, name=f"gpu:{gpu}", last=40.0 + gpu)
        series[f"vram:{gpu}"] = msgspec.structs.replace(memory, name=f"vram:{gpu}")
    lanes = [
        Lane(key=f"lane:{n}", label=f"r{n}", open=n != 1, tails=2 * n, age_ns=10**9)
        for n in range(requests)
    ]
    places = [
        GpuPlace(gpu=n, name="H200", mine=n < mine, sharers=[BOB] if n in (0, 3) else [])
        for n in range(gpus)
    ]
    return msgspec.structs.replace(view, series=series, lanes=lanes, gpus=places)


def labels(charts: list[Any]) -> list[str]:
    return [chart.title.strip() for chart in charts]


def test_a_lane_for_each_request_and_one_for_the_rest() -> None:
    view = crowd()
    assert labels(lane_charts(view, 99)) == [
        "r0  60.0", "r1  ended  2 late", "r2  62.0  4 late", "r3  63.0  6 late",
        "r4  64.0  8 late",
    ]  # fmt: skip
    assert labels(lane_charts(view, 3)) == ["r0  60.0", "r1  ended  2 late", "3 more (f)"]
    assert labels(lane_charts(view, 1)) == ["5 at once (f)"]
    assert lane_charts(crowd(requests=1), 5) == []


def test_the_lane_of_the_rest_shows_the_slowest_of_them() -> None:
    view = crowd(requests=3)
    slow = [None if value is None else 500.0 for value in view.series["lane:2"].high]
    view.series["lane:2"] = msgspec.structs.replace(view.series["lane:2"], high=slow)
    [chart] = lane_charts(view, 1)
    assert chart.bars is not None
    assert max(value for value in chart.bars.high if value is not None) == 500.0


def test_a_request_that_went_silent_says_so() -> None:
    view = crowd(requests=2)
    silent = [msgspec.structs.replace(lane, open=True, age_ns=9 * 10**9) for lane in view.lanes]
    charts = lane_charts(msgspec.structs.replace(view, lanes=silent), 9)
    assert labels(charts)[0] == "r0  silent 9.0 s"


def test_requests_without_a_lane_are_counted() -> None:
    view = msgspec.structs.replace(crowd(), requests_without_lane=7)
    assert labels(lane_charts(view, 3))[-1] == "10 more (f)"


def test_the_targets_gpus_come_first_and_say_who_shares_them() -> None:
    view = crowd()
    assert own_gpu(view) == 0
    charts = labels(gpu_charts(view, 2))
    assert charts[0].startswith("GPU 1  41 %  24.0 GiB/79.6 GiB")
    assert charts[1] == "6 more GPUs, 6 of them busy"
    every = labels(gpu_charts(view, 99))
    assert len(every) == 7
    assert every[1].startswith("GPU 2 (not its)")
    assert "with python3 (bob) 12.1 GiB" in every[2]
    assert gpu_charts(live_view(), 3) == []


def test_many_of_the_targets_gpus_are_folded() -> None:
    charts = labels(gpu_charts(crowd(mine=8), 3))
    assert len(charts) == 3
    assert charts[-1] == "5 more GPUs, 5 of them the target's, 5 of them busy"


def test_names_of_neighbours() -> None:
    nameless = Sharer(pid=5, name="", user="", mib=None)
    place = GpuPlace(gpu=0, name="", mine=True, sharers=[BOB, nameless, nameless])
    assert sharers(place) == "python3 (bob) 12.1 GiB and 2 more"
    assert sharers(place, 8) == "python3 (bob) 12.1 GiB, pid 5 n/a, pid 5 n/a"


@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
async def test_any_number_of_gpus_and_requests_fits(tmp_path: Path, gpus: int) -> None:
    view = crowd(requests=2 * gpus, gpus=gpus, mine=max(1, gpus // 2))
    feed = StillFeed(tmp_path)

    def picture(now: int, begin: int, end: int, columns: int) -> LiveView:
        def cut(series: Series) -> Series:
            high = (series.high * 3)[:columns]
            return msgspec.structs.replace(series, high=high, low=high)

        its = {key: cut(series) for key, series in view.series.items()}
        return msgspec.structs.replace(view, now_ns=now, series=its)

    feed.model.view = picture  # type: ignore[method-assign]
    app = MgtopApp(tmp_path, feed=feed)
    async with app.run_test(size=(80, 24)) as pilot:
        for size in ((80, 24), (60, 15), (40, 10), (120, 40)):
            await pilot.resize_terminal(*size)
            for _ in range(2):  # folded, and not
                await pilot.press("f")
                await pilot.pause()
                rows = app.live.query_one(Canvas).text().split("\n")
                assert len(rows) == size[1]
                assert {len(row) for row in rows} == {size[0]}
                assert "interval ms" in "\n".join(rows)
                assert "late" in rows[-1] or "?" in rows[-1]  # the keys are still there
