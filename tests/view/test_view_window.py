from __future__ import annotations

from mgtop.analysis.series import LEVELS
from mgtop.charts import steps
from mgtop.view.window import Window

S = 1_000_000_000


def test_a_column_holds_whole_buckets_of_readings() -> None:
    for step in steps():
        coarsest = max(width for width, _ in LEVELS if width <= step)
        assert step % coarsest == 0


def test_columns_of_times() -> None:
    window = Window(end_ns=100 * S, step_ns=S, width=10)
    assert window.begin_ns == 90 * S
    assert [window.column(t) for t in (90 * S, 91 * S - 1, 91 * S, 100 * S - 1)] == [0, 0, 1, 9]
    assert window.column(90 * S - 1) is None
    assert window.column(100 * S) is None


def test_only_columns_that_have_begun_are_asked_for() -> None:
    window = Window(end_ns=100 * S, step_ns=S, width=10)
    assert [window.past(t * S) for t in (93, 100, 200, 20)] == [3, 10, 10, 1]
    assert window.past(93 * S + 1) == 4
