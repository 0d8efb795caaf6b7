"""Asking a recorder from outside to end, with or without its target."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mgtop.session.lock import is_live, proc_number, read_owner


class NotLive(Exception):
    """Nobody records the session; ``str()`` says so."""


def request_stop(folder: Path, target: bool) -> None:
    """Ask the recorder to end the recording; with ``target``, to stop its target first.

    Raises:
        NotLive: no recorder holds the session.
    """
    owner = read_owner(folder)
    if owner is None or not is_live(folder) or proc_number(owner.pid) != owner.proc:
        raise NotLive(f"{folder.name} is not being recorded (any more)")
    try:
        os.kill(owner.pid, signal.SIGUSR1 if target else signal.SIGTERM)
    except ProcessLookupError:
        raise NotLive(f"{folder.name} is not being recorded any more") from None
