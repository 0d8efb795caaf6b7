"""Rows of the screen as plain text."""

from __future__ import annotations

import subprocess
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_pictures import MS, START, SUMMARY, S, live_view

from mgtop.analysis.summary import (
    CauseTotal,
    Losses,
    Quantiles,
    SessionInfo,
    Summary,
    Tails,
    TargetInfo,
    Verdict,
)
from mgtop.charts import BLOCKS, Run
from mgtop.view.chart_rows import chart_rows, flags_of, shell_lines, title_row
from mgtop.view.layout import lay_out
from mgtop.view.panels import Want, charts_of
from mgtop.view.text_rows import (
    Status,
    detail_rows,
    header_rows,
    key_row,
    readout_rows,
    state_row,
    tail_rows,
    tiny_rows,
)
from mgtop.view.window import Window

RECORDING = Status(recording=True)
WINDOW = Window(end_ns=START + 60 * S, step_ns=S // 2, width=120)


def text(rows: list[list[Run]]) -> list[str]:
    return ["".join(run.text for run in row) for row in rows]


def with_summary(**changes: Any) -> Any:
    return live_view(summary=msgspec.structs.replace(SUMMARY, **changes))


def header(view: Any, status: Status = RECORDING, width: int = 100) -> str:
    rows = [state_row(view, status, width), *header_rows(view, width, 3, bool(status.reading))]
    return "\n".join(text(rows))


def rows_of(view: Any, flagged: frozenset[int] = frozenset(), width: int = 120) -> list[list[Run]]:
    drawn = charts_of(view, width, flagged)
    titles = [title_row(chart, width) for chart in drawn]
    return chart_rows(view, WINDOW, drawn, titles, [3, 2, 2, 2, 2], BLOCKS, None)


def charts(view: Any, width: int = 120) -> list[str]:
    return text(rows_of(view, frozenset(flags_of(view, WINDOW)), width))


# ------------------------------------------------------------------------------- header


def test_the_header_says_what_runs_and_how() -> None:
    shown = header(live_view())
    for part in ("stormlight", "STEADY", "0:47", "● rec", "frame <0.2 s ago", "steps=16"):
        assert part in shown
    assert "python infer.py --steps 16" in shown
    assert "▸ Steady rhythm with occasional stalls: mostly gc." in shown
    assert "LOST" not in shown


def test_a_stall_is_said_with_its_age() -> None:
    shown = header(live_view(state="stalled", last_frame_age_ns=2_300 * MS))
    assert "STALLED for 2.3 s" in shown


def test_loss_and_damage_are_said() -> None:
    shown = header(
        with_summary(losses=Losses(events_dropped=7, events_malformed=1)),
        Status(recording=True, damaged=2),
    )
    assert "7 EVENTS LOST" in shown
    assert "3 malformed" in shown


def test_a_dead_recorder_is_said() -> None:
    shown = header(live_view(), Status(recorder_lost=True))
    assert "RECORDER GONE" in shown
    assert "● rec" not in shown


def test_a_folder_that_was_moved_is_said() -> None:
    shown = header(live_view(), Status(recorder_lost=True, folder_gone=True))
    assert "MOVED OR DELETED" in shown
    assert "RECORDER GONE" not in shown


def test_a_pause_says_what_becomes_of_the_recording() -> None:
    assert "PAUSED (recording goes on)" in header(live_view(), Status(True, recording=True))
    assert "PAUSED (no longer recorded)" in header(live_view(), Status(True))


def test_a_log_that_is_read_for_the_first_time_says_so_and_whose_it_is() -> None:
    status = Status(name="20261201-101500-clip", reading="READING THE LOG 43 %", recording=True)
    nothing = header(live_view(summary=Summary(), state="waiting"), status)
    assert "20261201-101500-clip READING THE LOG 43 %" in nothing
    assert "WAITING" not in nothing
    assert "imported" not in nothing
    assert "No frame" not in nothing
    assert "outside" not in nothing
    known = header(live_view(), status)
    assert "stormlight READING THE LOG 43 %" in known
    assert "20261201-101500-clip" not in known


def test_figures_of_the_last_minute_are_not_passed_off_as_those_of_the_session() -> None:
    shown = header(live_view(), Status(partly="last minute, 27 % read"), 80)
    assert "STEADY 0:47  last minute, 27 % read" in shown


def test_an_ended_target_says_how() -> None:
    failed = msgspec.structs.replace(SUMMARY.target, exit_code=3)
    killed = msgspec.structs.replace(SUMMARY.target, exit_signal=9)
    for target, said in ((failed, "exited with 3"), (killed, "killed by signal 9")):
        summary = msgspec.structs.replace(SUMMARY, target=target)
        shown = header(live_view(state="ended", last_frame_age_ns=None, summary=summary))
        assert "ENDED" in shown
        assert said in shown


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("error: the disk is full", "✖ RECORDING BROKE OFF: the disk is full"),
        ("stopped", "recording ended, the target may go on"),
        ("imported", "ENDED"),
    ],
)
def test_a_recording_that_ended_before_its_target_says_why(end: str, said: str) -> None:
    view = with_summary(session=msgspec.structs.replace(SUMMARY.session, end=end, live=False))
    view = msgspec.structs.replace(view, state="ended", last_frame_age_ns=None)
    assert said in header(view)


