"""The report to paste into a bug report: what it says, and that nothing in it escapes."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_summaries import BLOCKS_ON_A_GPU, EMPTY, FROM_A_LOG

from mgtop.analysis.summary import MarkSummary, SessionInfo, Summary, TargetInfo
from mgtop.report.markdown import MOST_BYTES, render

HOME = "/home/somebody"


def cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line)[1:-1]


@pytest.mark.parametrize("summary", [EMPTY, FROM_A_LOG, BLOCKS_ON_A_GPU])
def test_every_table_has_as_many_cells_in_each_row(summary: Summary):
    lines = render(summary, HOME).splitlines()
    width = 0
    for line in lines:
        if not line.startswith("|"):
            width = 0
            continue
        width = width or len(cells(line))
        assert len(cells(line)) == width, line


def test_what_it_says():
    text = render(FROM_A_LOG, HOME)
    assert text.startswith(f"## {FROM_A_LOG.session.name}")
    assert FROM_A_LOG.verdict.text[:20] in text
    assert "| interval | 49.5 | 190 | 209 | 214 | 4 |" in text
    assert "### Late frames" in text
    assert "### Environment" in text


def test_nothing_known_is_said_so():
    text = render(EMPTY, HOME)
    assert "| interval | n/a | n/a | n/a | n/a | 0 |" in text
    assert "None.\n" in text


def test_home_folders_are_not_told():
    summary = msgspec.structs.replace(
        EMPTY,
        target=TargetInfo(command=["python", f"{HOME}/models/infer.py"]),
        session=SessionInfo(name="x", params={"weights": f"{HOME}/w_1.pt"}),
    )
    text = render(summary, HOME)
    assert HOME not in text
    assert "`python ~/models/infer.py`" in text


@given(st.text(max_size=60))
def test_text_from_elsewhere_formats_nothing(text: str):
    summary = msgspec.structs.replace(
        EMPTY,
        session=SessionInfo(name=text, params={"p": text}),
        marks=[MarkSummary(t_ms=1.0, request=None, index=None, note=text)],
        target=TargetInfo(command=[text or "x"]),
    )
    lines = render(summary, "/").splitlines()
    (mark,) = [line for line in lines if line.startswith("- 0.00 s: ")]
    assert re.search(r"(?<!\\)(?:\\\\)*[<>|`*\[\]]", mark.removeprefix("- 0.00 s: ")) is None
    assert all(c.isprintable() for line in lines for c in line)
    (command,) = [line for line in lines if line.startswith("| command |")]
    assert len(cells(command)) == 2
    assert command.count("`") == 2


def test_it_is_never_longer_than_a_bug_report_takes():
    request = BLOCKS_ON_A_GPU.marks or [MarkSummary(t_ms=1.0, request=None, index=None, note="m")]
    long = [msgspec.structs.replace(request[0], note="é" * 5_000)] * 20
    text = render(msgspec.structs.replace(BLOCKS_ON_A_GPU, marks=long), HOME)
    assert len(text.encode()) <= MOST_BYTES
    assert text.endswith("`mgtop report --json`.*\n")
