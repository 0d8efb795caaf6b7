"""docs/report-json.md names every key of the report, in the section it belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mgtop.report.paths import CAUSES, known_paths

PAGE = Path(__file__).parents[2] / "docs" / "report-json.md"


def sections() -> dict[str, str]:
    """Text of each section, by the top-level keys that its heading names."""
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        heading, text = part.split("\n", 1)
        for key in re.findall(r"`(\w+)`", heading):
            found[key] = heading + "\n" + text
    return found


@pytest.mark.parametrize("path", known_paths())
def test_every_key_is_described(path: str):
    if path.startswith("requests.N.playout."):
        path = path.removeprefix("requests.N.")  # "as `playout` below"
    top, *inside = [key for key in path.split(".") if key != "N"]
    text = sections()[top]
    missing = [key for key in inside if f"`{key}`" not in text]
    assert missing == []


def test_sections_stand_in_the_order_of_the_report():
    order = list(dict.fromkeys(path.split(".")[0] for path in known_paths()))
    assert list(sections()) == order


def test_the_example_gates_are_gates():
    from mgtop.report.gates import parse_gate

    text = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"^    (\S.*)$", text.split("## `schema`")[0], flags=re.MULTILINE)
    assert len(examples) >= 5
    assert all(parse_gate(example).keys for example in examples)
    assert "unexplained" in CAUSES
