"""Runs all checks. None of them may hang, fail the others, or take long."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from mgtop import __version__
from mgtop.record.health.finding import Finding, bad, count, worst_first
from mgtop.record.health.gpu import check_gpu
from mgtop.record.health.kernel import check_kernel
from mgtop.record.health.nvml_answer import NvmlAnswer
from mgtop.record.health.nvml_ask import Question
from mgtop.record.health.processor import check_processor, these_cores
from mgtop.record.health.recording import check_recording
from mgtop.record.health.software import check_software
from mgtop.record.health.surroundings import check_surroundings
from mgtop.record.health.terminal import check_terminal, this_terminal

SCHEMA = 1
AREAS = ("recording", "gpu", "processor", "kernel", "terminal", "software", "machine")
Check = Callable[[], Iterable[Finding]]


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found; its JSON is what ``mgtop doctor --json`` prints.

    Attributes:
        works: a recording can be made here.
        counts: findings in each state.
        findings: by area, unmet ones first within each.
        nvml: GPUs, readings and processes in figures.
    """

    schema: int
    mgtop: str
    works: bool
    counts: dict[str, int]
    findings: list[Finding]
    nvml: NvmlAnswer


def examine_machine() -> Examined:
    """Run all checks; takes less than three seconds, also where the driver hangs."""
    question = Question()  # the slowest one: under way while the others are made
    pid = os.getpid()
    found = run_checks(
        {
            "recording": check_recording,
            "processor": lambda: check_processor(these_cores(), pid),
            "kernel": check_kernel,
            "terminal": lambda: check_terminal(this_terminal()),
            "software": check_software,
            "machine": lambda: check_surroundings(pid),
        }
    )
    answer = question.answer()
    found += run_checks({"gpu": lambda: check_gpu(answer, pid)})
    return conclude(found, answer)


def run_checks(checks: dict[str, Check]) -> list[Finding]:
    """The findings of all checks; one that fails is a finding itself."""
    found: list[Finding] = []
    for area, check in checks.items():
        try:
            found.extend(check())
        except Exception as error:
            found.append(
                bad(
                    f"{area}.check",
                    "the check itself",
                    "failed",
                    f"{type(error).__name__}: {error}",
                    "please report this line, with the output of mgtop doctor --json",
                    essential=area == "recording",
                    state="missing" if area == "recording" else "weak",
                )
            )
    return found


def conclude(found: Sequence[Finding], answer: NvmlAnswer) -> Examined:
    """Put findings in order and decide whether a recording can be made."""
    ordered = [
        finding for area in AREAS for finding in worst_first(f for f in found if f.area == area)
    ]
    return Examined(
        schema=SCHEMA,
        mgtop=__version__,
        works=not any(f.essential and f.state == "missing" for f in found),
        counts={str(state): number for state, number in count(ordered).items()},
        findings=ordered,
        nvml=answer,
    )
