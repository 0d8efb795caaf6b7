"""Which piece of time is shown, and how it moves."""

from __future__ import annotations

from pathlib import Path

from view_pictures import NOW, START, S, StillFeed, live_view

from mgtop.view.timeline import SPEEDS, Timeline


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def recorded(folder: Path) -> tuple[Timeline, Clock]:
    feed, clock = StillFeed(folder), Clock()
    feed._live = False
    timeline = Timeline(feed, clock)
    timeline.choose(80)
    return timeline, clock


def test_a_recorded_session_is_played_at_a_speed(tmp_path: Path) -> None:
    timeline, clock = recorded(tmp_path)
    assert timeline.still
    assert timeline.now_ns == NOW
    timeline.play_or_pause()
    assert timeline.playing
    assert timeline.now_ns == START
    clock.now_s = 3.0
    assert timeline.now_ns == START + 3 * S
    timeline.faster(1)
    assert timeline.speed == 2.0
    clock.now_s = 5.0
    assert timeline.now_ns == START + 7 * S
    timeline.play_or_pause()
    clock.now_s = 50.0
    assert timeline.now_ns == START + 7 * S
    assert timeline.still
    timeline.play_or_pause()
    clock.now_s = 51.0
    assert timeline.now_ns == START + 9 * S


def test_playing_ends_at_the_end_and_begins_anew(tmp_path: Path) -> None:
    timeline, clock = recorded(tmp_path)
    timeline.play_or_pause()
    clock.now_s = 1000.0
    assert timeline.now_ns == NOW
    assert not timeline.playing
    timeline.play_or_pause()
    assert timeline.now_ns == START
    for _ in range(40):
        timeline.faster(1)
    assert timeline.speed == SPEEDS[-1]
    for _ in range(40):
        timeline.faster(-1)
    assert timeline.speed == SPEEDS[0]


def test_going_to_a_time_while_playing_goes_on_from_there(tmp_path: Path) -> None:
    timeline, clock = recorded(tmp_path)
    timeline.play_or_pause()
    timeline.show(START + 20 * S)
    clock.now_s = 2.0
    assert timeline.now_ns == START + 22 * S
    assert timeline.end_ns is None
    timeline.follow()
    assert timeline.now_ns == NOW
    assert not timeline.playing


def test_zooming_keeps_the_time_under_the_mouse(tmp_path: Path) -> None:
    timeline, _ = recorded(tmp_path)
    timeline.show(START + 20 * S)
    window = timeline.choose(80)
    t_ns = window.begin_ns + 20 * window.step_ns
    timeline.zoom(-1, at=0.25)
    after = timeline.choose(80)
    assert after.step_ns < window.step_ns
    assert abs((after.column(t_ns) or 0) - 20) <= 1


def test_moving_stays_within_the_session(tmp_path: Path) -> None:
    timeline = Timeline(StillFeed(tmp_path))
    timeline.choose(80)
    for _ in range(50):
        timeline.move(-20)
        timeline.choose(80)
    assert timeline.window is not None
    assert timeline.window.end_ns > START
    assert timeline.behind_ns()
    for _ in range(50):
        timeline.move(20)
        timeline.choose(80)
    assert timeline.follows


def test_holding(tmp_path: Path) -> None:
    feed = StillFeed(tmp_path)
    timeline = Timeline(feed)
    timeline.choose(80)
    timeline.hold(live_view())
    feed._clock = lambda: NOW + 60 * S
    assert timeline.now_ns == NOW
    assert timeline.still
    timeline.follow()
    assert timeline.now_ns == NOW + 60 * S
