"""Launches the smallest run under a recorder and watches it to its end."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from mgtop.hooks.target.start import SMOKE_VARIABLE
from mgtop.preflight.smoke.open_files import OpenFiles
from mgtop.preflight.smoke.seen import Seen, read_seen
from mgtop.record.launch import Outcome, Recording, start
from mgtop.record.plan import Plan
from mgtop.record.tree import descendants

LOOK_EVERY_S = 0.05
_STOPPING_S = 20.0


class Watched(NamedTuple):
    """A run that is over.

    Attributes:
        folder: of its session.
        outcome: how it ended.
        seen: what was seen from inside.
        open_files: weight files seen from outside, and how.
        start_wall_ns: just before the start, Unix time; ``start_ns`` on the monotonic clock.
    """

    folder: Path
    outcome: Outcome
    seen: list[Seen]
    open_files: dict[str, str]
    start_wall_ns: int
    start_ns: int


def carry_out(
    plan: Plan, out: Path | None, config_yaml: str, on_start: Callable[[Path], object]
) -> Watched:
    """Run ``plan`` to its end.

    Args:
        plan: what to launch.
        out: folder for the session; None: one in the user's state folder.
        config_yaml: the configuration to keep beside the log.
        on_start: called with the session's folder once the program runs.

    Raises:
        LaunchError: it could not be started.
    """
    with tempfile.TemporaryDirectory(prefix="mgtop-smoke-") as folder:
        notes = Path(folder) / "seen.jsonl"
        plan = msgspec.structs.replace(plan, env=plan.env | {SMOKE_VARIABLE: str(notes)})
        start_wall_ns, start_ns = time.time_ns(), time.monotonic_ns()
        recording = start(plan, out=out, config_yaml=config_yaml)
        on_start(recording.folder)
        files = OpenFiles()
        outcome = _follow(recording, files)
        return Watched(
            folder=recording.folder,
            outcome=outcome,
            seen=read_seen(notes),
            open_files=files.found,
            start_wall_ns=start_wall_ns,
            start_ns=start_ns,
        )


def _follow(recording: Recording, files: OpenFiles) -> Outcome:
    """Wait for the end; an interruption stops the program first."""
    try:
        while (outcome := recording.poll()) is None:
            pid = recording.target_pid
            files.look([pid, *descendants([pid])])
            time.sleep(LOOK_EVERY_S)
    except BaseException:
        recording.stop_target()
        try:
            recording.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            recording.stop()
        raise
    return outcome
