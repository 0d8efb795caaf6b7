"""The plan that a recorder is started with."""

from __future__ import annotations

from pathlib import Path

from mgtop.record.plan import Attached, Plan, take_plan, write_plan

NAME = "no\udcff\udcfe\ntext"
"""As Python has a name of bytes that are no UTF-8."""


def test_names_that_are_no_text_stay_what_they_are(tmp_path: Path) -> None:
    """Also that for a program which runs already: its words come from /proc."""
    plan = Plan(
        name=NAME, command=[NAME], cwd=NAME, env={NAME: NAME}, attach=Attached(pid=1, proc=1)
    )
    write_plan(tmp_path, plan)
    assert take_plan(tmp_path) == plan
