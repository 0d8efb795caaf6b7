"""Frames are followed by questions, one at a time, and only where somebody answers."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from mgtop.view import asking
from mgtop.view.asking import MOST_LOST, PATIENCE_S, QUESTION, SYNC_BEGIN, SYNC_END, AskingDriver

FRAME = "\x1b[1;1Hsomething"
ANSWER = events.CursorPosition(0, 0)


class Recorder:
    """Stands where Textual's output thread does."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, data: str) -> None:
        self.written.append(data)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(asking.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> AskingDriver:
    passed: list[Message] = []
    monkeypatch.setattr(LinuxDriver, "__init__", lambda self: None)
    monkeypatch.setattr(
        LinuxDriver, "process_message", lambda self, message: passed.append(message)
    )
    made: Any = AskingDriver()
    made._writer_thread = Recorder()
    made._asks = True
    made.passed = passed
    return made  # type: ignore[no-any-return]


def questions(driver: Any) -> int:
    return driver._writer_thread.written.count(QUESTION)  # type: ignore[no-any-return]


def test_a_frame_is_asked_about_after_it(driver: Any, clock: list[float]) -> None:
    driver.write(FRAME)
    assert driver._writer_thread.written == [FRAME, QUESTION]
    driver.process_message(ANSWER)
    for data in (SYNC_BEGIN, FRAME, SYNC_END):
        driver.write(data)
    assert driver._writer_thread.written[2:] == [SYNC_BEGIN, FRAME, SYNC_END, QUESTION]
    driver.process_message(ANSWER)
    driver.write(f"{SYNC_BEGIN}{FRAME}{SYNC_END}")
    assert questions(driver) == 3
    driver.write("\x07")
    driver.write("\x1b[?25l")
    assert questions(driver) == 3


def test_one_question_at_a_time_tells_how_long_a_frame_takes(
    driver: Any, clock: list[float]
) -> None:
    driver.write(FRAME)
    assert not driver.busy  # nobody knows yet whether this terminal answers
    driver.process_message(ANSWER)
    assert driver.take_answer() == 0.0
    driver.write(FRAME)
    driver.write(FRAME)
    assert questions(driver) == 2
    assert driver.busy
    assert driver.take_answer() is None
    clock[0] += 0.4
    driver.process_message(ANSWER)
    assert not driver.busy
    assert driver.take_answer() == pytest.approx(0.4)
    assert driver.take_answer() is None
    assert driver.passed == []


def test_a_terminal_that_never_answers_is_left_alone(driver: Any, clock: list[float]) -> None:
    for _ in range(10):
        driver.write(FRAME)
        assert not driver.busy
        clock[0] += PATIENCE_S + 1
    assert questions(driver) == MOST_LOST


def test_a_lost_answer_stops_the_drawing_for_a_while_only(driver: Any, clock: list[float]) -> None:
    driver.write(FRAME)
    driver.process_message(ANSWER)
    driver.write(FRAME)
    clock[0] += PATIENCE_S / 2
    assert driver.busy
    clock[0] += PATIENCE_S
    assert not driver.busy
    driver.write(FRAME)
    assert questions(driver) == 3


def test_what_nobody_asked_for_goes_on_to_textual(driver: Any) -> None:
    driver.process_message(ANSWER)
    assert driver.passed == [ANSWER]
