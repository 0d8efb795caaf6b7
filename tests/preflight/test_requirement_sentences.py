"""The labelled sentences: what is found in them, and what is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import labelled
import pytest

from mgtop.preflight.check.requirement import Requirement


def test_the_sentences_that_rules_were_made_with() -> None:
    score = labelled.score("seen.yaml")
    assert score.recall == 1.0
    assert score.wrong == 0, score.notes


@pytest.mark.parametrize("name", labelled.PARTS[1:])
def test_the_sentences_that_were_held_out(name: str) -> None:
    """They are scored, not learnt: docs/check.md tells how they did at first."""
    score = labelled.score(name)
    assert score.recall >= 0.95, score.notes
    assert score.wrong_share <= 0.025, score.notes


def test_every_case_has_a_name_of_its_own_and_a_machine() -> None:
    names = [case["id"] for name in labelled.PARTS for case in labelled.cases(name)]
    assert len(names) == len(set(names))
    assert len(names) >= 150


@pytest.mark.parametrize(
    "path", sorted(labelled.FOLDER.glob("held_out_[a-z].yaml")), ids=lambda path: path.name
)
def test_a_set_by_another_hand_is_well_formed(path: Path) -> None:
    """Only its form: such a set is written without a look at the rules, and scored later."""
    kinds, strengths, verdicts = (
        set(get_args(get_type_hints(Requirement)[field]))
        for field in ("kind", "strength", "verdict")
    )
    known = labelled.machines()
    cases = labelled.cases(path.name)
    names = {case["id"] for name in labelled.PARTS for case in labelled.cases(name)}
    names |= {case["id"] for case in cases}
    parts = sum(len(labelled.cases(name)) for name in labelled.PARTS if name != path.name)
    assert len(names) == parts + len(cases)
    for case in cases:
        assert case["machine"] in known, case["id"]
        for label in case["expect"]:
            assert label["kind"] in kinds, case["id"]
            assert set(labelled._list(label["strength"])) <= strengths, case["id"]
            assert set(labelled._list(label["verdict"])) <= verdicts, case["id"]
            assert isinstance(label.get("scope", ""), str), case["id"]
            assert 1 <= label.get("line", 1) <= len(case["text"].splitlines()), case["id"]


@pytest.mark.parametrize("name", labelled.PARTS)
def test_quotes_are_word_for_word(name: str) -> None:
    """Every quote stands in its file as it is, but for line breaks and runs of spaces."""
    machines = labelled.machines()
    for case in labelled.cases(name):
        text, _ = labelled.document(case)
        flat = " ".join(text.replace("\\\n", " ").split())
        lines = text.splitlines()
        for one in labelled.read(case, machines[case["machine"]]):
            assert one.quote in flat, case["id"]
            assert one.line is not None
            assert 1 <= one.line <= len(lines), case["id"]


def test_a_machine_of_which_nothing_is_known_gets_no_verdict_but_unknown() -> None:
    from mgtop.preflight.check.machine import Machine

    nothing = Machine()
    for name in ("seen.yaml", "held_out.yaml"):
        for case in labelled.cases(name):
            if any("scope" in label for label in case["expect"]):
                continue  # what does not apply to any machine is met
            for one in labelled.read(case, nothing):
                if one.local != "no nvcc on the PATH":  # which is known
                    assert one.verdict == "unknown", (case["id"], one)


def test_how_fast_it_is_on_a_gpu_asks_for_none() -> None:
    """Under a heading of requirements too (seen in a real page)."""
    page = (
        "# M\n\n## Requirements\n\n* At least 6GB GPU memory.\n\n"
        "About speed, on my RTX 4090 desktop it is 2.5 seconds/frame; a 3060 is 4x slower.\n"
    )
    case = {"file": "README.md", "text": page}
    stated = [one for one in labelled.read(case, labelled.machines()["nogpu"]) if one.fails]
    assert [one.quote for one in stated] == ["* At least 6GB GPU memory."]


@pytest.mark.parametrize(
    "text",
    [
        "Use the provided requirements file for macOS with Apple Silicon:",
        "Best of all, it supports *Sliding Windows* for long videos!",
        "如果您在 Windows 上安装后无法使用 CUDA 加速，请参考 FAQ。",
        "Option 1: make sure you have installed CUDA 13.1.",
        "- Resolved compatibility issues with `torch >= 2.8`.",
        "If your driver is older than 999, use the cu118 wheels.",
    ],
)
def test_what_real_pages_say_to_others_fails_no_check(text: str) -> None:
    case = {"file": "README.md", "text": text}
    machine = labelled.machines()["h200"]
    assert not [one for one in labelled.read(case, machine) if one.verdict == "unmet"]


def test_the_second_of_two_bounds_counts() -> None:
    """An upper end that is lost would make a newer version met."""
    machine = labelled.machines()["h200"]  # Python 3.11.9
    for text in (
        "Python > 3.8 but < 3.11 is needed.",
        "3.8 <= Python < 3.11",
        "Python 需大于等于 3.8 且小于 3.11。",
    ):
        read = labelled.read({"file": "README_zh.md", "text": text}, machine)
        assert [one.verdict for one in read] == ["unmet"], text


def test_a_sentence_without_an_end_is_read_in_pieces() -> None:
    text = "changed from 8 GB to 9 GB " * 60 + "and needs Python 3.12."
    read = labelled.read({"file": "README.md", "text": text}, labelled.machines()["h200"])
    assert [one.verdict for one in read if one.kind == "python"] == ["unmet"]
    assert all(len(one.quote) <= 800 for one in read)