def test_names_cannot_command_the_terminal() -> None:
    evil = "\x1b[2Jx\x07\x9b31m\u202egnp"
    view = with_summary(
        session=SessionInfo(name=evil, params={evil: evil}),
        target=TargetInfo(pid=1, command=[evil]),
    )
    assert not any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 for row in [header(view)]
                   for sign in row.replace("\n", ""))  # fmt: skip
    assert "\u202e" not in header(view)


@given(st.text(max_size=60), st.integers(20, 140))
def test_rows_have_the_width_of_the_screen(name: str, width: int) -> None:
    from rich.cells import cell_len

    view = with_summary(session=SessionInfo(name=name, params={"prompt": name}))
    for row in header(view, RECORDING, width).split("\n"):
        assert cell_len(row) == width


# ------------------------------------------------------------------------------- figures


@pytest.mark.parametrize("width", [80, 120])
def test_all_figures_fit(width: int) -> None:
    one, two = text(readout_rows(live_view(), width, 2))
    for part in ("P50 62.5", "P95 66.0", "P99 210", "max 212", "n 740", "1,120 = 38.0 pre + 1,082"):
        assert part in one
    for part in ("fps 15.8/16", "slack 850 ms", "underruns 2", "6.4 ms/s", "late 4", "600 ms"):
        assert part in two
    assert "…" not in one + two


def test_what_is_not_known_is_never_zero() -> None:
    view = live_view(summary=Summary(interval_ms=Quantiles()), slack_ms=None)
    one, two = text(readout_rows(view, 120, 2))
    assert "P50 n/a" in one
    assert "first frame n/a" in one
    for part in ("fps n/a", "slack n/a", "underruns n/a", "stalls n/a"):
        assert part in two


def test_the_keys_give_way_to_what_was_just_done() -> None:
    def keys(status: Status, listed: str = "? help") -> str:
        return text([key_row(live_view(), status, listed, 80)])[0]

    assert keys(RECORDING).split() == ["?", "help", "mgtop", "1.4", "%"]
    assert keys(Status(message="marked")).split() == ["marked", "mgtop", "1.4", "%"]
    assert keys(RECORDING, "x" * 75).strip() == "x" * 75


# -------------------------------------------------------------------------------- charts


def test_every_chart_tells_unit_period_and_age() -> None:
    shown = "\n".join(charts(live_view()))
    assert "interval ms  0–300  last 62.5  target 62.5 ┄  every emit" in shown
    assert "█ process 20.9  ░ device 24.0 of 79.6 GiB  every 16 ms, <1 s old" in shown
    assert "GPU %  0–100  last 97 %  █ lowest ░ highest  every 200 ms, <1 s old" in shown
    assert "CPU %  0–25 of 16 cores  █ target 7 %  ░ system 12 %  every 100 ms" in shown


