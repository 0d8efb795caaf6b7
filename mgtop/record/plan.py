"""What a recorder is told to do: the launch plan, resolved to the last detail."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from mgtop.config import AnalysisSettings
from mgtop.config.structs import Frames, Retention

LAUNCH_FILE = "launch.json"


class EditedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A copy of a file of the target, to be written into the session folder.

    ``place`` is its path in there. ``words`` are the places in the command that are to name
    it, each with what stands before the path in that word, as ``--config=``.
    """

    place: str
    text: str
    words: dict[int, str]


class Attached(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program that runs already: ``proc`` is the process that ``pid`` meant when asked.

    ``log``: the text log that it writes; None: its output, where that is a file.
    ``apart``: pids that are mgtop's own, should they be among its descendants.
    ``advice``: how to start it so that its frames are told. ``fifo``: its event pipe, where
    that is all that can be seen of it; then ``pid`` is what it calls itself.
    """

    pid: int
    proc: int
    fifo: str | None = None
    log: str | None = None
    apart: list[int] = []
    advice: str = ""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One recording: of a program to launch, or of one to ``attach`` to.

    ``command`` and ``cwd`` only describe a program that runs already.

    ``env`` is added to the environment that mgtop itself has. ``stdin``: ``inherit`` hands
    the target whatever mgtop's own standard input is, ``null`` gives it none. ``seconds``
    ends the recording and stops the target after that time. ``edited`` files are written, and
    the command made to name them, before the recorder sees the plan.
    """

    name: str
    command: list[str]
    cwd: str
    env: dict[str, str] = {}
    params: dict[str, Any] = {}
    settings: AnalysisSettings = AnalysisSettings()
    seconds: float | None = None
    stdin: Literal["null", "inherit"] = "null"
    git: str | None = None
    edited: list[EditedFile] = []
    frames: Frames = Frames()
    retention: Retention = Retention()
    attach: Attached | None = None


def write_plan(folder: Path, plan: Plan) -> None:
    """Leave the plan for the recorder, readable by its owner alone (``env`` may hold secrets).

    Python's own JSON writes names that are not UTF-8 so that they are the same when read.
    """
    handle = os.open(folder / LAUNCH_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(json.dumps(msgspec.to_builtins(plan), indent=1).encode() + b"\n")


def take_plan(folder: Path) -> Plan:
    """Read the plan and remove it, so that no secret of ``env`` stays in the session.

    Raises:
        OSError: it is not there.
        ValueError: it is not a plan (msgspec's errors are such).
    """
    path = folder / LAUNCH_FILE
    plan = msgspec.convert(json.loads(path.read_bytes()), Plan)
    path.unlink()
    return plan
