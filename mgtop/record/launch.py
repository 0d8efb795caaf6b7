"""Starting a recording, from the side of the process that asks for it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgtop.probe.transport import FOLDER_VARIABLE
from mgtop.record.edited import place_copies
from mgtop.record.plan import LAUNCH_FILE, Plan, write_plan
from mgtop.record.status import NOT_STARTED, WRITE_FAILED, Status, read_status
from mgtop.record.target import explain
from mgtop.session.folder import claimed, create, open_private
from mgtop.session.writer import SessionWriteError

RECORDER_LOG = "recorder.log"
CONFIG_FILE = "config.yaml"
_START_PATIENCE_S = 30.0
_POLL_S = 0.01


class LaunchError(Exception):
    """No recording could be started.

    Attributes:
        code: exit code for a command that fails by it (2 usage, 4 not writable, 70 fault).
        folder: the session folder, if it was made.
    """

    def __init__(self, message: str, code: int, folder: Path | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.folder = folder


@dataclass(frozen=True)
class Outcome:
    """How a recording ended.

    Attributes:
        reason: as in :class:`mgtop.wire.records.SessionEnd`; empty if ``lost``.
        message: a sentence for the user where something went wrong, else empty.
        exit_code: of the recorder (0, 2, 4, 70); None if ``lost``.
        lost: the recorder was killed: nothing is recorded any more, the target goes on.
        target_pid: the launched process.
        target_ended: False: it was left running, or nobody knows.
        target_code: its exit code; None if it ended by ``target_signal``, or did not end.
        target_signal: the signal that ended it.
        target_oom_kills: as in :class:`mgtop.wire.records.TargetExit`.
        target_was_stopped: its end was asked for (``--seconds``, ``mgtop stop --target``),
            so its exit code says nothing.
    """

    reason: str
    message: str
    exit_code: int | None
    lost: bool
    target_pid: int | None
    target_ended: bool
    target_code: int | None
    target_signal: int | None
    target_oom_kills: int | None
    target_was_stopped: bool


class Recording:
    """A recording that was started by this process.

    Attributes:
        folder: the session folder.
        recorder: the recorder process, in a session of its own.
        target_pid: the launched process, leader of its own session and process group.
    """

    def __init__(self, folder: Path, recorder: subprocess.Popen[bytes], target_pid: int) -> None:
        self.folder = folder
        self.recorder = recorder
        self.target_pid = target_pid

    def poll(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        if self.recorder.poll() is None:
            return None
        return outcome_of(self.folder)

    def wait(self, timeout_s: float | None = None) -> Outcome:
        """Wait for the end.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        self.recorder.wait(timeout_s)
        return outcome_of(self.folder)

    def stop(self) -> None:
        """End the recording; the target goes on."""
        self._signal(signal.SIGTERM)

    def stop_target(self) -> None:
        """Stop the target (TERM, KILL after 10 s), which ends the recording."""
        self._signal(signal.SIGUSR1)

    def _signal(self, number: signal.Signals) -> None:
        if self.recorder.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.recorder.send_signal(number)


def outcome_of(folder: Path) -> Outcome:
    """How the recording in ``folder`` ended, whose recorder is known to be gone."""
    status = read_status(folder) or Status()
    lost = status.state != "ended"
    message = status.message
    if lost and not folder.exists():
        message = (
            f"The session's folder {folder} is not there any more: it was moved or deleted while "
            "it was recorded. Where it was moved, the recording in it goes to its end."
        )
    elif lost:
        message = (
            "The recorder ended unexpectedly (killed?): what happened until then is kept, "
            f"what happens now is not recorded. Its notes are in {folder / RECORDER_LOG}."
        )
    return Outcome(
        reason=status.reason,
        message=message,
        exit_code=status.exit_code,
        lost=lost,
        target_pid=status.target_pid,
        target_ended=status.target_ended,
        target_code=status.target_code,
        target_signal=status.target_signal,
        target_oom_kills=status.target_oom_kills,
        target_was_stopped=status.target_ended and status.reason in ("seconds", "stopped"),
    )


def start(
    plan: Plan,
    *,
    out: Path | None = None,
    varied: Mapping[str, Any] | None = None,
    config_yaml: str | None = None,
) -> Recording:
    """Make a session folder, start its recorder, and wait until the target runs.

    Args:
        plan: what to launch.
        out: folder for the session; None: one under the user's state folder.
        varied: the parameters in which this run differs from its baseline, for its name.
        config_yaml: the resolved configuration to keep beside the log, secrets masked.

    Raises:
        LaunchError: it could not be started; nothing is left running.
    """
    if plan.attach is None:
        _check_command(plan)
    with contextlib.ExitStack() as claim:
        return _start(plan, out, varied, config_yaml, claim)


