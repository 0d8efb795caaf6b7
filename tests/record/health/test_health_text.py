"""The table: order, signs, and what a person is told to do."""

from __future__ import annotations

import re

import pytest

from mgtop.record.health.examine import conclude, run_checks
from mgtop.record.health.finding import Finding, bad, ok
from mgtop.record.health.nvml_answer import NvmlAnswer
from mgtop.record.health.text import render

FINDINGS = [
    ok("kernel.pressure", "pressure", "cpu"),
    bad("kernel.schedstat", "statistics", "not there", "the kernel lacks them", state="missing"),
    bad("kernel.disk_wait", "disk waits", "not counted", "a switch is off", "sysctl x=1"),
    ok("recording.pipe", "event pipe", "holds 1,024 KiB"),
]
BROKEN = bad(
    "recording.sessions", "sessions folder", "/x", "full", "free space",
    state="missing", essential=True,
)  # fmt: skip


def shown(*findings: Finding, width: int = 80) -> str:
    return render(conclude(findings, NvmlAnswer()), width)


def test_areas_come_in_order_and_the_worst_first_within_each() -> None:
    text = shown(*FINDINGS)
    signs = re.findall(r"^  (MISSING|weak|ok) +(\S+)", text, re.MULTILINE)
    assert signs == [
        ("ok", "event"),
        ("MISSING", "statistics"),
        ("weak", "disk"),
        ("ok", "pressure"),
    ]
    assert text.index("RECORDING") < text.index("KERNEL")


def test_what_is_not_well_says_why_and_what_to_do_in_a_line_each() -> None:
    lines = shown(*FINDINGS).splitlines()
    at = next(i for i, line in enumerate(lines) if "disk waits" in line)
    assert lines[at + 1].strip() == "why: a switch is off"
    assert lines[at + 2].strip() == "do:  sysctl x=1"
    assert "do:" not in lines[next(i for i, x in enumerate(lines) if "statistics" in x) + 2]


def test_the_last_line_sums_up() -> None:
    assert shown(*FINDINGS).splitlines()[-1] == ("Recording works here: 2 ok, 1 weak, 1 missing.")
    assert shown(*FINDINGS, BROKEN, width=200).splitlines()[-1] == (
        "Recording does not work here (sessions folder: full): 2 ok, 1 weak, 2 missing."
    )


@pytest.mark.parametrize("width", [1, 40, 60, 80, 200])
def test_any_width(width: int) -> None:
    long = bad("gpu.driver", "NVIDIA driver", "v " * 60, "why " * 60, "do_" * 60)
    text = shown(*FINDINGS, long, width=width)
    longest = max(len(line) for line in text.splitlines() if "do_" not in line)
    assert longest <= max(width, 80)
    assert text.count("why") >= 60


def test_colour_is_not_the_only_sign() -> None:
    examined = conclude(FINDINGS, NvmlAnswer())
    painted = render(examined, 80, lambda state, text: f"<{state}>{text}</>")
    assert "<missing>MISSING</>" in painted
    assert re.sub(r"</?\w*>", "", painted) == render(examined, 80)


def test_recording_works_as_long_as_nothing_essential_is_missing() -> None:
    assert conclude(FINDINGS, NvmlAnswer()).works
    assert not conclude([*FINDINGS, BROKEN], NvmlAnswer()).works


def test_a_check_that_fails_itself_is_a_finding_and_stops_no_other() -> None:
    def broken() -> list[Finding]:
        raise RuntimeError("a new kernel")

    found = run_checks({"kernel": broken, "recording": broken, "gpu": lambda: FINDINGS[:1]})
    assert [(f.id, f.state, f.essential) for f in found[:2]] == [
        ("kernel.check", "weak", False),
        ("recording.check", "missing", True),
    ]
    assert found[0].reason == "RuntimeError: a new kernel"
    assert found[2:] == FINDINGS[:1]
