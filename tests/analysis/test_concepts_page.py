"""The examples and defaults on the page of concepts are what the analysis does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streams import MS, Program
from test_placement import judge

from mgtop.analysis import evidence
from mgtop.analysis.causes import all_causes
from mgtop.analysis.placement import LONGEST_PERIOD
from mgtop.analysis.playout import Playout
from mgtop.analysis.statistics import EXACT, Samples
from mgtop.config.structs import AnalysisSettings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "concepts.md").read_text()
WORDS = " ".join(PAGE.split())


def says(text: str) -> bool:
    return text in WORDS


def test_links_lead_somewhere():
    headings = re.findall(r"^#+ (.*)$", PAGE, re.M)
    anchors = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        if target.startswith("#"):
            assert target[1:] in anchors
        else:
            assert (DOCS / target.split("#")[0]).exists(), target


def test_every_cause_has_its_link():
    linked = set(re.findall(r"causes/(\w+)\.md", PAGE))
    assert linked == {cause.name for cause in all_causes()}


def test_the_defaults():
    settings = AnalysisSettings()
    assert says(f"`detect.ratio` ({settings.detect.ratio})")
    assert says(f"`detect.floor_ms` ({settings.detect.floor_ms:g})")
    assert says(f"`detect.history` ({settings.detect.history})")
    assert says(f"`thresholds.stall_intervals` ({settings.thresholds.stall_intervals:g})")
    assert says(f"`thresholds.stall_ms` ({settings.thresholds.stall_ms:g})")
    assert says(f"each request (default {settings.warmup.emits})")
    assert settings.thresholds.explained_share == 0.5
    assert says("at least half of the excess (`thresholds.explained_share`)")
    assert says(f"period up to {LONGEST_PERIOD} emits")
    assert says(f"exact up to {EXACT:,} emits")
    assert evidence.matters(500_000, Window(5_000_000))
    assert not evidence.matters(499_999, Window(1_000_000))
    assert not evidence.matters(900_000, Window(10_000_000))


class Window:
    """As much of a tail's window as the question needs."""

    def __init__(self, excess_ns: int) -> None:
        self.excess_ns = excess_ns


def test_the_percentiles():
    found = Samples([42, 48, 51, 214]).quantiles()
    assert (found.p50, found.p95) == (49.5, pytest.approx(189.55))
    assert says("of 42, 48, 51 and 214 ms the P50 is 49.5 and the P95 189.55")


def test_the_late_frame():
    (tail,) = Program().receive().emits([0, 48, 51, 214, 42]).tails()
    assert (tail.interval_ms, tail.excess_ms) == (214, 166)
    assert says("Of 48, 51, 214 and 42 ms the third is late: the median of the others is 48")


def test_the_viewer():
    player = Playout(16.0)
    player.add(0, 0, 12)
    player.add(600 * MS, 12, 12)
    assert player.arrival_slack_ns == 150 * MS
    player.add(1_600 * MS, 24, 12)
    found = player.summary()
    assert (found.underruns, found.stall_ms) == (1, 100)
    assert (found.smooth_buffer_ms, found.smooth_buffer_frames) == (100, 2)
    assert says("stood still for 100 ms. D is 100 ms, or 2 frames.")


def test_the_chance():
    found = judge([60] * 5, {(i, 7) for i in range(5)})
    assert found.p_value == pytest.approx(9.2e-9, rel=0.01)
    assert says("C(300, 5) = 9 · 10⁻⁹")


def test_the_gap():
    program = Program().receive().emits([0, 50, 50]).lose(after_ms=50)
    program.emits([50])
    (request,) = program.summary().requests
    assert request.unknown_intervals == 2
    assert says("of emits 1, 2, 4 the intervals that end at 3 and at 4 are unknown")
