"""Live, batch or undecided: the rule alone, on calls as programs make them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.landing import (
    FEW,
    Landing,
    block_limit_ns,
    conversion_ns,
)

MS = 1_000_000
S = 1_000 * MS
HD = {"width": 1280, "height": 720}
SMALL = {"width": 832, "height": 480}
BEGUN = 100 * S


def landed(
    gaps_ms: list[float],
    inside_ms: float = 4,
    before_s: float = 30,
    params: dict[str, object] | None = None,
    computed: list[int] | None = None,
    **about: object,
) -> Landing:
    """An output whose calls last so long and have such gaps between them."""
    computed = computed or [0] * (len(gaps_ms) + 1)
    landing = Landing(
        params=SMALL if params is None else params,
        origin_ns=BEGUN,
        computed=computed[0],
        **about,  # type: ignore[arg-type]
    )
    at = BEGUN + int(before_s * S)
    for gap, spans in zip([0.0, *gaps_ms], computed, strict=True):
        begin = at + int(gap * MS)
        at = begin + int(inside_ms * MS)
        landing.add(begin, at, spans)
    return landing


def some(middle_ms: float, n: int, seed: int = 1) -> list[float]:
    """Gaps about as long."""
    chance = random.Random(seed)
    return [middle_ms * chance.uniform(0.8, 1.25) for _ in range(n)]


def test_a_picture_is_converted_in_some_25_ns_a_pixel():
    assert conversion_ns(HD) == 500_000 + 25 * 1280 * 720
    assert conversion_ns({}) == conversion_ns({"width": 640}) == 10 * MS


@pytest.mark.parametrize("gap_ms", [0.01, 0.5, 3, 8])
def test_a_clip_written_after_it_was_made_is_batch(gap_ms: float):
    assert landed(some(gap_ms, 80)).judge() == "batch"


def test_slow_encoding_does_not_make_a_batch_live():
    assert landed(some(1, 80), inside_ms=120).judge() == "batch"


def test_a_stall_while_a_clip_is_written_leaves_it_batch():
    assert landed([*some(1, 40), 300, *some(1, 40)]).judge() != "live"


@pytest.mark.parametrize("gap_ms", [25, 50, 400])
def test_work_between_the_calls_is_live(gap_ms: float):
    assert landed(some(gap_ms, 80)).judge() == "live"
    assert landed(some(gap_ms, 80), inside_ms=200).judge() == "live"


@pytest.mark.parametrize("gap_ms", [14, 17])
def test_between_a_conversion_and_work_is_undecided(gap_ms: float):
    assert landed([gap_ms] * 80).judge() == "undecided"


def test_the_same_gap_says_more_of_a_small_picture():
    assert landed([12.0] * 80, params=HD).judge() == "batch"
    assert landed([12.0] * 80, params={"width": 256, "height": 256}).judge() == "live"


def test_few_calls_are_undecided():
    assert landed(some(400, FEW - 2)).judge() == "undecided"
    assert landed(some(400, FEW - 1)).judge() == "live"


def test_frames_cannot_have_been_made_in_less_time_than_lies_before_the_first():
    """Gaps of conversions alone; but in all they last longer than the program ran before."""
    gaps = some(8, 1_000)
    assert landed(gaps, before_s=2).judge() == "live"
    assert landed(gaps, before_s=6).judge() == "undecided"
    assert landed(gaps, before_s=60).judge() == "batch"


def test_slow_calls_do_not_count_as_time_in_which_frames_were_made():
    assert landed(some(1, 100), inside_ms=200, before_s=3).judge() != "live"


def test_a_complete_clip_in_one_call_is_batch():
    assert landed([], whole=True).judge() == "batch"


def test_what_a_viewer_is_shown_in_its_rhythm_is_live():
    assert landed(some(0.1, 3), sink="aiortc").judge() == "live"


def test_where_nobody_knows_since_when_nothing_is_concluded_from_time_before():
    landing = landed(some(1, 50))
    landing.origin_ns = None
    assert landing.judge() == "undecided"


def test_the_models_own_spans_decide():
    gaps = [15.0] * 40
    between = list(range(3, 44))
    assert landed(gaps).judge() == "undecided"
    assert landed(gaps, computed=between).judge() == "live"
    assert landed(some(1, 40), before_s=0.05).judge() == "undecided"
    assert landed(some(1, 40), before_s=0.05, computed=[25] * 41).judge() == "batch"


@given(
    st.lists(st.floats(0, 60), min_size=1, max_size=60),
    st.floats(0, 50),
    st.floats(0, 100),
)
def test_what_is_called_live_has_time_between_its_calls(gaps: list[float], inside: float, s: float):
    """Never by what the calls themselves last: only gaps, or time before, can decide."""
    fast, slow = landed(gaps, 0.0, s), landed(gaps, inside, s)
    if slow.judge() == "live":
        assert fast.judge() == "live"
    if slow.judge() == "batch":
        assert fast.judge() in ("batch", "undecided")


# ------------------------------------------------------------------------------ blocks


def blocks(sizes: list[int], inner_ms: float, outer_ms: float, seed: int = 3) -> list[int]:
    """Gaps of blocks of such sizes."""
    chance = random.Random(seed)
    gaps: list[float] = []
    for size in sizes:
        gaps += [outer_ms * chance.uniform(0.8, 1.2)]
        gaps += [inner_ms * chance.uniform(0.5, 2) for _ in range(size - 1)]
    return [int(gap * MS) for gap in gaps[1:]]


@pytest.mark.parametrize(
    ("sizes", "inner_ms", "outer_ms"),
    [
        ([9, 12, 12, 12, 12], 1, 600),
        ([5, 4, 4, 4, 4, 4], 3, 90),
        ([2] * 8, 0.2, 40),
        ([80] * 6, 4, 4_000),
        ([12, 12, 12, 12, 5], 0.05, 500),
    ],
)
def test_regular_blocks_are_seen(sizes: list[int], inner_ms: float, outer_ms: float):
    limit = block_limit_ns(blocks(sizes, inner_ms, outer_ms), conversion_ns(SMALL))
    assert limit is not None
    assert 2 * inner_ms * MS < limit < 0.8 * outer_ms * MS


def test_a_steady_stream_with_stalls_is_no_blocks():
    chance = random.Random(5)
    for _ in range(200):
        gaps = [int(4 * MS * chance.uniform(0.7, 1.4)) for _ in range(63)]
        for place in chance.sample(range(63), 5):
            gaps[place] = 400 * MS
        assert block_limit_ns(gaps, conversion_ns(SMALL)) is None


def test_gaps_that_are_work_are_no_inside_of_a_block():
    gaps = blocks([4] * 8, 40, 400)
    assert block_limit_ns(gaps, conversion_ns(SMALL)) is None


def test_a_clip_is_no_block():
    assert block_limit_ns([int(g * MS) for g in some(2, 80)], conversion_ns(SMALL)) is None
    assert block_limit_ns([], conversion_ns({})) is None
    assert block_limit_ns([0] * 40, conversion_ns({})) is None