def test_absent_stale_and_zero_look_different() -> None:
    view = live_view()
    gpu = view.series["gpu:0"]
    nothing = [None] * len(gpu.high)

    def title(**changes: Any) -> str:
        changed = {**view.series, "gpu:0": msgspec.structs.replace(gpu, **changes)}
        rows = charts(msgspec.structs.replace(view, series=changed))
        return next(row for row in rows if row.startswith(" GPU %"))

    absent = title(last=None, high=nothing, low=nothing, reason="no NVIDIA driver")
    assert "n/a: no NVIDIA driver" in absent
    assert "✖ STALE for 4.0 s" in title(stale=True, age_ns=4 * S)
    assert "last 0 %" in title(last=0.0)


def test_a_process_whose_memory_is_not_told_is_not_zero() -> None:
    view = live_view()
    untold = msgspec.structs.replace(
        view.series["vram_process:0"], last=None, reason="the driver does not tell"
    )
    rows = charts(msgspec.structs.replace(view, series={**view.series, "vram_process:0": untold}))
    assert any("process n/a: the driver does not tell" in row for row in rows)


def test_late_frames_stand_in_one_line_through_all_charts() -> None:
    view = live_view()
    flagged = frozenset(flags_of(view, WINDOW))
    rows = rows_of(view, flagged)
    flags = text(rows)[0]
    columns = {letter: flags.index(letter) for letter in "G?S!"}
    assert columns == {"G": 22, "?": 49, "S": 76, "!": 92}  # 11.2 s, 24.7 s, 38.4 s, 46.3 s
    for row in rows[1:-1]:
        bands = [run.band for run in row for _ in run.text]
        if bands[1] == "title":
            continue
        assert all(bands[column].startswith("tail") for column in columns.values())


def test_nothing_is_drawn_where_no_time_has_been_yet() -> None:
    early = live_view(end_ns=START + 30 * S, columns=60)
    rows = text(rows_of(early))
    bars = [row[61:] for row in rows[1:-1] if not row.startswith((" i", " s", " G", " C"))]
    assert set("".join(bars)) <= {" ", "┄"}


# ------------------------------------------------------------------------- list of tails


def test_the_list_of_late_frames() -> None:
    view = live_view()
    rows, page = tail_rows(view, 3, 100, None)
    heading, newest, second, third = text(rows)
    assert "4 of 4 in view" in heading
    assert " ".join(newest.split()) == "0:46.3 7f3a 640 212 +150 3.4 no not judged yet"
    assert " ".join(second.split()) == "0:38.4 7f3a 480 212 +150 3.4 yes supply 140"
    assert third.split()[-1] == "unexplained"
    assert [mark.t_ns for mark in page] == [mark.t_ns for mark in reversed(view.tails)][:3]


def test_the_selected_one_is_in_the_list() -> None:
    view = live_view()
    rows, page = tail_rows(view, 2, 100, view.tails[0])
    assert any(row.startswith("▸") for row in text(rows))
    assert view.tails[0] in page


@pytest.mark.parametrize("width", [80, 120])
def test_the_selected_one_says_what_to_do(width: int) -> None:
    collected, unexplained, _, pending = live_view().tails
    [row] = text(detail_rows(collected, width, 1))
    assert row.startswith(" gc: Python garbage collection. Call gc.freeze() after loading")
    [row] = text(detail_rows(unexplained, width, 1))
    assert row.startswith(" unexplained. Put spans around decode,")
    [row] = text(detail_rows(pending, width, 1))
    assert row.strip() == "not judged yet"


def test_a_long_explanation_leaves_room_for_what_to_do() -> None:
    mark = live_view().tails[0]
    blocked = msgspec.structs.replace(mark.tail, cause="blocked")
    [row] = text(detail_rows(msgspec.structs.replace(mark, tail=blocked), 80, 1))
    assert row.startswith(" blocked. Find the wait in the emitting thread")


