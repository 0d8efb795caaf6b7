"""``mgtop attach``: monitor a program that runs already, and leave it running."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mgtop.cli.errors import INTERRUPTED, NOT_WRITTEN, OK, USAGE, UserError, say
from mgtop.cli.options import recording_options

if TYPE_CHECKING:
    from mgtop.config import RunConfig
    from mgtop.config.structs import Frames
    from mgtop.record.attach.process import Process
    from mgtop.record.launch import Outcome, Recording
    from mgtop.record.plan import Plan

_POLL_S = 0.05
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_EXAMPLES = """\b
Examples:
  mgtop attach 4711
  mgtop attach "$(pgrep -f infer.py | head -1)" --headless --seconds 60
  mgtop attach 4711 --log server.log --config steps24.yaml"""


@click.command(
    "attach",
    epilog=_EXAMPLES,
    short_help="Monitor a running process and its descendants.",
)
@click.argument("target", metavar="PID")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The text log that it writes, if that is not its standard output.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    help="Run configuration: name, parameters, target fps, thresholds, log pattern.",
)
@click.option(
    "--inject",
    is_flag=True,
    help="Put mgtop's probe, hooks and sinks into the running program first (CPython).",
)
@recording_options
def command(
    target: str,
    log: Path | None,
    config: Path | None,
    inject: bool,
    headless: bool,
    seconds: float | None,
    out: Path | None,
) -> int:
    """Monitor a running process and its descendants; leave them running.

    If it is being recorded already, that session is opened. Else frames come from the
    process's own probe, with what its pipe still holds of the time before; else from the text
    log that it writes; else only GPU and host figures are seen, and you are told the command
    that would give frames. With --seconds, mgtop lets go after that time.

    In a container beside this one that shares only the runtime folder, a process cannot be
    seen: give the path of its pipe there, PID.fifo, instead of PID.
    """
    from mgtop.record.attach.existing import recording_of

    if not headless and not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UserError(
            "There is no terminal to draw on; use --headless to record without a screen."
        )
    process, fifo = _target(target)
    existing = recording_of(process.pid) if fifo is None else None
    _check_log(log)
    settings, path = _configuration(process, config)
    if inject and fifo is None:
        _inject(process, settings, path)  # who records it already finds the probe by himself
    if existing is not None and headless:
        with _interruptible() as interrupted:
            return _open_existing(existing, process.pid, interrupted, seconds)
    if existing is not None:
        return _open_existing(existing, process.pid)
    advise = fifo is None and not inject  # what was put in sees all that run would see
    plan, kept = _plan(process, settings, path, log, seconds, fifo, advise=advise)
    return _record(plan, kept, process, headless=headless, out=out)


def _target(text: str) -> tuple[Process, str | None]:
    """The process that a pid means; or what a probe's pipe, given by its path, tells of one."""
    from mgtop.record.attach.pipe_only import PipeTarget, pipe_at
    from mgtop.record.attach.process import CannotAttach, find

    try:
        if text.endswith(".fifo"):
            place = pipe_at(Path(text))
            return PipeTarget(place, lambda: True).process, str(place.path)
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
            raise UserError(f"{text!r} is no pid; pgrep -af python lists candidates.")
        return find(int(text)), None
    except CannotAttach as error:
        raise UserError(str(error)) from None


def _inject(process: Process, settings: RunConfig, path: Path) -> None:
    from mgtop.record.hooked import hook_settings, resolved_frames
    from mgtop.record.inject.errors import CannotInject
    from mgtop.record.inject.probe import inject, why_silent
    from mgtop.record.pipes import runtime_folder

    frames = resolved_frames(settings, str(path), running=True)
    hooks = bool(frames.hooks)
    try:
        done = inject(process, runtime_folder(), settings=hook_settings(frames), hooks=hooks)
    except CannotInject as error:
        raise UserError(str(error)) from None
    if not done.answered:
        say(why_silent(process))
        return
    stood = f"; one thread stood still for {done.stopped_ns / 1e6:.1f} ms"
    python = ".".join(map(str, done.python or ()))
    if done.before:
        asked = f"; the hooks of {path.name} were put in as well" if hooks else ""
        say(f"there is a probe in process {process.pid} already{asked}.")
    else:
        say(
            f"the probe is in process {process.pid} now (Python {python}"
            f"{stood if done.stopped_ns else ''}). {_where_frames_come_from(path, frames)}"
        )


