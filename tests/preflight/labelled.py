"""The labelled sentences, and how well the reading of them agrees with the labels."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mgtop.preflight.check.judge import judge
from mgtop.preflight.check.machine import Machine
from mgtop.preflight.check.read import requirements_in
from mgtop.preflight.check.requirement import Requirement

_BESIDE_HAN = re.compile(
    r"(?<=[\u3400-\u9fff0-9A-Za-z])[,;:?!](?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])[,;:?!()]|[()](?=[\u3400-\u9fff])"
)
"""Marks that Chinese pages write full-width; the labelled sentences have plain ones."""

FOLDER = Path(__file__).parent / "requirements"
PARTS = [
    "seen.yaml",
    "held_out.yaml",
    "held_out_2.yaml",
    "held_out_3.yaml",
    "held_out_4.yaml",
    "held_out_a.yaml",
    "held_out_b.yaml",
    "held_out_c.yaml",
    "held_out_d.yaml",
    "held_out_e.yaml",
    "held_out_f.yaml",
    "held_out_g.yaml",
]


class Score(msgspec.Struct):
    """Counts over cases; ``wrong`` holds verdicts that differ and things found in nothing."""

    cases: int = 0
    expected: int = 0
    found: int = 0
    reported: int = 0
    wrong: int = 0
    false_alarms: int = 0
    wrong_strength: int = 0
    wrong_scope: int = 0
    notes: list[str] = []

    @property
    def recall(self) -> float:
        return self.found / self.expected

    @property
    def wrong_share(self) -> float:
        return self.wrong / max(1, self.reported)


@functools.cache
def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load((FOLDER / name).read_text("utf-8"))
    return loaded


def machines() -> dict[str, Machine]:
    data = yaml.safe_load((FOLDER / "machines.yaml").read_text("utf-8"))
    return msgspec.convert(data, dict[str, Machine])


def document(case: dict[str, Any]) -> tuple[str, int]:
    """The file that a case stands in, and the number of lines before its text."""
    text, before = case["text"], 0
    if case["file"].endswith("_zh.md"):
        text = _BESIDE_HAN.sub(lambda match: chr(ord(match[0]) + 0xFEE0), text)
    is_page = case["file"].endswith((".md", ".rst"))
    if is_page and case.get("code"):
        text = f"```bash\n{text}\n```"
        before = 1
    if case.get("heading"):
        rule = "=" * len(case["heading"])
        if case["file"].endswith(".rst"):
            return f"Project\n#######\n\n{case['heading']}\n{rule}\n\n{text}\n", before + 6
        return f"# Project\n\n## {case['heading']}\n\n{text}\n", before + 4
    return text + "\n", before


def read(case: dict[str, Any], machine: Machine) -> list[Requirement]:
    text, _ = document(case)
    return [judge(stated, machine) for stated in requirements_in(text, case["file"])]


def score(name: str) -> Score:
    """Compare every case of a file with its labels."""
    result, known = Score(), machines()
    for case in cases(name):
        result.cases += 1
        _, before = document(case)
        got = read(case, known[case["machine"]])
        result.reported += len(got)
        left = list(got)
        for label in case["expect"]:
            result.expected += 1
            best = min(
                (one for one in left if _same(one, label, before)),
                key=lambda one: _distance(one, label),
                default=None,
            )
            if best is None:
                result.notes.append(f"{case['id']}: missed {label}")
                continue
            left.remove(best)
            result.found += 1
            if best.verdict not in _list(label["verdict"]):
                result.wrong += 1
                result.notes.append(
                    f"{case['id']}: verdict {best.verdict}, not {label['verdict']}: {best}"
                )
            if best.strength not in _list(label["strength"]):
                result.wrong_strength += 1
                result.notes.append(
                    f"{case['id']}: strength {best.strength}, not {label['strength']}"
                )
            if label.get("scope", "") not in (best.scope or ""):
                result.wrong_scope += 1
                result.notes.append(f"{case['id']}: scope {best.scope}, not {label['scope']}")
        for one in left:
            result.false_alarms += 1
            result.wrong += one.verdict != "unknown"
            result.notes.append(f"{case['id']}: false alarm {one}")
    return result


def _same(one: Requirement, label: dict[str, Any], before: int) -> bool:
    if one.kind != label["kind"]:
        return False
    return "line" not in label or one.line == label["line"] + before


def _distance(one: Requirement, label: dict[str, Any]) -> tuple[bool, bool, bool]:
    return (
        one.strength not in _list(label["strength"]),
        one.verdict not in _list(label["verdict"]),
        label.get("scope", "") not in (one.scope or ""),
    )


def _list(value: Any) -> Iterator[Any] | list[Any]:
    return value if isinstance(value, list) else [value]