def test_a_verdict_that_is_too_long_for_the_screen_keeps_what_matters() -> None:
    long = "It stutters often: " + "and so on " * 20
    view = with_summary(
        verdict=Verdict(code="stalls", cause="blocked", text=long),
        tails=Tails(count=15, lost_ms=3_961.0),
        causes={"blocked": CauseTotal(frames=9, lost_ms=2_345.0)},
    )
    said = " ".join(text(header_rows(view, 80, 3))[1:])
    assert "Mostly blocked, in 9 of 15 late frames (2,345 ms): waiting" in said


def test_evidence_tells_absent_from_not_resolved() -> None:
    rows = text(detail_rows(live_view().tails[0], 120, 3))
    assert rows[1].strip() == "present: gc 140.0 ms (began 150 ms before)"
    assert rows[2].strip() == "absent: vram_drop   not resolved: gpu_idle"


# -------------------------------------------------------------------------------- layout


def wants(filled: list[bool], lanes: int = 0) -> list[Want]:
    charts = [Want(2 if n == 0 else 1) if there else Want(0) for n, there in enumerate(filled)]
    return [*charts[:1], *[Want(1, titled=False)] * lanes, *charts[1:]]


@given(
    st.integers(10, 100),
    st.lists(st.booleans(), min_size=4, max_size=5),
    st.booleans(),
    st.integers(0, 2),
)
def test_the_rows_add_up(height: int, filled: list[bool], selected: bool, lanes: int) -> None:
    layout = lay_out(height, wants(filled, lanes), selected)
    if height >= 18:
        assert layout.rows == height
    assert min(layout.charts) >= 0


@pytest.mark.parametrize("filled", [[True] * 4, [True] * 5, [True, False, False, True]])
def test_selecting_moves_no_chart(filled: list[bool]) -> None:
    for height in (24, 40, 60):
        layout = lay_out(height, wants(filled), True)
        assert layout.charts == lay_out(height, wants(filled)).charts
        assert layout.detail >= 2


def test_lanes_keep_their_rows() -> None:
    layout = lay_out(24, wants([True] * 5, lanes=3))
    assert layout.charts[1:4] == (1, 1, 1)
    assert layout.rows == 24


def test_the_essentials_of_a_tiny_screen() -> None:
    rows = text(tiny_rows(live_view(), 20, 5))
    assert [len(row) for row in rows] == [20] * 5
    assert "steady" in rows[0]
    assert "P50 62.5 ms" in "\n".join(rows)


def test_a_line_for_a_shell_can_be_pasted_as_it_is_broken() -> None:
    line = "cd '/a b/c d' && X=\"1 2\" mgtop run -- python infer.py --prompt 'a cat, in a hat'"
    lines = shell_lines(line, 30)
    assert max(map(len, lines)) <= 34  # a word is never cut
    said = subprocess.run(
        ["sh", "-c", "cd() { :; }; mgtop() { printf '%s|' \"$X\" \"$@\"; }; " + "\n".join(lines)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "1 2|run|--|python|infer.py|--prompt|a cat, in a hat|"
    assert shell_lines("", 30) == []


def test_where_nothing_tells_of_frames_the_whole_line_stands_there_that_would() -> None:
    advice = (
        "cd /srv/a/very/long/folder && CUDA_VISIBLE_DEVICES=1 mgtop run -- python infer.py -x 1"
    )
    target = msgspec.structs.replace(SUMMARY.target, advice=advice)
    summary = msgspec.structs.replace(SUMMARY, target=target)
    view = msgspec.structs.replace(live_view(), summary=summary, series={})
    chart = charts_of(view, 80)[0]
    assert chart.want.weight > 0
    rows = chart_rows(view, WINDOW, [chart], [title_row(chart, 60)], [4], BLOCKS, None)
    text = "\n".join("".join(run.text for run in row).rstrip() for row in rows[2:-1])
    assert " ".join(text.replace("\\\n", " ").split()) == advice
