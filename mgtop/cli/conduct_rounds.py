"""Rounds from the command line: on a screen of their own or headless, to the exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mgtop.cli.errors import INTERRUPTED, NOT_WRITTEN, OK, USAGE, UserError, say
from mgtop.cli.terminal import need_terminal

if TYPE_CHECKING:
    from mgtop.rounds.preparing import Prepared
    from mgtop.rounds.starting import Opened
    from mgtop.rounds.state import Order, State

PROJECT_FILE = "mgtop.yaml"
_WIDTH = 100
_NARROW = 80


def config_file(given: str) -> Path:
    """The configuration that was named, absolute.

    Raises:
        UserError: there is none.
    """
    path = Path(given).expanduser()
    if path.is_dir():
        path = path / PROJECT_FILE
        if not path.is_file():
            raise UserError(f"There is no {PROJECT_FILE} in {given}; name a configuration file.")
    elif not os.path.exists(path):
        raise UserError(f"There is no configuration {given!r}.")
    return path.resolve()


def conduct_rounds(order: Order, *, headless: bool, as_json: bool) -> int:
    """Carry out an order, or go on with it; return the exit code.

    Raises:
        UserError, ConfigError, SessionWriteError: it cannot be carried out.
    """
    from mgtop.rounds.preparing import prepare
    from mgtop.rounds.starting import FolderTaken, open_folder

    if order.on is not None:
        _check_ray(order.on)
    prepared = prepare(order)
    if not headless:
        need_terminal("use --headless, or --json, to run the rounds without a screen")
    try:
        opened = open_folder(prepared)
    except FolderTaken as error:
        raise UserError(f"{error}.") from None
    if headless:
        return _headless(order, prepared, opened, as_json)
    return _on_screen(order, prepared, opened)


def _headless(order: Order, prepared: Prepared, opened: Opened, as_json: bool) -> int:
    from mgtop.rounds.carrying_out import carry_out
    from mgtop.session.lock import SessionBusy

    folder, state = opened.folder, opened.state
    if opened.pid is not None:
        raise UserError(
            f"These rounds are being run already, by process {opened.pid}; the same command "
            "without --headless shows them."
        )
    for line in state.said:
        say(line)
    if opened.finished:
        say(f"all rounds are finished already, in {folder}")
        code = state.exit_code or OK
    else:
        if opened.resumed:
            kept = sum(found.is_over for found in state.rounds)
            say(f"goes on where it was left: {kept} of {len(state.rounds)} rounds are kept")
        try:
            code = carry_out(folder, state, prepared, say)
        except SessionBusy:
            raise UserError("These rounds are being run already by another process.") from None
    if state.message:
        say(state.message)
    if code == INTERRUPTED:
        say("stopped; the same command goes on where it was left.")
    if any(found.row is not None for found in state.rounds):
        _print(prepared, state, folder, as_json)
    if not as_json:
        click.echo(str(folder))
    return code


def _print(prepared: Prepared, state: State, folder: Path, as_json: bool) -> None:
    width = _NARROW
    if sys.stdout.isatty():
        width = min(_WIDTH, shutil.get_terminal_size().columns)
    if prepared.order.kind == "fallback":
        from mgtop.rounds import fallback_result as answers
        from mgtop.rounds import fallback_text

        answer = answers.result_of(state, prepared, str(folder))
        text = answers.render(answer) if as_json else fallback_text.render(answer, width)
    else:
        from mgtop.rounds import results, sweep_text

        result = results.result_of(state, prepared.variables, str(folder))
        text = results.render(result) if as_json else sweep_text.render(result, width)
    click.echo(text, nl=False)


def _on_screen(order: Order, prepared: Prepared, opened: Opened) -> int:
    """The rounds run in a process of their own; what stays here is a screen."""
    from mgtop.view.rounds_app import run_rounds_view  # what is wrong with it must show first

    runner = None
    if opened.pid is None and not opened.finished:
        runner = _detached(order, opened.folder)
    run_rounds_view(opened.folder)
    return _after_screen(prepared, opened.folder, runner)


def _after_screen(prepared: Prepared, folder: Path, runner: subprocess.Popen[bytes] | None) -> int:
    from mgtop.rounds.state import read_state, runner_pid

    if runner_pid(folder) is not None:
        click.echo("The rounds go on. The same command shows them again, and can stop them.")
        return OK
    code = runner.wait() if runner is not None else None
    state = read_state(folder)
    if state is None:
        raise UserError(f"{folder} cannot be read any more.", NOT_WRITTEN)
    if state.message:
        say(state.message)
    if any(found.row is not None for found in state.rounds):
        _print(prepared, state, folder, as_json=False)
    if state.status == "stopped":
        click.echo("Stopped; the same command goes on where it was left.")
    if code not in (None, OK) and state.exit_code is None:
        say(f"the rounds could not be run; see {folder / RUNNER_LOG}.")
    if state.exit_code is not None:
        return state.exit_code
    return code if code is not None else OK


RUNNER_LOG = "runner.log"


def _detached(order: Order, folder: Path) -> subprocess.Popen[bytes]:
    """Start the rounds in a session of their own: they outlive this terminal."""
    import msgspec

    log = os.open(folder / RUNNER_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "mgtop.rounds", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=_working_directory(folder),
            start_new_session=True,
        )
    finally:
        os.close(log)
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(order))
    process.stdin.close()
    return process


def _working_directory(folder: Path) -> Path:
    """``-m`` puts that folder first on the module path: never the user's own."""
    checkout = Path(__file__).resolve().parents[2]
    return checkout if (checkout / "pyproject.toml").exists() else folder


def _check_ray(on: str) -> None:
    if on != "ray" and not on.startswith("ray://"):
        raise UserError(f"--on {on}: it is ray, or ray://ADDRESS.", USAGE)
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise UserError(
            "--on ray needs Ray, which is not installed here: pip install 'mgtop[ray]'.", USAGE
        )
