"""Running a plan from the command line: with a screen or headless, to its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mgtop.cli.errors import (
    INTERRUPTED,
    NOT_MET,
    NOT_WRITTEN,
    OK,
    TARGET_FAILED,
    USAGE,
    UserError,
    say,
)
from mgtop.cli.terminal import need_terminal

STOPPING_S = 15.0
"""A target that was asked to end is killed after 10 s."""
_LAST_BYTES = 4096
_LAST_LINES = 12

if TYPE_CHECKING:
    from mgtop.record.launch import Outcome, Recording
    from mgtop.record.plan import Plan
    from mgtop.view.screens.dialogs import Leaving


def conduct(
    plan: Plan,
    *,
    headless: bool,
    out: Path | None = None,
    fps: float | None = None,
    varied: Mapping[str, Any] | None = None,
    config_yaml: str | None = None,
    gates: Sequence[str] = (),
) -> int:
    """Record ``plan`` and stay in the foreground; return the exit code.

    Args:
        plan: what to launch.
        headless: no screen: stand in for the program instead, and print the session's folder
            as the last line of stdout.
        out: folder for the session; None: one in the user's state folder.
        fps: target rate of the screen's own updates.
        varied: parameters that differ from the baseline, for the session's name.
        config_yaml: the configuration to keep beside the log.
        gates: expressions that the finished session must meet.

    Raises:
        UserError: it could not be started.
    """
    from mgtop.record.launch import LaunchError, start

    _check_gates(gates)
    if headless:
        from mgtop.record.target import become_subreaper

        become_subreaper()  # from the start: should the recorder die, the program comes to us
    else:
        need_terminal("use --headless to record without a screen")
        import mgtop.view.app  # noqa: F401 - what is wrong with it must show before the start
    try:
        recording = start(plan, out=out, varied=varied, config_yaml=config_yaml)
    except LaunchError as error:
        raise UserError(str(error), error.code) from None
    if headless:
        return _headless(recording, gates)
    return _on_screen(recording, fps, gates)


def _headless(recording: Recording, gates: Sequence[str]) -> int:
    from mgtop.record.foreground import Foreground

    _give_away_stdin()
    foreground = Foreground(recording, copy_to=2, say=say)
    outcome = foreground.follow()
    code = exit_code(outcome, interrupted=foreground.interrupted is not None)
    _explain(outcome)
    code = _with_gates(code, recording.folder, gates)
    click.echo(str(recording.folder))
    return code


def _give_away_stdin() -> None:
    """Standard input is the program's alone now: who feeds it must notice when it ends."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _on_screen(recording: Recording, fps: float | None, gates: Sequence[str]) -> int:
    from mgtop.session.folder import word_for

    choice = show(recording.folder, fps)
    if choice != "leave":
        with contextlib.suppress(subprocess.TimeoutExpired):
            recording.wait(STOPPING_S)
    outcome = recording.poll()
    if outcome is None:
        say_goes_on(recording.folder)
        return OK
    code = exit_code(outcome, interrupted=False)
    if code == TARGET_FAILED:
        click.echo(last_words(recording.folder), nl=False, err=True)  # the screen hid them
    _explain(outcome)
    code = _with_gates(code, recording.folder, gates)
    if not outcome.target_ended:
        click.echo(
            f"The program goes on (pid {outcome.target_pid}).  "
            f"End: mgtop stop {word_for(recording.folder)} --target"
        )
    say_session(recording.folder)
    return code


def show(folder: Path, fps: float | None = None) -> Leaving:
    """Show what is being recorded; return what was asked for on leaving.

    A screen that fails harms no recording, and whoever sees it fail is told so.
    """
    from mgtop.view.app import run_view

    try:
        return run_view(folder, fps=fps, readonly=False)
    except Exception:
        say_goes_on(folder)
        raise


def say_goes_on(folder: Path) -> None:
    """The screen was left, and nothing else has changed."""
    from mgtop.session.folder import word_for

    name = word_for(folder)
    click.echo(f"Recording goes on.  Screen: mgtop view {name}   End: mgtop stop {name}")


def say_session(folder: Path) -> None:
    """Where the finished session is, and how to read it."""
    from mgtop.session.folder import word_for

    click.echo(f"Session: {folder}   Report: mgtop report {word_for(folder)}")


def last_words(folder: Path) -> str:
    """The last lines that a program printed, made safe to print."""
    from mgtop.record.limits import clean
    from mgtop.record.output import OUTPUT_FILE

    try:
        with (folder / OUTPUT_FILE).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
            lines = file.read(_LAST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    last = [line for line in lines if line.strip()][-_LAST_LINES:]
    return "".join(f"{clean(line)}\n" for line in last)


def exit_code(outcome: Outcome, *, interrupted: bool) -> int:
    """The exit code that a finished recording gives to the command that ran it.

    Whoever stopped the program on purpose (``--seconds``, ``mgtop stop``) does not want to
    hear that it failed; an interrupted one did end well if it says so itself.
    """
    if outcome.lost or outcome.exit_code == NOT_WRITTEN:
        return NOT_WRITTEN
    if outcome.exit_code not in (None, 0):
        return outcome.exit_code or OK
    if outcome.target_was_stopped or not outcome.target_ended or outcome.target_code == 0:
        return OK
    return INTERRUPTED if interrupted else TARGET_FAILED


def _explain(outcome: Outcome) -> None:
    """Say in a line what went wrong, if anything did."""
    if outcome.message:
        say(outcome.message)
    if not outcome.target_ended or outcome.target_was_stopped or outcome.target_code == 0:
        return
    if outcome.target_signal is not None:
        from mgtop.analysis.ending import killer

        number, kills = outcome.target_signal, outcome.target_oom_kills
        kernel = killer(number, kills)
        ended = f"the program was ended by signal {_signal_name(number)}"
        say(f"{ended}; {kernel}." if kernel else f"{ended}.")
    else:
        say(f"the program failed with exit code {outcome.target_code}.")


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:  # a real-time signal
        return str(number)


def _check_gates(gates: Sequence[str]) -> None:
    """Refuse gates that are none before anything is started."""
    if gates:
        from mgtop.report.gates import GateError, parse_gate

        try:
            for text in gates:
                parse_gate(text)
        except GateError as error:
            raise UserError(str(error), USAGE) from None


def _with_gates(code: int, folder: Path, gates: Sequence[str]) -> int:
    """Evaluate gates on a session that ended well; a failed one makes the exit code 1."""
    if not gates:
        return code
    if code != OK:
        say("gates were not evaluated, since the run did not end well.")
        return code
    from mgtop.report.gates import GateError, evaluate_all
    from mgtop.report.load import summarise

    try:
        results = evaluate_all(gates, summarise(folder))
    except GateError as error:
        raise UserError(str(error), USAGE) from None
    for result in results:
        say(result.message)
    return OK if all(result.passed for result in results) else NOT_MET