def _where_frames_come_from(path: Path, frames: Frames) -> str:
    """What is to be expected of a probe that was put in."""
    parts = []
    if frames.hooks and frames.from_ in ("auto", "hooks"):
        parts.append(f"by the hooks of {path.name}")
    if frames.from_ in ("auto", "sinks"):
        parts.append("where a library writes, encodes or sends them")
    if frames.from_ in ("auto", "probe"):
        parts.append("where the program calls the probe")
    more = "" if frames.hooks else " Other functions are named in a configuration, frames.hooks."
    return f"Frames are seen {', or '.join(parts)}.{more}" if parts else ""


# ------------------------------------------------------------------------------- recording


def _record(plan: Plan, kept: str, process: Process, *, headless: bool, out: Path | None) -> int:
    if headless:
        with _interruptible() as interrupted:  # from before the start: nothing is left running
            recording = _start(plan, kept, process, out)
            if isinstance(recording, Path):
                return _open_existing(recording, process.pid, interrupted, plan.seconds)
            return _follow(recording, process, interrupted)
    import mgtop.view.app  # noqa: F401 - what is wrong with it must show before the start

    recording = _start(plan, kept, process, out)
    if isinstance(recording, Path):
        return _open_existing(recording, process.pid)
    return _on_screen(recording, process)


def _start(plan: Plan, kept: str, process: Process, out: Path | None) -> Recording | Path:
    """Start to record; a path is the session of somebody who attached at the same moment."""
    from mgtop.record.attach.claim import holder
    from mgtop.record.attach.existing import recording_of
    from mgtop.record.launch import LaunchError, start
    from mgtop.record.pipes import runtime_folder
    from mgtop.record.status import read_status
    from mgtop.session.writer import LOG_NAME

    try:
        recording = start(plan, out=out, config_yaml=kept)
    except LaunchError as error:
        if out is None and error.folder is not None and not (error.folder / LOG_NAME).exists():
            shutil.rmtree(error.folder, ignore_errors=True)  # nothing was recorded in it
        existing = None
        if plan.attach is not None and plan.attach.fifo is None:
            existing = recording_of(process.pid) or holder(runtime_folder(), process.proc)
        if existing is not None:
            return existing
        raise UserError(str(error), error.code) from None
    status = read_status(recording.folder)
    if status is not None and status.message:
        say(_unmasked(status.message, plan, process))
    return recording


def _unmasked(message: str, plan: Plan, process: Process) -> str:
    """On the user's own terminal the command is shown whole, so that it can be repeated."""
    from mgtop.record.attach.restart import restart_line

    masked = plan.attach.advice if plan.attach is not None else ""
    return message.replace(masked, restart_line(process) or "") if masked else message


def _follow(recording: Recording, process: Process, interrupted: list[int]) -> int:
    """Wait for the end of the recording; a signal ends it, and reaches the program never."""
    asked = False
    while (outcome := recording.poll()) is None:
        if interrupted and not asked:
            asked = True
            recording.stop()
        time.sleep(_POLL_S)
    _say_end(outcome, process)
    click.echo(str(recording.folder))
    return _exit_code(outcome, interrupted=bool(interrupted))


def _on_screen(recording: Recording, process: Process) -> int:
    from mgtop.cli.conduct import STOPPING_S, say_goes_on, say_session, show

    choice = show(recording.folder)
    if choice != "leave":
        with contextlib.suppress(subprocess.TimeoutExpired):
            recording.wait(STOPPING_S)
    outcome = recording.poll()
    if outcome is None:
        say_goes_on(recording.folder)
        return OK
    _say_end(outcome, process)
    say_session(recording.folder)
    return _exit_code(outcome, interrupted=False)


