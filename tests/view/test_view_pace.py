from __future__ import annotations

from mgtop.view.pace import RECOVER_S, SLOWEST_S, Pace


def tick(pace: Pace, now_s: float, late_s: float = 0.0) -> float:
    return pace.ticked(now_s, now_s - late_s)


def test_two_late_ticks_halve_the_rate() -> None:
    pace = Pace(4)
    assert tick(pace, 0.0, late_s=0.5) == 0.25
    assert tick(pace, 1.0, late_s=0.5) == 0.5
    assert str(pace) == "slow line or busy machine: drawn every 0.5 s"


def test_one_late_tick_is_nothing() -> None:
    pace = Pace(4)
    for now in range(20):
        tick(pace, float(now), late_s=0.5 if now % 2 else 0.0)
    assert pace.interval_s == 0.25
    assert str(pace) == ""


def test_it_never_stops_altogether() -> None:
    pace = Pace(4)
    for now in range(100):
        tick(pace, float(now), late_s=60.0)
    assert pace.interval_s == SLOWEST_S


def test_it_recovers_slowly() -> None:
    pace = Pace(4)
    tick(pace, 0.0, late_s=1)
    tick(pace, 1.0, late_s=1)
    tick(pace, 2.0)
    assert tick(pace, 2.0 + RECOVER_S / 2) == 0.5
    now = 2.0
    while pace.interval_s > pace.wanted_s:
        now += 1
        tick(pace, now)
        assert now < 60
    assert now >= 2 + RECOVER_S
    assert str(pace) == ""


def frames(pace: Pace, *answers_s: float) -> float:
    for answer_s in answers_s:
        interval_s = pace.shown(answer_s)
    return interval_s


def test_a_far_line_that_is_fast_is_drawn_on_as_often_as_asked() -> None:
    assert frames(Pace(4), *[0.25] * 20) == 0.25


def test_frames_keep_the_line_busy_for_half_of_the_time() -> None:
    pace = Pace(4)
    assert frames(pace, 0.25, 1.25, 1.25) == 2.0  # a second of it each
    assert str(pace) == "slow line: drawn every 2.0 s"
    assert pace.shown(None) == 2.0


def test_one_slow_answer_is_nothing() -> None:
    assert frames(Pace(4), 0.01, 3.0, 0.01, 3.0, 0.01) == 0.25


def test_a_line_that_stays_slow_is_not_tried_again_and_again() -> None:
    pace = Pace(4)
    for now in range(0, 60, 2):
        pace.shown(0.25 if now < 2 else 1.25)
        tick(pace, float(now))
    assert pace.interval_s == 2.0
    for now in range(60, 120):
        pace.shown(0.25)
        tick(pace, float(now))
    assert pace.interval_s == 0.25
