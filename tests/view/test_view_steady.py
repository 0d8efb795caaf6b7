"""Figures hold still for a second, unless what they tell of has changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
from view_pictures import SUMMARY, StillFeed, live_view

from mgtop.analysis.summary import Quantiles, Tails
from mgtop.view.app import MgtopApp
from mgtop.view.canvas import Canvas
from mgtop.view.steady import Steady

S = 1_000_000_000
MS = 1_000_000


def test_made_once_a_second() -> None:
    made: list[int] = []
    steady: Steady[int] = Steady()

    def make() -> int:
        made.append(len(made))
        return made[-1]

    seen = [steady.get(t_ms * MS, "key", make) for t_ms in range(0, 3_000, 250)]
    assert seen == [0] * 4 + [1] * 4 + [2] * 4
    assert steady.get(2_800 * MS, "another key", make) == 3
    assert steady.get(2_900 * MS, "another key", make) == 3
    assert steady.get(None, "another key", make) == 4
    assert steady.get(2_900 * MS, "another key", make) == 5


async def test_the_screen_holds_its_figures_but_not_its_bars_and_ages(tmp_path: Path) -> None:
    feed = StillFeed(tmp_path)
    app = MgtopApp(tmp_path, feed=feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()

        def shown(now_ns: int, fps: float, tails: Tails = SUMMARY.tails) -> str:
            summary = msgspec.structs.replace(
                SUMMARY, interval_ms=Quantiles(count=now_ns, p50=62.5), fps=fps, tails=tails
            )
            age_ns = now_ns % S + 500 * MS
            feed.model.view = lambda now, begin, end, columns: live_view(  # type: ignore[method-assign]
                now_ns, begin, end, columns, summary=summary, last_frame_age_ns=age_ns
            )
            app.live.draw()
            return app.live.query_one(Canvas).text()

        start_ns = live_view().start_ns + 50 * S
        first = shown(start_ns, 11)
        assert "fps 11.0" in first
        assert "frame 500 ms ago" in first
        later = shown(start_ns + 250 * MS, 22)
        assert "fps 11.0" in later
        assert "frame 750 ms ago" in later
        assert f" n {start_ns + 250 * MS:,}" in later  # each frame is counted as it comes
        late = msgspec.structs.replace(SUMMARY.tails, count=5)
        assert "fps 33.0" in shown(start_ns + 500 * MS, 33, late)
        assert "fps 44.0" in shown(start_ns + S, 44, late)