@contextlib.contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Signals that would end this command are put into a list instead."""
    seen: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: seen.append(number))
        for number in _ENDING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_end(outcome: Outcome, process: Process) -> None:
    name = f"process {process.pid} ({process.name})"
    if outcome.message:
        say(outcome.message)
    elif outcome.target_was_stopped:
        say(f"{name} was stopped, as you asked.")
    elif outcome.target_ended:
        say(f"{name} has ended; with what exit code, only its parent knows.")
    else:
        say(f"let go of {name}; it goes on.")


def _exit_code(outcome: Outcome, *, interrupted: bool) -> int:
    if outcome.lost or outcome.exit_code == NOT_WRITTEN:
        return NOT_WRITTEN
    if outcome.exit_code:
        return outcome.exit_code
    return INTERRUPTED if interrupted else OK


# ------------------------------------------------------------------------ already recorded


def _open_existing(
    folder: Path, pid: int, interrupted: list[int] | None = None, seconds: float | None = None
) -> int:
    """Show a session that somebody else records; whatever happens here, it goes on.

    ``interrupted``: headless; it is only waited for.
    """
    from mgtop.session.lock import is_live
    from mgtop.session.writer import LOG_NAME

    say(f"process {pid} is being recorded already, in {folder.name}.")
    while is_live(folder) and not (folder / LOG_NAME).exists():
        time.sleep(_POLL_S)  # it is only just being started
    if interrupted is None:
        from mgtop.cli.conduct import show

        show(folder)
        return OK
    deadline = None if seconds is None else time.monotonic() + seconds
    while is_live(folder) and not interrupted:
        if deadline is not None and time.monotonic() >= deadline:
            break
        time.sleep(_POLL_S)
    click.echo(str(folder))
    return INTERRUPTED if interrupted else OK


# -------------------------------------------------------------------------------- the plan


def _check_log(log: Path | None) -> None:
    if log is None:
        return
    if not log.exists():
        raise UserError(f"There is no log {str(log)!r}.")
    if not log.is_file():
        raise UserError(f"{str(log)!r} is not a regular file, so it cannot be followed.")
    if not os.access(log, os.R_OK):
        raise UserError(f"The log {str(log)!r} cannot be read: permission denied.")


def _plan(
    process: Process,
    settings: RunConfig,
    path: Path,
    log: Path | None,
    seconds: float | None,
    fifo: str | None,
    *,
    advise: bool,
) -> tuple[Plan, str]:
    """What to record, and the configuration to keep beside it."""
    from mgtop.record.attach.restart import folder_of, restart_line
    from mgtop.record.from_config import git_state, kept_yaml, name_of_command
    from mgtop.record.plan import Attached, Plan

    folder = folder_of(process) if fifo is None else None
    command = list(process.command) or ["?"]
    attached = Attached(
        pid=process.pid,
        proc=process.proc,
        log=str(log.resolve()) if log is not None else None,
        apart=[os.getpid()],
        advice=(restart_line(process, masked=True) or "") if advise else "",
        fifo=fifo,
    )
    plan = Plan(
        name=settings.name or (name_of_command(command) if fifo is None else Path(fifo).stem),
        command=command,
        cwd=folder or "",
        params=settings.params,
        settings=settings.analysis_settings(),
        frames=settings.frames,
        retention=settings.retention,
        seconds=seconds,
        git=git_state(process.root / folder.lstrip("/")) if folder is not None else None,
        attach=attached,
    )
    return plan, kept_yaml(settings, path)


def _configuration(process: Process, config: Path | None) -> tuple[RunConfig, Path]:
    from mgtop.config import RunConfig
    from mgtop.config.load import ConfigError, load_config, located
    from mgtop.record.textlog_pattern import BadPattern, compile_pattern

    if config is None:
        words = [word.replace("{", "{{").replace("}", "}}") for word in process.command]
        return RunConfig(command=words), Path.cwd() / "attach"
    settings = load_config(config)
    try:
        compile_pattern(settings.frames.log)
    except BadPattern as error:
        wrong = ConfigError(str(error), str(config), key="frames.log.pattern")
        raise UserError(str(located(wrong, config)), USAGE) from None
    return settings, config
