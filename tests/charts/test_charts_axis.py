from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.charts import axis_row, round_up, steps, window_end
from mgtop.charts.axis import clock

S = 1_000_000_000


@pytest.mark.parametrize(
    ("value", "top"),
    [(0.0, 1.0), (-3.0, 1.0), (1.0, 1.0), (1.01, 1.5), (47.0, 50.0), (61.0, 80.0), (95.0, 100.0)],
)
def test_round_tops(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


@given(st.floats(1e-6, 1e12))
def test_the_top_is_above_but_not_far(value: float) -> None:
    assert value * (1 - 1e-9) <= round_up(value) <= 1.6 * value


@pytest.mark.parametrize(
    ("t_ns", "fine", "text"),
    [
        (0, False, "0:00"),
        (62 * S, False, "1:02"),
        (3723 * S, False, "1:02:03"),
        (62 * S + S // 2, True, "1:02.5"),
    ],
)
def test_clock(t_ns: int, fine: bool, text: str) -> None:
    assert clock(t_ns, fine) == text


@given(st.integers(0, 10**18), st.sampled_from(steps()), st.integers(1, 30))
def test_the_window_moves_by_whole_columns(now: int, step: int, hop: int) -> None:
    end = window_end(now, step, hop)
    assert end % (step * hop) == 0
    assert 0 <= end - now < step * hop


def test_the_window_stands_still_between_hops() -> None:
    ends = [window_end(now * S // 4, S // 2, hop=15) for now in range(1, 120)]
    assert len(set(ends)) == 4  # 30 s in hops of 7.5 s


def test_labels_move_with_the_columns() -> None:
    rows = [
        "".join(run.text for run in axis_row(60, begin, S, 0)) for begin in (0, S, 2 * S, 15 * S)
    ]
    assert rows[0].startswith("╵0:00")
    assert rows[0].index("╵0:15") == 15
    assert rows[1].index("╵0:15") == 14
    assert rows[2].index("╵0:15") == 13
    assert rows[3].startswith("╵0:15")
    assert {len(row) for row in rows} == {60}


@given(st.sampled_from(steps()), st.integers(0, 10**14), st.integers(1, 200))
def test_the_axis_fits(step: int, begin: int, width: int) -> None:
    assert sum(len(run.text) for run in axis_row(width, begin, step, 0)) == width