def _start(
    plan: Plan,
    out: Path | None,
    varied: Mapping[str, Any] | None,
    config_yaml: str | None,
    claim: contextlib.ExitStack,
) -> Recording:
    """Start the recorder; ``claim`` is to be held until it is up."""
    try:
        folder = create(plan.name, dict(varied or {}), out, time.time_ns())
        claim.enter_context(claimed(folder))
        if config_yaml is not None:
            with open_private(folder / CONFIG_FILE) as file:
                file.write(config_yaml.encode())
        write_plan(folder, place_copies(plan, folder))
        log = os.open(
            folder / RECORDER_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
    except SessionWriteError as error:
        raise LaunchError(f"The session cannot be written: {error}.", WRITE_FAILED) from None
    except OSError as error:
        where = error.filename or out or "the session folder"
        raise LaunchError(
            f"The session cannot be written: {where}: {error.strerror}.", WRITE_FAILED
        ) from None
    try:
        recorder = subprocess.Popen(
            [sys.executable, "-m", "mgtop.record", str(folder.absolute())],
            cwd=_working_directory(folder),
            env=_environment(),
            stdin=None if plan.stdin == "inherit" else subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    try:
        target_pid = _wait_until_up(folder, recorder)
    except BaseException:
        _abandon(recorder, signal.SIGUSR1 if plan.attach is None else signal.SIGTERM)
        (folder / LAUNCH_FILE).unlink(missing_ok=True)  # it may hold secrets
        raise
    return Recording(folder, recorder, target_pid)


def _working_directory(folder: Path) -> Path:
    """Where the recorder runs: ``-m`` puts that folder first on its module path.

    So never where the user is (a model repository may hold a ``types.py``), but in the
    session's folder; or, where mgtop runs from its own checkout, there.
    """
    checkout = Path(__file__).resolve().parents[2]
    return checkout if (checkout / "pyproject.toml").exists() else folder


def _environment() -> dict[str, str]:
    """That of this process; a relative runtime folder stays where the user meant it."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return {**os.environ, FOLDER_VARIABLE: os.path.abspath(folder)} if folder else {**os.environ}


def _check_command(plan: Plan) -> None:
    """Find out before a session is made whether there is such a command."""
    if not plan.command or not plan.command[0]:
        raise LaunchError("There is no command to run.", NOT_STARTED)
    program = plan.command[0]
    if not os.path.isdir(plan.cwd):
        raise LaunchError(explain(plan.command, plan.cwd, FileNotFoundError()), NOT_STARTED)
    if "/" in program:
        path = Path(plan.cwd, program)
        if not path.exists():
            raise LaunchError(explain(plan.command, plan.cwd, FileNotFoundError()), NOT_STARTED)
        if path.is_dir() or not os.access(path, os.X_OK):
            raise LaunchError(explain(plan.command, plan.cwd, PermissionError()), NOT_STARTED)
        return
    search = plan.env.get("PATH", os.environ.get("PATH", os.defpath))
    if shutil.which(program, path=search) is None:
        raise LaunchError(explain(plan.command, plan.cwd, FileNotFoundError()), NOT_STARTED)


def _wait_until_up(folder: Path, recorder: subprocess.Popen[bytes]) -> int:
    """Wait for the target to run; return its pid."""
    deadline = time.monotonic() + _START_PATIENCE_S
    while True:
        gone = recorder.poll() is not None
        status = read_status(folder)
        if status is not None and status.target_pid is not None:
            return status.target_pid
        if gone:
            code = status.exit_code if status is not None else None
            if status is None or code is None:
                raise LaunchError(
                    f"The recorder did not start; its notes are in {folder / RECORDER_LOG}.",
                    70,
                    folder,
                )
            raise LaunchError(status.message, code, folder)
        if time.monotonic() > deadline:
            raise LaunchError(
                f"The recorder did not come up within {_START_PATIENCE_S:.0f} s; "
                f"its notes are in {folder / RECORDER_LOG}.",
                70,
                folder,
            )
        time.sleep(_POLL_S)


def _abandon(recorder: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """End a recorder that is not wanted any more; SIGUSR1: with the target it launched."""
    if recorder.poll() is None:
        recorder.send_signal(number)
        try:
            recorder.wait(15)
        except subprocess.TimeoutExpired:
            recorder.kill()
            recorder.wait()
