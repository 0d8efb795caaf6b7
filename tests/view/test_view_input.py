"""What the screen says of a person's input, and of notes from inside the program."""

from __future__ import annotations

from typing import Any

import msgspec
from view_pictures import SUMMARY, live_view

from mgtop.analysis.model import Model
from mgtop.analysis.summary import ActionToFrame, NoticeSummary
from mgtop.view.text_rows import Status, readout_rows, state_row
from mgtop.wire.records import FrameEmit


def shown(**changes: Any) -> str:
    view = live_view(summary=msgspec.structs.replace(SUMMARY, **changes))
    rows = [state_row(view, Status(recording=True), 200), *readout_rows(view, 200, 2)]
    return "\n".join("".join(run.text for run in row) for row in rows)


def test_the_time_from_an_input_to_its_frame_stands_beside_the_figures() -> None:
    assert "input to frame" not in shown()
    answered = ActionToFrame(count=4, p50=87.5, actions=5, unanswered=1, rule="emits")
    assert "input to frame 87.5" in shown(action_to_frame_ms=answered)


def test_notes_are_pointed_at_where_frames_come_all_the_same() -> None:
    notices = [NoticeSummary(source="hooks", text="frames.hooks: a:b: no b", t_ms=1.0)]
    model = Model()
    model.feed(FrameEmit(1, 1, 1, 1, 1, 0, 0, 1))
    requests = model.summary().requests
    assert "1 note in the report" in shown(notices=notices, requests=requests)
    assert "2 notes in the report" in shown(notices=notices * 2, requests=requests)
    assert "in the report" not in shown(notices=notices, requests=[])
