"""A sweep: every setting so many times, larger ones left out where one could not be loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mgtop.rounds.runner import Runner
from mgtop.rounds.schedule import schedule
from mgtop.rounds.state import Round
from mgtop.rounds.variables import label, not_smaller


def run_sweep(runner: Runner) -> None:
    """Carry out a sweep to its end, or on from where it was left.

    Raises:
        SmokeFailed: the smoke test before it did not pass.
        Stopped: it was stopped; what is finished is kept.
        LaunchError, ConfigError: the program cannot be started.
        SessionWriteError: the state cannot be written.
    """
    order = runner.prepared.order
    steps = schedule(runner.prepared.variables, order.repeats)
    runner.begin(
        [Round(number=n, setting=step.setting, repeat=step.repeat) for n, step in enumerate(steps)]
    )
    runner.smoke()
    if order.on is not None:
        from mgtop.rounds.on_ray import run_on_ray

        run_on_ray(runner, order.on)
    else:
        for found in runner.state.rounds:
            if found.is_over:
                continue
            why = cannot_load(runner.state.rounds, found.setting)
            if why is not None:
                runner.skip(found, why)
            else:
                runner.ensure(found.setting, found.repeat, order.repeats)
    runner.finish("finished")


def cannot_load(rounds: Sequence[Round], setting: Mapping[str, Any]) -> str | None:
    """Why a setting need not be tried: one that is no larger could not be loaded.

    None: there is no reason.
    """
    for other in rounds:
        row = other.row
        if row is not None and row.cannot_load and not_smaller(setting, other.setting):
            return f"{label(other.setting)} could not be loaded, memory ran out"
    return None
