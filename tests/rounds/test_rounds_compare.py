"""Comparing sessions: what differs, what changed, and what is only noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mgtop.record.launch import CONFIG_FILE
from mgtop.report.gates import GateError
from mgtop.rounds import compare_gates, compare_text
from mgtop.rounds.compare import Comparison, compare, render
from mgtop.rounds.compare_plot import draw
from mgtop.rounds.samples import played
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire import records as r

MS = 1_000_000
PROC = r.proc_of(4242, 1000)


def session(
    folder: Path,
    intervals: list[list[float]],
    first_ms: float = 500.0,
    mib: float | None = None,
    **params: Any,
) -> Path:
    """A session of requests with these intervals (ms) after their first frames."""
    folder.mkdir()
    settings = {"warmup": {"requests": 0, "emits": 0}, "target_fps": 50.0}
    records: list[Any] = [r.SessionStart(0, 1, 1, "t", folder.name, params, settings)]
    now, seq = 0, 0

    def event(kind: Any, *fields: Any) -> None:
        nonlocal seq
        seq += 1
        records.append(kind(round(now), seq, PROC, 7, *fields))

    for number, its in enumerate(intervals, 1):
        event(r.RequestReceived, number, f"q{number}", {})
        now += first_ms * MS
        for emit, ms in enumerate([0.0, *its]):
            now += ms * MS
            event(r.FrameEmit, number, emit, emit, 1)
            if mib is not None:
                used = round((mib + emit % 7) * (1 << 20))
                event(r.TorchMemory, number, emit, 0, used, used, used, 0, 0, 0, 0)
        event(r.StreamEnd, number, None)
        now += 50 * MS
    records.append(r.SessionEnd(round(now), "target_exit"))
    writer = LogWriter(folder)
    for at in range(0, len(records), 200):
        writer.append(records[at : at + 200])
    return folder


def noisy(seed: int, count: int, middle: float = 20.0, correlation: float = 0.5) -> list[float]:
    """Intervals that wander: each one resembles the one before."""
    rng = np.random.default_rng(seed)
    values, last = [], 0.0
    for noise in rng.normal(size=count):
        last = correlation * last + noise
        values.append(middle * (1 + 0.04 * last))
    return values


def pair(tmp_path: Path, one: list[float], other: list[float], **more: Any) -> Comparison:
    a = session(tmp_path / "a", [one], steps=4, **more)
    return compare([a, session(tmp_path / "b", [other], steps=4, **more)])


def test_noise_is_not_called_a_change(tmp_path: Path) -> None:
    """5 pairs of the same settings, five figures each: at most 5 % may be called changed."""
    figures = ("interval_ms.p50", "interval_ms.p95", "fps", "tails.per_1000",
               "playout.smooth_buffer_ms")  # fmt: skip
    changed = 0
    for seed in range(5):
        (tmp_path / str(seed)).mkdir()
        found = pair(tmp_path / str(seed), noisy(2 * seed, 200), noisy(2 * seed + 1, 200))
        changed += sum(found.metrics[name].changed[1] is True for name in figures)
    assert changed <= 0.05 * 5 * len(figures)


def test_a_change_is_seen_with_its_interval(tmp_path: Path) -> None:
    found = pair(tmp_path, noisy(1, 200), noisy(2, 200, middle=25.0))
    metric = found.metrics["interval_ms.p50"]
    assert metric.changed == [None, True]
    low, change, high = metric.low[1], metric.change_percent[1], metric.high[1]
    assert low is not None
    assert change is not None
    assert high is not None
    assert low <= 25 <= high
    assert low < change < high
    assert found.metrics["fps"].changed[1] is True
    fps = found.metrics["fps"].change_percent[1]
    assert fps is not None
    assert fps < 0


def test_small_changes_are_no_changes_however_sure(tmp_path: Path) -> None:
    found = pair(tmp_path, [20.0 + 0.001 * (n % 9) for n in range(200)],
                 [20.2 + 0.001 * (n % 9) for n in range(200)])  # fmt: skip
    metric = found.metrics["interval_ms.p50"]
    assert metric.low[1] is not None
    assert metric.low[1] > 0
    assert metric.changed[1] is False


def test_tails_by_cause(tmp_path: Path) -> None:
    calm = [20.0] * 200
    late = [90.0 if n % 20 == 19 else 20.0 for n in range(200)]
    found = pair(tmp_path, late, calm)
    assert found.metrics["tails.count"].values == [10, 0]
    assert found.metrics["tails.per_1000"].values == [50, 0]
    assert found.metrics["tails.per_1000"].changed[1] is True
    assert found.metrics["causes.unexplained.per_1000"].values == [50, 0]
    assert found.metrics["causes.unexplained.per_1000"].changed[1] is True
    lost = found.metrics["tails.lost_ms_per_s"].values[0]
    assert lost == pytest.approx(700 / (0.02 * 190 + 0.09 * 10))


def test_from_nothing_to_something_has_no_percentage(tmp_path: Path) -> None:
    calm = [20.0] * 200
    found = pair(tmp_path, calm, [90.0 if n % 20 == 19 else 20.0 for n in range(200)])
    metric = found.metrics["tails.per_1000"]
    assert metric.change_percent == [None, None]
    assert metric.changed == [None, True]


def test_one_late_frame_more_is_no_change(tmp_path: Path) -> None:
    late = [90.0 if n == 100 else 20.0 for n in range(200)]
    assert pair(tmp_path, [20.0] * 200, late).metrics["tails.per_1000"].changed[1] is False


def test_first_frames_need_several_requests(tmp_path: Path) -> None:
    flat = [20.0] * 30
    one = session(tmp_path / "a", [flat])
    assert compare([one, one]).metrics["first_frame_ms.p50"].changed == [None, None]
    many = session(tmp_path / "b", [flat] * 4, first_ms=500)
    slow = session(tmp_path / "c", [flat] * 4, first_ms=900)
    metric = compare([many, slow]).metrics["first_frame_ms.p50"]
    assert metric.values == [500, 900]
    assert metric.changed[1] is True
    assert metric.change_percent[1] == pytest.approx(80)


def test_memory(tmp_path: Path) -> None:
    a = session(tmp_path / "a", [[20.0] * 60], mib=1000)
    b = session(tmp_path / "b", [[20.0] * 60], mib=2000)
    metric = compare([a, b]).metrics["memory.steady_mib"]
    assert metric.values == [pytest.approx(1003, abs=1), pytest.approx(2003, abs=1)]
    assert metric.changed[1] is True
    none = compare([session(tmp_path / "c", [[20.0] * 60])] * 2).metrics["memory.steady_mib"]
    assert none.values == [None, None]
    assert none.changed == [None, None]


def test_parameters_that_differ_are_named(tmp_path: Path) -> None:
    flat = [20.0] * 30
    a = session(tmp_path / "a", [flat], steps=4, width=1280, height=720)
    b = session(tmp_path / "b", [flat], steps=4, width=960, height=544)
    c = session(tmp_path / "c", [flat], steps=8, width=960, height=544, seed=1)
    one = compare([a, b])
    assert one.single_variable
    assert [(d.name, d.values) for d in one.differs] == [("resolution", ["1280x720", "960x544"])]
    many = compare([a, b, c])
    assert not many.single_variable
    assert {d.name for d in many.differs} == {"steps", "seed", "resolution"}
    text = compare_text.render(many)
    assert "WARNING  they differ in 3 things" in text
    assert "C AGAINST A" in text
    assert not compare([a, a]).single_variable


def test_what_is_missing_of_a_session_is_said(tmp_path: Path) -> None:
    whole = session(tmp_path / "whole", [noisy(1, 60)], steps=4)
    cut = session(tmp_path / "cut", [noisy(1, 60)], steps=4)
    log = (cut / LOG_NAME).read_bytes()
    (cut / LOG_NAME).write_bytes(log[: len(log) // 2])
    empty = session(tmp_path / "empty", [], steps=4)
    damaged = session(tmp_path / "damaged", [noisy(1, 60)] * 9, steps=4)
    log = (damaged / LOG_NAME).read_bytes()
    (damaged / LOG_NAME).write_bytes(log[:9000] + b"x" * 64 + log[9064:])
    for folder in (cut, empty, damaged):
        (folder / CONFIG_FILE).write_text("command: [program]\nparams: {steps: 4}\n")
    found = compare([whole, cut, empty, damaged])
    assert {
        "whole: no configuration that can be read, so only parameters are compared",
        "empty: no frame is in it",
    } <= set(found.notes)
    assert any(note.startswith("damaged: 1 damaged place of its log") for note in found.notes)
    assert any(note.startswith("cut: ") for note in found.notes)
    assert not found.settings_known
    assert "DIFFER  in no parameter\n" in compare_text.render(compare([whole, whole]))
    assert compare([cut, empty]).settings_known


def test_json_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    data = json.loads(render(pair(tmp_path, noisy(1, 60), noisy(2, 60))))
    assert list(data)[:4] == ["sessions", "differs", "single_variable", "metrics"]
    for metric in data["metrics"].values():
        assert set(metric) >= {"values", "change_percent", "low", "high"}
        assert len(metric["values"]) == len(metric["low"]) == 2


@pytest.mark.parametrize("width", [40, 80])
def test_the_text_keeps_its_width(tmp_path: Path, width: int) -> None:
    found = pair(tmp_path, noisy(1, 100), noisy(2, 100, middle=30))
    text = compare_text.render(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert "CHANGED" in text
    assert "│" in text


def test_the_picture_has_a_letter_for_each_session() -> None:
    text = "\n".join(draw([[10.0] * 99, [30.0] * 99], 80))
    lines = text.splitlines()
    assert next(n for n, line in enumerate(lines) if "BBB" in line) < next(
        n for n, line in enumerate(lines) if "AAA" in line
    )
    assert draw([[], []], 80) == []


@pytest.mark.parametrize(
    ("gate", "passed", "told"),
    [
        ("interval_ms.p50.change_percent < 10", False, "it is 25"),
        ("interval_ms.p50.change_percent > 10", True, "it is 25"),
        ("interval_ms.p50 < 30", True, "it is 20, 25"),
        ("interval_ms.p50 < 22", False, "it is 25"),
        ("memory.peak.mib < 9999", False, "not known, not known"),
        ("causes.gc.per_1000 == 0", True, "it is 0"),
        ("first_frame_ms.p50.high < 5", False, "not known"),
    ],
)
def test_gates_on_a_comparison(tmp_path: Path, gate: str, passed: bool, told: str) -> None:
    found = pair(tmp_path, [20.0] * 60, [25.0] * 60)
    result = compare_gates.evaluate([gate], found)[0]
    assert result.passed is passed
    assert told in result.message
    assert result.message.startswith("met:" if passed else "not met:")


@pytest.mark.parametrize("gate", ["", "p50 < 3", "interval_ms.p50", "interval_ms.p50 ~ 3",
                                  "interval_ms.p51 < 3", "interval_ms.p50 < x"])  # fmt: skip
def test_what_is_no_gate_is_refused(tmp_path: Path, gate: str) -> None:
    found = pair(tmp_path, [20.0] * 60, [25.0] * 60)
    with pytest.raises(GateError):
        compare_gates.evaluate([gate], found)


def test_the_players_stall_is_what_was_waited_for() -> None:
    assert played([20.0, 20.0, 20.0], [1, 1, 1], 50) == (0.0, 0.0)
    stall, delay = played([20.0, 80.0, 20.0], [1, 1, 1], 50)
    assert (stall, delay) == (60.0, 60.0)
    stall, delay = played([20.0, 80.0, 5.0, 5.0, 90.0], [1, 1, 1, 1, 1], 50)
    assert delay == 100.0
    assert stall == 100.0
