"""One late frame in words and rows."""

from __future__ import annotations

import msgspec
import pytest
from view_pictures import MS, START, S, live_view, tail

from mgtop.analysis.closeup import Strip
from mgtop.analysis.live import TailMark
from mgtop.analysis.summary import CauseShare, Evidence, Tail
from mgtop.charts import BLOCKS
from mgtop.view.tail_rows import evidence_rows, plot_width, story_rows, strip_rows, worth_showing
from mgtop.view.tail_words import explanation, heading, remedy

LATE = tail(0)


def changed(**changes: object) -> Tail:
    return msgspec.structs.replace(LATE, **changes)


def strip(name: str, within: float | None = 5.0, **changes: object) -> Strip:
    values: list[float | None] = [0.5, None, 1.0, 0.2] * 13
    one = Strip(
        name=name, kind="busy", unit="ms", high=values, low=values, top=1.0, within=within
    )  # fmt: skip
    return msgspec.structs.replace(one, **changes)


def text(rows: object) -> list[str]:
    return ["".join(run.text for run in row) for row in rows]  # type: ignore[attr-defined]


def test_which_frame_and_how_late() -> None:
    assert heading(LATE) == "Frame 160 of 7f3a at 0:11.2: 212 ms, 3.4 × the usual 62.5 ms"
    assert heading(changed(count=4)).startswith("Frames 160–163 of 7f3a")


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (LATE, ("Late by 150 ms, by Python garbage collection: gc 140 ms (measured); "
         "10.0 ms are not explained. The viewer saw it.")),
        (changed(visible=False, causes=[CauseShare(name="gc", explained_ms=149.0, bound="upper")]),
         "gc 149 ms (at most). Slack absorbed it: the viewer saw nothing."),
        (changed(cause="unexplained", causes=[], visible=None),
         ("Nothing that was recorded explains these 150 ms. Not resolved, so not excluded: "
         "gpu_idle.")),
        (changed(cause="unexplained", visible=None), "these 150 ms, but for gc 140 ms (measured)."),
        (changed(cause=None, final=False), "Not judged yet"),
    ],
)  # fmt: skip
def test_why_in_a_sentence(late: Tail, said: str) -> None:
    assert said in explanation(late)


def test_what_to_do() -> None:
    assert remedy(LATE).startswith("Call gc.freeze()")
    assert remedy(changed(cause="unexplained")).startswith("Put spans around")
    assert remedy(changed(cause=None)) == ""
    rows = text(story_rows(LATE, 80))
    assert {len(row) for row in rows} == {80}
    assert rows[0].startswith(" Frame 160")
    assert any(row.startswith(" ▸ Call gc.freeze()") for row in rows)


def test_evidence_tells_value_lead_source_and_period() -> None:
    late = changed(
        evidence=[
            *LATE.evidence,
            Evidence(channel="queue", state="present", value=2.0, unit="empty", source="queue",
                     period_ms=40.0),
        ]
    )  # fmt: skip
    present, others = evidence_rows(late, 100)
    lines = text([*present, *others])
    assert lines[1].split() == [
        "gc", "140.0", "ms", "140", "ms", "150", "ms", "↤", "gc,", "as", "it", "happens",
    ]  # fmt: skip
    assert "queue, every 40.0 ms" in lines[2]
    assert [line.split()[-1] for line in lines[3:]] == ["vram_drop", "gpu_idle"]
    nothing, _ = evidence_rows(changed(evidence=[]), 80)
    assert "nothing was present" in text(nothing)[1]


def test_the_late_interval_is_one_band_through_all_strips() -> None:
    mark = live_view().tails[0]
    columns = plot_width(80)
    begin, end = mark.t_ns - 2 * S, mark.t_ns + 2 * S
    values: list[float | None] = [1.0] * columns
    strips = [strip(name, high=values, low=values) for name in ("forward", "gc")]
    rows = strip_rows(strips, mark, begin, end, 80, BLOCKS)
    lines = text(rows)
    assert {len(line) for line in lines} == {80}
    first = lines[0].index("├")
    assert "212 ms" in lines[0]
    assert "╵emit" in lines[-1]
    assert abs(lines[-1].index("╵emit") - (lines[0].index("┤") + 1)) <= 1
    for row in rows[1:-1]:
        at = 0
        for run in row:
            if at <= first < at + len(run.text):
                assert run.band == "tail"
            at += len(run.text)
    assert lines[1].rstrip().endswith("5.0 ms")


def test_what_strips_say_of_the_interval() -> None:
    mark = TailMark(t_ns=START + S, begin_ns=START + 800 * MS, tail=LATE)
    cases = {
        "0.0": (strip("a", 0.0), "–"),
        "none": (strip("a", None), "n/a"),
        "fell": (strip("a", 900.0, lowest=300.0, kind="level", unit="MiB", top=900.0), "−600 MiB"),
        "level": (strip("a", 900.0, lowest=900.0, kind="level", unit="MiB", top=900.0), "900 MiB"),
        "queue": (strip("q", 8.0, lowest=0.0, kind="level", unit="", top=8.0), "0–8 of 8"),
        "share": (strip("a", 97.0, kind="rate", unit="%", top=100.0), "97 %"),
        "clock": (strip("a", 1980.0, lowest=1.0, kind="level", unit="MHz"), "1,980 MHz"),
    }
    for one, said in cases.values():
        rows = strip_rows([one], mark, START, START + 2 * S, 80, BLOCKS)
        assert text(rows)[1].rstrip().endswith(said)


def test_short_work_gives_way_where_room_is_short() -> None:
    small: list[float | None] = [0.02] * 52
    strips = [strip("long", 90.0), strip("short", 0.1, high=small), strip("depth", kind="level")]
    assert worth_showing(strips, 200.0, 9) == strips
    assert [one.name for one in worth_showing(strips, 200.0, 2)] == ["long", "depth"]
