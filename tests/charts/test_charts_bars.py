from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mgtop.charts import ASCII, Bars, Run, draw, text_row


def picture(bars: Bars, height: int, ascii_only: bool = False) -> list[str]:
    rows = draw(bars, height, ASCII) if ascii_only else draw(bars, height)
    return ["".join(run.text for run in row) for row in rows]


def bands(bars: Bars, height: int) -> list[list[str]]:
    return [[run.band for run in row for _ in run.text] for row in draw(bars, height)]


def test_bars_grow_in_eighths() -> None:
    values = [0.0, 1.0, 4.0, 8.0, 12.0, 16.0]
    assert picture(Bars(values, top=16), 2) == ["    ▄█", " ▁▄███"]


def test_a_gap_is_not_a_zero_and_a_little_is_not_nothing() -> None:
    assert picture(Bars([None, 0.0, 0.001], top=16), 1) == ["  ▁"]


def test_values_beyond_the_scale_say_so() -> None:
    assert picture(Bars([16.0, 17.0], top=16), 2) == ["█▲", "██"]


def test_the_target_is_behind_the_bars() -> None:
    assert picture(Bars([None, 16.0, 2.0], top=16, target=12.0), 2) == ["┄█┄", " █▂"]


def test_tails_go_from_top_to_bottom() -> None:
    bars = Bars([4.0, 16.0, None], top=16, flagged={0, 1, 2})
    assert picture(bars, 2) == ["│││", "▄││"]
    assert bands(bars, 2) == [["tail", "tail_on_bar", "tail"], ["tail", "tail_on_bar", "tail"]]


def test_a_late_bar_is_still_to_be_seen_where_it_is_the_point() -> None:
    bars = Bars([4.0, 12.0, None], top=16, flagged={1, 2}, show_flagged=True)
    assert picture(bars, 2) == [" ▄│", "▄█│"]
    assert bands(bars, 2) == [["empty", "tail", "tail"], ["bar", "tail", "tail"]]


def test_bars_of_a_late_frames_time_have_its_band() -> None:
    bars = Bars([16.0, 16.0, 4.0], top=16, late={0, 1}, flagged={1}, limit=8.0, show_flagged=True)
    assert picture(bars, 2) == ["██ ", "██▄"]
    assert bands(bars, 2) == [["tail", "tail", "empty"], ["tail", "tail", "bar"]]


def test_a_tail_is_seen_before_a_mark() -> None:
    bars = Bars([None, None], top=16, flagged={0}, marked={0, 1})
    assert bands(bars, 1) == [["tail", "mark"]]


def test_a_part_is_told_from_the_whole_without_colours() -> None:
    bars = Bars([16.0, 16.0, 8.0, 12.0], top=16, part=[8.0, 4.0, None, None])
    assert picture(bars, 2) == ["░░ ▄", "█▄░░"]
    assert bands(bars, 2) == [
        ["rest", "rest", "empty", "rest"],
        ["bar", "bar", "rest", "rest"],
    ]


def test_a_tail_through_part_and_whole() -> None:
    bars = Bars([16.0], top=16, part=[8.0], flagged={0})
    assert bands(bars, 2) == [["tail_on_rest"], ["tail_on_bar"]]


def test_rows_over_the_limit_have_their_own_band() -> None:
    bars = Bars([16.0, 6.0], top=16, limit=8.0)
    assert bands(bars, 4) == [["over", "empty"], ["over", "empty"], ["bar", "bar"], ["bar", "bar"]]


def test_ascii() -> None:
    bars = Bars([16.0, 4.0, None, 16.0], top=16, part=[16.0, 4.0, None, 0.0], flagged={2})
    assert picture(bars, 2, True) == ["# |:", "#:|:"]


def test_neighbours_of_one_band_are_one_run() -> None:
    assert draw(Bars([16.0] * 5, top=16), 1) == [[Run("█████", "bar")]]


def test_text_row_keeps_inside_its_width() -> None:
    row = text_row(8, (-1, "abc", "x"), (6, "defg", "y"))
    assert "".join(run.text for run in row) == "bc    de"
    assert [run.band for run in row] == ["x", "empty", "y"]


values = st.lists(st.none() | st.floats(-10, 1e6, allow_nan=False), min_size=1, max_size=40)


@given(values, st.floats(0.1, 1e6), st.integers(1, 8))
def test_every_row_is_as_wide_as_there_are_columns(
    high: list[float | None], top: float, height: int
) -> None:
    rows = picture(Bars(high, top=top), height)
    assert len(rows) == height
    assert {len(row) for row in rows} == {len(high)}


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.integers(1, 6))
def test_a_larger_value_is_never_drawn_lower(a: float, b: float, height: int) -> None:
    low, high = sorted((a, b))
    rows = picture(Bars([low, high], top=100), height)
    fill = " ▁▂▃▄▅▆▇█"
    heights = [sum(fill.index(row[column]) for row in rows) for column in (0, 1)]
    assert heights[0] <= heights[1]


def test_a_peak_of_the_whole_shows_beside_a_small_part() -> None:
    bars = Bars([8.0, 4.0], top=16, part=[2.0, 3.0])
    assert picture(bars, 1) == ["▄▂"]
    assert bands(bars, 1) == [["rest", "bar"]]


columns = st.lists(
    st.tuples(
        st.none() | st.sampled_from([0.0, 1.0, 4.0, 9.0, 16.0, 20.0]), st.sampled_from(range(8))
    ),
    min_size=1,
    max_size=12,
)


@given(st.lists(columns, min_size=2, max_size=6), st.booleans())
def test_drawing_anew_is_drawing_at_once(
    pictures: list[list[tuple[float | None, int]]], show: bool
) -> None:
    """What is kept of a drawing for the next one must not show in it."""

    def bars(cells: list[tuple[float | None, int]]) -> Bars:
        at = [{n for n, (_, marks) in enumerate(cells) if marks & bit} for bit in (1, 2, 4)]
        late, flagged, marked = at
        return Bars(
            [value for value, _ in cells],
            top=16,
            limit=8.0,
            target=12.0,
            late=late,
            flagged=flagged,
            marked=marked,
            show_flagged=show,
        )

    in_turn = [draw(bars(cells), 3) for cells in pictures]
    for cells, rows in zip(pictures, in_turn, strict=True):
        each = [draw(bars([cell]), 3) for cell in cells]  # a column alone is a picture, too
        for row in range(3):
            assert [(g, run.band) for run in rows[row] for g in run.text] == [
                (g, run.band) for column in each for run in column[row] for g in run.text
            ]
