"""A person's input through real libraries, where they are installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from benchmarks.hook_inputs import PROGRAMS, WANTED
from benchmarks.hook_launches import launch, write_program
from mgtop.wire.records import Action


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "input()"])
def test_each_input_is_told_once(name: str, tmp_path: Path) -> None:
    module, kind, source = PROGRAMS[name]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed (benchmarks/hook_inputs.py --python runs it apart)")
    folder = tmp_path / "program"
    write_program(folder)
    (folder / "driven.py").write_text(source)
    seen = launch([sys.executable, "driven.py"], folder)
    assert seen.code == 0, seen.output
    assert [e.kind for e in seen.events if isinstance(e, Action)] == [kind] * WANTED
