"""The driver is asked by another process, which is never waited for longer than a moment."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from mgtop.record.health.nvml_ask import Question

ANSWER = '{"driver": "580", "complete": true}'


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_an_answer() -> None:
    answer = Question(python(f"print('{ANSWER}')")).answer(10)
    assert (answer.driver, answer.complete, answer.hanging) == ("580", True, None)


def test_an_answer_counts_although_its_process_goes_on() -> None:
    """A thread inside the driver can keep the process, and so the pipe, for ever."""
    code = f"import time; print('{ANSWER}', flush=True); time.sleep(30)"
    began = time.monotonic()
    assert Question(python(code)).answer(10).driver == "580"
    assert time.monotonic() - began < 5


def test_a_process_that_says_nothing_is_abandoned(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(30)"
    began = time.monotonic()
    question = Question(python(code))
    while not mark.exists() or not mark.read_text():
        time.sleep(0.01)
    answer = question.answer(0.5)
    assert answer.hanging == "NVML"
    assert time.monotonic() - began < 5
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_a_line_that_never_ends_is_no_answer() -> None:
    code = "import time; print('{', end='', flush=True); time.sleep(30)"
    assert Question(python(code)).answer(1.0).hanging == "NVML"


def test_a_crash_is_said_with_its_signal() -> None:
    answer = Question(python("import os; os.kill(os.getpid(), 11)")).answer(10)
    assert answer.reason == "the driver's library crashed (SIGSEGV)"


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('no JSON'); raise SystemExit(3)"])
def test_no_answer_is_said(code: str) -> None:
    assert Question(python(code)).answer(10).reason == (
        "the examination ended without an answer (exit code 3)"
    )


def test_a_process_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    answer = Question((str(tmp_path / "none"),)).answer()
    assert answer.reason is not None
    assert "No such file" in answer.reason


def test_the_real_examination_answers_here() -> None:
    """Whatever this machine has, one line comes, soon, and says what it is."""
    began = time.monotonic()
    answer = Question().answer(20)
    assert time.monotonic() - began < 15
    assert answer.complete
    assert answer.reason or answer.gpus
