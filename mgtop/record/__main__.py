"""``python -m mgtop.record FOLDER``: the recorder process of one session.

It reads ``FOLDER/launch.json`` and records until the target ends. SIGTERM ends the recording
and leaves the target running; SIGUSR1 stops the target, then ends; SIGHUP does nothing.
Exit codes: 0; 2 nothing could be started; 4 the session could not be written; 70 a
fault of its own. The same, with a sentence, stands in ``FOLDER/recorder.status``.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from pathlib import Path

from mgtop.record.attach.claim import AlreadyAttached
from mgtop.record.attach.opening import Followed, open_attached
from mgtop.record.attach.pipe_only import PipeTarget
from mgtop.record.attach.process import CannotAttach
from mgtop.record.notes import note
from mgtop.record.opening import open_recording
from mgtop.record.pipes import PipeError
from mgtop.record.plan import Plan, take_plan
from mgtop.record.recorder import Asked, Recorder
from mgtop.record.status import FAULT, NOT_STARTED, WRITE_FAILED, Status, write_status
from mgtop.record.target import Target, TargetNotStarted
from mgtop.session.lock import SessionBusy, SessionLock
from mgtop.session.writer import SessionWriteError


def main(arguments: list[str]) -> int:
    """Record the session whose folder is the only argument; return the exit code."""
    if len(arguments) != 1:
        print("usage: python -m mgtop.record FOLDER", file=sys.stderr)
        return NOT_STARTED
    folder = Path(arguments[0]).absolute()
    place = _place(folder)
    _ignore_hangup()
    asked = _listen()
    target: Target | Followed | None = None
    try:
        plan = take_plan(folder)
        write_status(place, Status(recorder_pid=os.getpid()))
        with _lock(folder) as lock:
            recorder, target = _open(folder, plan, asked)
            if not isinstance(target, PipeTarget):  # its pid means another process here
                lock.update(target_pid=target.pid)
            write_status(
                place,
                Status(
                    state="recording",
                    recorder_pid=os.getpid(),
                    target_pid=target.pid,
                    message=recorder.greeting,
                ),
            )
            recorder.run()
            return _end(place, target, 0, recorder.reason)
    except (TargetNotStarted, CannotAttach, AlreadyAttached, PipeError, SessionBusy) as error:
        return _end(place, target, NOT_STARTED, f"error: {error}", str(error))
    except SessionWriteError as error:
        return _end(place, target, WRITE_FAILED, f"error: {error}", str(error))
    except Exception as error:
        traceback.print_exc()
        message = f"internal error of the recorder ({type(error).__name__}: {error})"
        return _end(place, target, FAULT, f"error: {message}", message)


def _place(folder: Path) -> Path:
    """The folder by a handle: its status goes with it, should somebody move it meanwhile."""
    try:
        place = Path(f"/proc/self/fd/{os.open(folder, os.O_RDONLY | os.O_DIRECTORY)}")
    except OSError:
        return folder
    return place if place.exists() else folder


def _open(folder: Path, plan: Plan, asked: Asked) -> tuple[Recorder, Target | Followed]:
    if plan.attach is not None:
        return open_attached(folder, plan, plan.attach, asked)
    return open_recording(folder, plan, asked)


def _lock(folder: Path) -> SessionLock:
    """Take the session; somebody who only looks whether it is live holds it for a moment."""
    for _ in range(50):
        try:
            return SessionLock(folder)
        except SessionBusy:
            time.sleep(0.01)
    return SessionLock(folder)


def _ignore_hangup() -> None:
    """Outlive the terminal.

    A handler rather than SIG_IGN: the target must not inherit it (unless it was set before,
    as by ``nohup``).
    """
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def _listen() -> Asked:
    """Take requests by signal, from now on: one may come while the target is being started."""
    asked = Asked()

    def stop(*_: object) -> None:
        asked.request = "stop"

    def stop_target(*_: object) -> None:
        asked.request = "stop_target"

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR1, stop_target)
    return asked


def _end(
    folder: Path,
    target: Target | Followed | None,
    code: int,
    reason: str,
    message: str = "",
) -> int:
    """Leave word of how it ended, where it can be left; return ``code``."""
    if target is not None:
        target.reap()
    exited = target.exited if target is not None else None
    note(message or f"ended: {reason}")
    try:
        write_status(
            folder,
            Status(
                state="ended",
                recorder_pid=os.getpid(),
                target_pid=target.pid if target is not None else None,
                exit_code=code,
                reason=reason,
                message=message,
                target_ended=exited is not None,
                target_code=exited[0] if exited else None,
                target_signal=exited[1] if exited else None,
                target_oom_kills=target.oom_kills if target is not None else None,
            ),
        )
    except OSError as error:
        note(f"the status could not be written: {error}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
