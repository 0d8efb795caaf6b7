"""The virtual viewer, beside a simulation frame by frame."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import MS, Program

from mgtop.analysis.playout import Playout

SECOND = 1_000_000_000


def frames_of(blocks: list[tuple[int, int]]) -> list[int]:
    """Arrival of each frame, from (ms since the last block, frames of the block)."""
    arrivals: list[int] = []
    now = 7 * SECOND
    for after_ms, count in blocks:
        now += after_ms * MS
        arrivals += [now] * count
    return arrivals


def simulate(arrivals: list[int], fps: float, start_ns: float) -> tuple[int, float]:
    """Underruns and stall time (ns) of a player that starts at ``start_ns``."""
    due = start_ns
    underruns, stalled = 0, 0.0
    for i, arrived in enumerate(arrivals):
        if i:
            due += SECOND / fps
        if arrived > due + 1_000:  # a rounding error is no underrun
            underruns += 1
            stalled += arrived - due
            due = arrived
    return underruns, stalled


def play(blocks: list[tuple[int, int]], fps: float, buffer: int | None = None) -> Playout:
    player = Playout(fps, buffer)
    now, index = 7 * SECOND, 0
    for after_ms, count in blocks:
        now += after_ms * MS
        player.add(now, index, count)
        index += count
    return player


BLOCKS = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 13)), min_size=1, max_size=40).map(
    lambda blocks: [(0, blocks[0][1]), *blocks[1:]]
)
RATES = st.sampled_from([8.0, 16.0, 24.0, 29.97, 60.0])


@given(BLOCKS, RATES)
@settings(max_examples=300, deadline=None)
def test_underruns_and_stalls_are_those_of_a_player_frame_by_frame(blocks, fps: float):
    player = play(blocks, fps)
    arrivals = frames_of(blocks)
    underruns, stalled = simulate(arrivals, fps, arrivals[0])
    assert player.underruns == underruns
    assert player.stall_ns == pytest.approx(stalled, abs=100)


@given(BLOCKS, RATES, st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_play_starts_when_the_buffer_has_arrived(blocks, fps: float, buffer: int):
    player = play(blocks, fps, buffer)
    arrivals = frames_of(blocks)
    if len(arrivals) < max(1, buffer):
        assert player.slack_ns(arrivals[-1]) is None
        assert player.underruns == 0
        return
    start = arrivals[max(1, buffer) - 1]
    # What has arrived by the start is there; the simulation takes no notice of it.
    underruns, stalled = simulate([max(a, start) for a in arrivals], fps, start)
    assert player.underruns == underruns
    assert player.stall_ns == pytest.approx(stalled, abs=100)


@given(BLOCKS, RATES)
@settings(max_examples=300, deadline=None)
def test_the_smooth_buffer_is_the_least_that_never_stands_still(blocks, fps: float):
    found = play(blocks, fps).summary()
    arrivals = frames_of(blocks)
    assert found.smooth_buffer_ms is not None
    delay_ns = found.smooth_buffer_ms * 1e6
    assert simulate(arrivals, fps, arrivals[0] + delay_ns)[0] == 0
    if delay_ns > MS:
        assert simulate(arrivals, fps, arrivals[0] + delay_ns - MS)[0] >= 1
    if delay_ns == 0:
        assert found.underruns == 0
    # In frames: so many, played at the target rate, last at least as long.
    assert found.smooth_buffer_frames is not None
    frame_ms = 1e3 / fps
    assert found.smooth_buffer_frames * frame_ms >= found.smooth_buffer_ms - 1e-6
    assert (found.smooth_buffer_frames - 1) * frame_ms < found.smooth_buffer_ms


def test_slack_is_the_video_that_lies_ahead():
    player = Playout(10.0)  # 100 ms a frame
    assert player.slack_ns(0) is None
    player.add(1_000 * MS, 0, 5)
    assert player.slack_ns(1_000 * MS) == 500 * MS
    assert player.slack_ns(1_200 * MS) == 300 * MS
    assert player.add(1_350 * MS, 5, 5) is False  # 150 ms were left
    assert player.slack_ns(1_350 * MS) == 650 * MS
    assert player.slack_ns(2_000 * MS) == 0
    assert player.slack_ns(9_000 * MS) == 0
    assert player.add(2_100 * MS, 10, 1) is True  # due at 2,000
    assert (player.underruns, player.stall_ns) == (1, 100 * MS)
    found = player.summary()
    assert found.slack_min_ms == 0
    assert found.stall_ms == 100
    assert found.stall_ms_per_s == pytest.approx(100 / 1.1)


def test_a_hiccup_is_one_underrun_since_play_goes_on_from_there():
    steady = [(0, 1)] + [(60, 1)] * 10
    player = play([*steady, (500, 1), *steady[1:]], fps=1e3 / 60)
    assert player.underruns == 1
    assert player.stall_ns == pytest.approx(440 * MS, abs=1000)


def test_a_late_block_that_slack_absorbs_is_not_seen():
    player = Playout(16.0)
    now = 0
    lates = []
    for i, after in enumerate([0, 300, 300, 300, 1_400, 300]):
        now += after * MS
        lates.append(player.add(now, 12 * i, 12))
    assert lates == [None, False, False, False, False, False]
    assert player.underruns == 0
    assert player.slack_min_ns == (12 * 62.5 - 300) * MS


def test_nothing_is_late_before_play_starts():
    player = Playout(10.0, buffer_frames=3)
    assert player.add(0, 0, 1) is None
    assert player.add(5 * SECOND, 1, 1) is None
    assert player.add(6 * SECOND, 2, 1) is None
    assert player.add(6 * SECOND + 200 * MS, 3, 1) is False
    assert player.buffer_frames == 3
    assert play([(0, 9), (100, 12)], 16.0).buffer_frames == 9


def test_frames_that_were_lost_are_taken_to_have_come_in_time():
    player = Playout(10.0)
    player.add(0, 0, 1)
    player.add(1_000 * MS, 10, 1)  # 1 to 9 are missing
    assert player.underruns == 0
    player.add(1_150 * MS, 11, 1)
    assert player.stall_ns == pytest.approx(50 * MS)


def test_a_player_that_joins_late_counts_from_where_it_joined():
    player = Playout(10.0)
    player.add(0, 5_000, 1)
    assert player.slack_ns(0) == 100 * MS
    assert player.add(400 * MS, 5_001, 1) is True
    assert player.summary().smooth_buffer_ms == pytest.approx(300)


# ---------------------------------------------------------------------------- keeping up


def verdict(intervals: list[float], fps: float, count: int = 1) -> bool | None:
    player = Playout(fps)
    now, index = 0.0, 0
    for after in [0.0, *intervals]:
        now += after
        player.add(int(now * MS), index, count)
        index += count
    return player.keeps_up()


def test_too_few_emits_say_nothing():
    assert verdict([100.0] * 6, 16.0) is None
    assert verdict([100.0] * 7, 16.0) is False


@pytest.mark.parametrize("emits", [7, 8, 50, 1_000, 5_000])
def test_slower_than_the_target_cannot_keep_up(emits: int):
    assert verdict([66.0] * emits, 16.0) is False  # 62.5 is wanted
    assert verdict([62.5] * emits, 16.0) is True
    assert verdict([60.0] * emits, 16.0) is True
    assert verdict([12 * 66.0] * emits, 16.0, count=12) is False
    assert verdict([12 * 60.0] * emits, 16.0, count=12) is True


def test_the_scatter_of_a_paced_source_is_no_slowness():
    rnd = random.Random(1)
    for seed in range(50):
        rnd.seed(seed)
        assert verdict([rnd.gauss(62.5, 2) for _ in range(400)], 16.0) is True


@pytest.mark.parametrize("at", [1, 10, 50, 98])
def test_one_stall_is_no_slowness_wherever_it_is(at: int):
    intervals = [62.5] * 100
    intervals[at] = 3_000.0
    assert verdict(intervals, 16.0) is True


def test_a_slow_start_is_no_slowness():
    assert verdict([1_000.0] * 10 + [62.0] * 300, 16.0) is True


def test_stalls_again_and_again_cannot_be_kept_up_with():
    assert verdict(([62.5] * 19 + [600.0]) * 30, 16.0) is False


def test_becoming_too_slow_is_said_once_it_shows():
    assert verdict([50.0] * 100 + [150.0] * 100, 16.0) is False


def test_the_rate_is_that_of_all_emits_not_of_those_remembered():
    """Points are thinned; what they say stays true over any length."""
    for emits in (63, 64, 65, 127, 128, 4_097):
        assert verdict([63.2] * emits, 16.0) is False
        assert verdict([63.0] * emits, 16.0) is True


# -------------------------------------------------------------------------- in a session


def test_a_person_is_waited_for_off_the_viewers_clock():
    program = Program(target_fps=10.0).receive()
    program.emits([100, 100, 100])
    program.wait(5_000)
    program.emits([100, 100])
    found = program.summary()
    assert found.playout.underruns == 0
    assert found.playout.smooth_buffer_ms == 0
    assert found.requests[0].playout == found.playout


def test_the_session_shows_the_worst_of_its_requests():
    program = Program(target_fps=10.0)
    for late in (150, 400, 200):
        program.receive().emits([100, 100, late, 100]).end()
    found = program.summary()
    assert [q.playout.stall_ms for q in found.requests] == [50, 300, 100]
    assert found.playout.stall_ms == 300


def test_without_a_target_nothing_is_played():
    program = Program().receive().emits([100, 300, 100])
    found = program.summary()
    assert found.playout.target_fps is None
    assert found.playout.underruns is None
    assert found.rtf is None


@pytest.mark.parametrize("fps", [0, -3, True, "16", None, float("nan"), float("inf"), 10**400])
def test_a_target_that_is_none_is_no_target(fps: object):
    program = Program().receive(fps=fps).emits([100, 300])
    assert program.summary().playout.target_fps is None
    assert Program().receive(fps=16).emits([1, 1]).summary().playout.target_fps == 16
