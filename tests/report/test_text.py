"""The text report against kept pages, and its promises at any width."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_summaries import BLOCKS_ON_A_GPU, EMPTY, FROM_A_LOG

from mgtop.analysis.summary import MarkSummary, SessionInfo, Summary, Verdict
from mgtop.report.page import NARROWEST, Page, cells, clean, cut, wrap
from mgtop.report.plot import IntervalPlot, columns_for, draw
from mgtop.report.text import render

PAGES = Path(__file__).with_name("pages")
PLOT = IntervalPlot(
    [None if column % 3 == 2 else 48.0 + column % 5 for column in range(columns_for(80) - 1)]
    + [214.0],
    0.0,
    2.601,
)


@pytest.mark.parametrize(
    ("name", "summary", "width", "plot"),
    [
        ("empty", EMPTY, 80, None),
        ("log", FROM_A_LOG, 80, PLOT),
        ("blocks", BLOCKS_ON_A_GPU, 80, None),
        ("blocks-narrow", BLOCKS_ON_A_GPU, 40, None),
    ],
)
def test_page(name: str, summary: Summary, width: int, plot: IntervalPlot | None):
    """Set MGTOP_WRITE_PAGES=1 to accept what the report says now (then read the difference)."""
    text = render(summary, width, plot)
    kept = PAGES / f"{name}.txt"
    if os.environ.get("MGTOP_WRITE_PAGES"):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")


def test_the_verdict_comes_first_and_says_why_and_what_next():
    lines = render(FROM_A_LOG).splitlines()
    assert lines[0] == "VERDICT  stalls"
    assert lines[1].strip().startswith("Steady rhythm, occasional stalls")
    assert [line.strip() for line in lines[2:8]].index("because") < 6
    assert "next" in [line.strip() for line in lines[:8]]


@pytest.mark.parametrize("width", [1, 20, NARROWEST, 57, 80, 132])
@pytest.mark.parametrize("summary", [EMPTY, FROM_A_LOG, BLOCKS_ON_A_GPU])
def test_no_line_is_wider_than_asked(summary: Summary, width: int):
    for line in render(summary, width, PLOT).splitlines():
        assert cells(line) <= max(width, NARROWEST), line


def test_tails_are_ranked_by_excess_and_the_rest_is_counted():
    text = render(BLOCKS_ON_A_GPU)
    section = text[text.index("TAILS") : text.index("CAUSES")]
    excess = [int(line.split()[6]) for line in section.splitlines() if "  r1  " in line]
    assert excess == [600 - number for number in range(10)]
    assert "and 4 more (--json lists all)" in section


def test_evidence_of_the_main_cause_leads():
    text = render(BLOCKS_ON_A_GPU)
    assert text.index("supply 410 ms (span decode") < text.index("vram_drop 400 MiB (nvml")
    assert "alloc_retry at most 50.0 ms of 600 ms excess" in text
    assert "not resolved: gpu_idle" in text
    assert "absent: gc" in text


def test_a_tail_that_is_not_judged_yet_is_pending():
    only = msgspec.structs.replace(BLOCKS_ON_A_GPU.tails, frames=BLOCKS_ON_A_GPU.tails.frames[-1:])
    assert " pending\n" in render(msgspec.structs.replace(BLOCKS_ON_A_GPU, tails=only))


def test_nothing_that_a_terminal_obeys_gets_through():
    evil = "\x1b]0;owned\x07\r\n\x9b31m"
    summary = Summary(
        session=SessionInfo(name=evil, params={evil: evil}),
        marks=[MarkSummary(t_ms=1.0, request=evil, index=0, note=evil)],
        verdict=Verdict(text=evil, because=[evil]),
    )
    text = render(summary)
    assert all(char == "\n" or char.isprintable() for char in text)
    assert "\\x1b" in text


@pytest.mark.parametrize(
    ("end", "live", "said"),
    [
        (None, True, None),
        ("target_exit", False, None),
        ("seconds", False, "ended after the time asked for"),
        ("stopped", False, "ended on request"),
        ("error: the disk is full", False, "broke off: the disk is full"),
        (None, False, "broke off: its recorder was killed, or the log is not complete"),
    ],
)
def test_a_recording_that_did_not_end_with_its_program_says_why(
    end: str | None, live: bool, said: str | None
):
    session = msgspec.structs.replace(BLOCKS_ON_A_GPU.session, end=end, live=live)
    lines = render(msgspec.structs.replace(BLOCKS_ON_A_GPU, session=session), 120).splitlines()
    found = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  recording ")]
    assert found == ([] if said is None else [said])


def test_unknown_is_not_zero():
    text = render(EMPTY)
    assert "TAILS  n/a" in text
    assert "fps            n/a" in text


@given(st.text(max_size=200), st.integers(1, 60))
def test_wrapping_keeps_every_word_within_the_width(text: str, width: int):
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cells(line) <= width or len(line) == 1 for line in lines)


@given(st.text(max_size=60), st.integers(0, 60))
def test_cutting_holds_the_width(text: str, width: int):
    assert cells(cut(text, width)) <= width
    assert cut(text, cells(text)) == text


@given(st.text(max_size=60))
def test_clean_text_is_printable(text: str):
    assert clean(text).isprintable()


names = st.text(max_size=30)


@given(
    st.lists(st.tuples(names, names, names), max_size=5),
    st.integers(40, 100),
)
@settings(deadline=None)
def test_tables_hold_the_width_and_hide_no_row(rows: list[tuple[str, str, str]], width: int):
    page = Page(width)
    page.table(("a", "b", "c"), rows, left=("b",))
    lines = page.render().splitlines()
    assert all(cells(line) <= width for line in lines)
    assert len(lines) >= len(rows)


def test_a_plot_of_nothing_is_nothing():
    assert draw(IntervalPlot([None, None], 0.0, 1.0), 80) == []
    assert draw(IntervalPlot([], 0.0, 1.0), 80) == []


@pytest.mark.parametrize("values", [[5.0], [0.0, 0.0], [None, 1e9, 1e-9], [214.0] * 500])
@pytest.mark.parametrize("width", [40, 80])
def test_a_plot_holds_its_width_and_shows_its_scale(values: list[float | None], width: int):
    lines = draw(IntervalPlot(values, 0.0, 90.0), width)
    assert all(cells(line) <= width for line in lines)
    assert any(line.lstrip().startswith("0") for line in lines)


def test_the_highest_stem_stands_at_its_time():
    values: list[float | None] = [10.0] * 100
    values[50] = 200.0
    lines = draw(IntervalPlot(values, 0.0, 100.0), 80)
    canvas = [line.split("┤")[-1] if "┤" in line else line for line in lines]
    top = next(line for line in canvas if any("\u2801" <= char <= "\u28ff" for char in line))
    column = next(at for at, char in enumerate(top) if "\u2801" <= char <= "\u28ff")
    assert abs(column / len(top.rstrip("│")) - 0.505) < 0.1


def test_delivery_is_shown_where_the_program_tells_of_it():
    assert "DELIVERY" not in render(FROM_A_LOG)
    (request,) = FROM_A_LOG.requests
    told = msgspec.structs.replace(request, produced=30, delivered=27, dropped=3, duplicated=1)
    text = render(msgspec.structs.replace(FROM_A_LOG, requests=[told]))
    section = text[text.index("DELIVERY") :].splitlines()
    assert section[2].split() == ["7f3a", "30", "27", "3", "1"]
