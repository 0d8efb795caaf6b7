"""Stopping a program whose recorder is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from mgtop.record.target import STOP_PATIENCE_NS
from mgtop.record.tree import descendants, is_running, proc_number
from mgtop.session.lock import read_owner

_KILL_PATIENCE_S = 3.0


def stop_orphan(folder: Path) -> bool | None:
    """Stop the launched program of a session that nobody records: TERM, KILL after 10 s.

    Returns:
        Whether all have ended; None where the program was not running any more.
    """
    owner = read_owner(folder)
    if owner is None or owner.target_pid is None or owner.target_proc is None or not owner.here:
        return None
    if not is_running(owner.target_pid, owner.target_proc):
        return None
    members = {
        pid: number
        for pid in descendants([owner.target_pid])
        if (number := proc_number(pid)) is not None
    }
    for number, patience_s in (
        (signal.SIGTERM, STOP_PATIENCE_NS / 1e9),
        (signal.SIGKILL, _KILL_PATIENCE_S),
    ):
        for pid, proc in members.items():
            if is_running(pid, proc):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if not any(is_running(pid, proc) for pid, proc in members.items()):
                return True
            time.sleep(0.05)
    return False
