"""Asking a recorder from outside to end, with or without its target."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mgtop.session.lock import is_live, proc_number, read_owner
from mgtop.session.marks import clean


class NotLive(Exception):
    """Nobody records the session; ``str()`` says so."""


class CannotStop(Exception):
    """Somebody records the session, but cannot be asked from here; ``str()`` says why."""


def request_stop(folder: Path, target: bool) -> None:
    """Ask the recorder to end the recording; with ``target``, to stop its target first.

    Raises:
        NotLive: no recorder holds the session.
        CannotStop: one does, of another user or out of sight in another container.
    """
    if not is_live(folder):
        raise NotLive(f"{folder.name} is not being recorded (any more)")
    owner = read_owner(folder)
    if owner is not None and not owner.here:
        raise CannotStop(
            f"{folder.name} is being recorded on another machine or in another container "
            f"({clean(owner.host)}); stop it there"
        )
    if owner is None or proc_number(owner.pid) != owner.proc:
        if not is_live(folder):
            raise NotLive(f"{folder.name} is not being recorded any more")
        raise CannotStop(
            f"{folder.name} is being recorded by a process that cannot be seen from here; "
            "stop it where it was started (in another container?)"
        )
    try:
        _send(owner.pid, owner.proc, signal.SIGUSR1 if target else signal.SIGTERM)
    except ProcessLookupError:
        raise NotLive(f"{folder.name} is not being recorded any more") from None
    except PermissionError:
        raise CannotStop(
            f"{folder.name} is being recorded by another user's process {owner.pid}; "
            "only that user can stop it"
        ) from None


def _send(pid: int, proc: int, number: signal.Signals) -> None:
    """Signal exactly that process, even if its pid is given to another one meanwhile."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # an old kernel, or a sandbox that does not allow it
        os.kill(pid, number)
        return
    try:
        if proc_number(pid) != proc:
            raise ProcessLookupError
        signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)
