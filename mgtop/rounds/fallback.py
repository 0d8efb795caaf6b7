"""Fallback: one notch at a time from the baseline, never cumulative, until the tails are gone.

Whether they are gone is a question of numbers: of the late frames that the baseline's rate lets
expect, at most a tenth may be left, and at least three must have been expected. A round that is
too short to tell is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.rounds.notches import Notch, notches
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.row import Row
from mgtop.rounds.runner import Runner
from mgtop.rounds.state import Round, State
from mgtop.rounds.variables import label, same_setting

LEFT_SHARE = 0.10
"""Late frames are gone where at most this share of the expected ones is left…"""
FEWEST_EXPECTED = 3.0
"""…and so many were expected: by chance, none would come in 5 % of such rounds."""
CLEARLY_LEFT_SHARE = 0.30
ENOUGH_TAILS = 5
"""The baseline is not repeated once it has so many late frames."""
STEADY_SHARE = 0.05
"""Without a rate to compare with (memory ran out), this share of late frames is tolerated."""


def run_fallback(runner: Runner) -> int:
    """Carry out a fallback; return the exit code: 1 where the tails are still there.

    Raises:
        Stopped, LaunchError, ConfigError, SessionWriteError: as a sweep.
    """
    prepared = runner.prepared
    repeats = prepared.order.repeats
    runner.begin()
    runner.smoke()
    baseline = _measure_baseline(runner, repeats)
    state = runner.state
    if not any(row.has_figures or row.oom for row in baseline):
        state.result = [f"the baseline gave no figures: {baseline[-1].note}"]
        runner.finish("failed")
        return 3
    if not is_troubled(baseline):
        state.result = ["the baseline has no late frames: there is nothing to fall back from"]
        runner.finish("finished")
        return 0
    found = None
    while found is None:
        notch = next_notch(prepared, state)
        if notch is None:
            break
        if _try(runner, notch, baseline, repeats):
            found = notch
    state.result = [
        f"late frames are gone with {label(found.setting)}"
        if found is not None
        else "no notch made the late frames go"
    ]
    runner.finish("finished")
    return 0 if found is not None else 1


def next_notch(prepared: Prepared, state: State) -> Notch | None:
    """The notch to try now: the first one in order that was not tried; None: none is left."""
    trouble = bool(memory_signs(state))
    for notch in notches(prepared.variables, prepared.config, trouble):
        if not rows_of(state, notch.setting):
            return notch
    return None


def memory_signs(state: State) -> list[str]:
    """Signs of memory trouble in any round so far."""
    signs: dict[str, None] = {}
    for found in state.rounds:
        if found.row is not None:
            signs.update(dict.fromkeys(found.row.memory_signs))
    return list(signs)


def rows_of(state: State, setting: dict[str, object]) -> list[Row]:
    """The finished rounds of a setting."""
    return [
        found.row
        for found in state.rounds
        if found.row is not None and found.is_over and same_setting(found.setting, setting)
    ]


def is_troubled(baseline: Sequence[Row]) -> bool:
    """Whether there is anything to get rid of."""
    return any(row.oom for row in baseline) or any(row.tails for row in baseline)


def expected_tails(rows: Sequence[Row], baseline: Sequence[Row]) -> float | None:
    """Late frames that the baseline's rate would have made in these rounds.

    None: the baseline has no rate, since it ran out of memory before it made frames.
    """
    counted = sum(row.counted for row in baseline)
    if not counted:
        return None
    return sum(row.tails or 0 for row in baseline) / counted * sum(row.counted for row in rows)


def are_gone(rows: Sequence[Row], baseline: Sequence[Row]) -> bool | None:
    """Whether the tails are gone; None: the rounds are too short to tell."""
    if not rows or any(row.oom for row in rows):
        return False if rows else None
    counted = sum(row.counted for row in rows)
    if not counted:
        return False
    tails = sum(row.tails or 0 for row in rows)
    expected = expected_tails(rows, baseline)
    if not expected:
        return tails <= STEADY_SHARE * counted
    if tails > LEFT_SHARE * expected and (tails > 1 or expected >= FEWEST_EXPECTED):
        return False
    return True if expected >= FEWEST_EXPECTED else None


def _measure_baseline(runner: Runner, repeats: int) -> list[Row]:
    rows: list[Row] = []
    for repeat in range(1, repeats + 1):
        found = runner.ensure({}, repeat, repeats)
        rows += [found.row] if found.row is not None else []
        tails = sum(row.tails or 0 for row in rows)
        if tails >= ENOUGH_TAILS or any(row.oom or not row.has_figures for row in rows):
            break
    return rows


def _try(runner: Runner, notch: Notch, baseline: Sequence[Row], repeats: int) -> bool:
    """Run a notch until it can be told; whether the tails are gone."""
    rows: list[Row] = []
    for repeat in range(1, repeats + 1):
        found: Round = runner.ensure(notch.setting, repeat, repeats)
        rows += [found.row] if found.row is not None else []
        gone = are_gone(rows, baseline)
        if gone is True:
            return True
        expected = expected_tails(rows, baseline)
        tails = sum(row.tails or 0 for row in rows)
        hopeless = expected is None or tails > CLEARLY_LEFT_SHARE * expected
        if gone is False and hopeless:
            return False
    return False
