"""A smoke test from beginning to end."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mgtop.config import RunConfig
from mgtop.preflight.smoke.carry_out import Watched, carry_out
from mgtop.preflight.smoke.failure import Root, root_of, swallowed
from mgtop.preflight.smoke.output_lines import OutputLine, read_output
from mgtop.preflight.smoke.reported import reported_output
from mgtop.preflight.smoke.result import Criteria, Criterion, FrameTimes, SmokeResult
from mgtop.preflight.smoke.smallest import smallest_run
from mgtop.preflight.smoke.times import frame_times
from mgtop.preflight.smoke.valid import fingerprint, input_of, newest_in, output_valid
from mgtop.preflight.smoke.weights import weights_loaded
from mgtop.record.from_config import config_yaml, plan_from
from mgtop.record.launch import Outcome
from mgtop.record.output import OUTPUT_FILE
from mgtop.session.reader import read_all

LIMIT_S = 1800.0
"""A program that has not ended by then is stopped, and the test has failed."""


def run(
    config: RunConfig,
    path: Path,
    *,
    out: Path | None = None,
    seconds: float = LIMIT_S,
    on_start: Callable[[Path], object] = lambda _folder: None,
) -> SmokeResult:
    """Run the smallest command of a configuration once, and judge what it did.

    Args:
        config: the configuration; its ``smoke`` says what to run, else its own command is run
            with the smallest values that its ``fallback`` lists.
        path: its file; relative paths start from there.
        out: folder for the session; None: one in the user's state folder.
        seconds: how long it may take.
        on_start: called with the session's folder once the program runs.

    Raises:
        ConfigError: there is nothing to start, or not what it is to be started with.
        LaunchError: it could not be started.
    """
    smallest = smallest_run(config, path)
    name = f"{config.name or path.stem}-smoke"
    plan = plan_from(smallest.config, path, name=name, seconds=seconds)
    kept = config_yaml(smallest.config, path, plan)
    before = fingerprint(smallest.output)
    watched = carry_out(plan, out, kept, on_start)
    cwd = Path(plan.cwd)
    lines = read_output(watched.folder / OUTPUT_FILE)
    records = list(read_all(watched.folder))
    reported = reported_output(smallest.output, lines, cwd, watched.start_wall_ns)
    pythons = _pythons(plan.command, cwd)
    criteria = Criteria(
        weights_loaded=weights_loaded(records, lines, watched.seen, watched.open_files),
        output_reported=reported.criterion,
        output_valid=output_valid(
            reported.path,
            start_wall_ns=watched.start_wall_ns,
            before=before if reported.path == smallest.output else None,
            size=smallest.size,
            input_size=input_of(plan.command, cwd, pythons) if smallest.size is None else None,
            pythons=pythons,
        ),
        exit_zero=_exit_zero(watched.outcome, seconds),
        no_errors=_no_errors(lines),
    )
    passed = not criteria.unmet()
    root = None if passed else _root(lines, watched, criteria)
    times = frame_times(records, lines, watched.seen, _written_ns(reported.path, watched))
    return SmokeResult(
        passed=passed,
        criteria=criteria,
        cold=times.cold,
        warm=times.warm if times.warm.total_ms is not None else FrameTimes(),
        failure=root.failure if root is not None else None,
        failure_text=root.text if root is not None else None,
        times_note=times.note,
        note=smallest.note,
        command=plan.command,
        output=str(reported.path) if reported.path is not None else None,
        exit_code=watched.outcome.target_code,
        session=str(watched.folder),
    )


def _exit_zero(outcome: Outcome, seconds: float) -> Criterion:
    if outcome.lost:
        return Criterion(passed=False, evidence=outcome.message)
    if outcome.reason == "seconds":
        evidence = f"it had not ended after {seconds:g} s and was stopped"
        return Criterion(passed=False, evidence=evidence)
    if outcome.target_signal is not None:
        try:
            name = signal.Signals(outcome.target_signal).name
        except ValueError:
            name = str(outcome.target_signal)
        killed = ", as the kernel does where memory is short" if name == "SIGKILL" else ""
        return Criterion(passed=False, evidence=f"ended by {name}{killed}")
    return Criterion(
        passed=outcome.target_code == 0,
        evidence="the exit code is not known"
        if outcome.target_code is None
        else f"exit code {outcome.target_code}",
    )


def _no_errors(lines: Sequence[OutputLine]) -> Criterion:
    line = swallowed(lines)
    if line is None:
        return Criterion(passed=True, evidence=f"{len(lines)} lines of output, none of an error")
    return Criterion(passed=False, evidence=f"line {line.number}: “{line.text.strip()[:200]}”")


def _root(lines: Sequence[OutputLine], watched: Watched, criteria: Criteria) -> Root:
    """Why it failed: by its output, by what was seen from inside, or by the first criterion."""
    root = root_of(lines)
    failed_load = next((one for one in watched.seen if one.what == "load_failed"), None)
    plain = root is None or root.failure == "other"
    if plain and failed_load is not None and not criteria.weights_loaded.passed:
        return Root("weights_path", failed_load.text)
    if root is not None:
        return root
    if not criteria.exit_zero.passed:
        return Root("other", criteria.exit_zero.evidence)
    return Root("other", criteria.unmet()[0][1].evidence)


def _pythons(command: Sequence[str], cwd: Path) -> list[str]:
    """Interpreters whose libraries may open the output: mgtop's own, then the program's."""
    program = command[0]
    if "/" in program:
        program = os.path.abspath(cwd / Path(program).expanduser())
    found = shutil.which(program)
    if found is None or not Path(found).name.startswith("python"):
        return [sys.executable]
    return [sys.executable, found]


def _written_ns(path: Path | None, watched: Watched) -> int | None:
    """When the output was last written, on the monotonic clock."""
    if path is not None and path.is_dir():
        path = newest_in(path)
    if path is None:
        return None
    try:
        wall_ns = path.stat().st_mtime_ns
    except OSError:
        return None
    since_start_ns = wall_ns - watched.start_wall_ns
    return watched.start_ns + since_start_ns if since_start_ns > 0 else None
