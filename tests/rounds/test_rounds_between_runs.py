"""How much runs of the same settings differ, and what that makes of a comparison."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from round_rows import row, state_of
from test_rounds_compare import noisy, session

from mgtop.rounds.between_runs import scatter_of
from mgtop.rounds.compare import compare
from mgtop.rounds.compare_text import render
from mgtop.rounds.state import write_state


def rounds(folder: Path, middles: list[float]) -> list[Path]:
    """Repeats of one setting as a sweep leaves them: these are their intervals."""
    sessions = [
        session(folder / f"r{n}", [noisy(n, 100, middle)], steps=4)
        for n, middle in enumerate(middles)
    ]
    rows = [
        row({"steps": 4}, middle, repeat=n + 1, session=str(sessions[n]))
        for n, middle in enumerate(middles)
    ]
    state = state_of(rows, status="finished")
    for found, path in zip(state.rounds, sessions, strict=True):
        found.session = str(path)
    write_state(folder, state)
    return sessions


def test_repeats_of_their_sweep_are_in_the_interval(tmp_path: Path) -> None:
    """Runs that differ by a fifth by themselves: within each of them nothing shows that."""
    sessions = rounds(tmp_path, [20.0, 25.0, 19.0, 22.0, 26.0])
    found = compare(sessions[:2])
    assert found.between_runs is not None
    assert found.between_runs.repeats == 5
    assert 10 < found.between_runs.p50_percent < 25
    metric = found.metrics["interval_ms.p50"]
    assert metric.changed[1] is False
    assert "5 repeats are known" in render(found)
    (tmp_path / "rounds.json").unlink()
    alone = compare(sessions[:2])
    assert alone.between_runs is None
    assert alone.metrics["interval_ms.p50"].changed[1] is True
    assert "is not known of them" in render(alone)


def test_a_change_beyond_the_scatter_of_runs_is_one(tmp_path: Path) -> None:
    sessions = rounds(tmp_path, [20.0, 20.4, 19.8, 20.2])
    other = session(tmp_path / "b", [noisy(9, 100, 40.0)], steps=8)
    found = compare([sessions[0], other])
    assert found.between_runs is not None
    assert found.metrics["interval_ms.p50"].changed[1] is True


def test_sessions_with_the_same_parameters_are_repeats_where_others_differ(tmp_path: Path) -> None:
    middles = {"a": (4, 20.0), "b": (4, 26.0), "c": (8, 21.0), "d": (8, 27.0)}
    sessions = [
        session(tmp_path / name, [noisy(n, 100, middle)], steps=steps)
        for n, (name, (steps, middle)) in enumerate(middles.items())
    ]
    found = compare(sessions)
    assert found.between_runs is not None
    assert found.between_runs.repeats == 4
    assert found.metrics["interval_ms.p50"].changed[1:] == [False, False, False]
    # The same parameters on both sides: it is the program that is asked about.
    assert compare(sessions[:2]).between_runs is None


def test_deviations_are_those_of_the_repeats(tmp_path: Path) -> None:
    folder = rounds(tmp_path, [20.0, 22.0, 18.0])[0]
    found = scatter_of([folder], [{}], [])
    assert found is not None
    assert found.freedom == 2
    wanted = math.sqrt(1.5) * np.log(np.array([20.0, 22.0, 18.0]) / 20)
    assert sorted(found.deviations["p50_frame_ms"]) == pytest.approx(sorted(wanted))
    assert found.percent() == pytest.approx(100 * math.sqrt(np.mean(wanted**2)))
    assert not found.knows("memory.peak.mib")
    assert scatter_of([folder], [{}], []) is not None
    assert scatter_of([tmp_path / "elsewhere"], [{}], []) is None


def test_late_frames_scatter_between_runs_too(tmp_path: Path) -> None:
    """One in twenty late in one run, none in the next, of the same settings."""
    calm, late = [20.0] * 100, [90.0 if n % 20 == 19 else 20.0 for n in range(100)]
    sessions = [session(tmp_path / f"r{n}", [late if n % 2 else calm], steps=4) for n in range(5)]
    rows = [
        row({"steps": 4}, repeat=n + 1, late_share=0.05 * (n % 2), lost_share=0.15 * (n % 2))
        for n in range(5)
    ]
    state = state_of(rows, status="finished")
    for found, path in zip(state.rounds, sessions, strict=True):
        found.session = str(path)
    assert compare(sessions[:2]).metrics["tails.per_1000"].changed[1] is True
    write_state(tmp_path, state)
    found_with = compare(sessions[:2]).metrics
    for name in ("tails.per_1000", "tails.lost_ms_per_s", "causes.unexplained.per_1000"):
        assert found_with[name].changed[1] is False, name
