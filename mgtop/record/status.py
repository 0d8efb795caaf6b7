"""How far a recorder has come, and how it ended: one small file of fixed size.

The file gets its full size before recording starts and is overwritten in place, so that even
on a full disk the end can be told. The log stays the record of what happened; this file only
lets the process that started the recorder, and its successors, say why it stopped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from mgtop.wire.text import printable

STATUS_FILE = "recorder.status"
SIZE = 2048
_LONGEST_MESSAGE = 1000

WRITE_FAILED = 4
"""Exit code of a recorder that could not write the session."""
NOT_STARTED = 2
"""Exit code of a recorder that could not start its target, or lacks what it needs for it."""
FAULT = 70
"""Exit code of a recorder that met a fault of its own."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """State of a recording.

    ``exit_code`` is the recorder's own. ``target_code``, ``target_signal`` and kills as in
    :class:`mgtop.wire.records.TargetExit`; ``target_ended`` False: it was left running.
    """

    state: Literal["starting", "recording", "ended"] = "starting"
    recorder_pid: int | None = None
    target_pid: int | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    target_ended: bool = False
    target_code: int | None = None
    target_signal: int | None = None
    target_oom_kills: int | None = None


def write_status(folder: Path, status: Status) -> None:
    """Overwrite the status (create it at first).

    Raises:
        OSError: the folder cannot be written.
    """
    if len(status.message) > _LONGEST_MESSAGE:
        status = msgspec.structs.replace(status, message=status.message[:_LONGEST_MESSAGE] + "…")
    status = msgspec.structs.replace(
        status, message=printable(status.message), reason=printable(status.reason)
    )
    text = msgspec.json.encode(status)
    if len(text) >= SIZE:  # a message of characters that JSON has to escape
        text = msgspec.json.encode(msgspec.structs.replace(status, message="see recorder.log"))
    handle = os.open(folder / STATUS_FILE, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(handle, text.ljust(SIZE - 1) + b"\n", 0)
    finally:
        os.close(handle)


def read_status(folder: Path) -> Status | None:
    """The status; None where there is none (an imported session, or none written yet)."""
    try:
        return msgspec.json.decode((folder / STATUS_FILE).read_bytes(), type=Status)
    except (OSError, msgspec.MsgspecError):
        return None
