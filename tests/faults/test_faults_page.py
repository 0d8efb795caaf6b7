"""Each row of docs/faults.md names a test that is there, and each fault test has its row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert lines[0].endswith("| test |")
    return lines[1:]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {n.name for n in tree.body if isinstance(n, kinds) and n.name.startswith("test_")}


def named() -> list[tuple[str, str]]:
    return [(path, name) for row in rows() for path, name in re.findall(r"`(\S+)::(\w+)` \|$", row)]


def test_each_row_names_a_test_that_is_there() -> None:
    assert len(named()) == len(rows()) > 20
    for path, name in named():
        assert name in names_in(ROOT / path), f"{path}::{name}"


def test_each_fault_test_has_its_row() -> None:
    here = {
        (str(path.relative_to(ROOT)), name)
        for path in Path(__file__).parent.glob("test_faults_*.py")
        for name in names_in(path)
        if path != Path(__file__)
    }
    missing = here - set(named())
    assert {name for _, name in missing} <= {"test_all_calls_of_the_sampler_are_in_these_tests"}
