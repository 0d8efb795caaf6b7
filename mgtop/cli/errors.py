"""What the command line says and returns when something is wrong.

Exit codes: 0 done; 1 a check, gate or criterion not met; 2 wrong usage or configuration;
3 the target failed; 4 the session could not be written; 130 interrupted; 70 a fault of mgtop
itself (so that it is never taken for a gate that was not met).
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
import traceback
from pathlib import Path

OK = 0
NOT_MET = 1
USAGE = 2
TARGET_FAILED = 3
NOT_WRITTEN = 4
INTERNAL = 70
INTERRUPTED = 130

_CODES = {
    "CannotStop": USAGE,
    "ConfigError": USAGE,
    "GateError": USAGE,
    "NoPack": USAGE,
    "SessionNotFound": USAGE,
    "SessionAmbiguous": USAGE,
    "SessionNewer": USAGE,
    "SessionWriteError": NOT_WRITTEN,
}
"""Exceptions of the lower packages by name, so that none of them is imported to compare."""

LONGEST = 1_000
"""Characters of a message."""

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class UserError(Exception):
    """Something that the person at the keyboard can put right.

    Args:
        message: one clear sentence: what is wrong, where, and what to do.
        code: the exit code.
    """

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def exit_code_of(error: BaseException) -> int | None:
    """The exit code of an error that is explained by its own message; None: unexpected."""
    if isinstance(error, UserError):
        return error.code
    for kind in type(error).__mro__:
        if kind.__module__.split(".")[0] == "mgtop" and kind.__name__ in _CODES:
            return _CODES[kind.__name__]
    if isinstance(error, OSError) and error.errno in _DISK:
        return NOT_WRITTEN
    return None


def message_of(error: BaseException) -> str:
    """The sentence to print for an error that :func:`exit_code_of` knows."""
    if isinstance(error, OSError) and error.errno in _DISK:
        where = f" {os.fspath(error.filename)!r}" if error.filename else ""
        return f"Could not write{where}: {error.strerror}. Free some space and try again."
    return str(error) or type(error).__name__


def say(message: str) -> None:
    """Print one error line to stderr; a closed stderr is nobody's concern.

    What it quotes may come from others' files: nothing in it commands the terminal.
    """
    from mgtop.report.page import clean

    message = "\n".join(clean(line) for line in message.split("\n"))
    if len(message) > LONGEST:  # a message quotes what it was given, whatever its length
        message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
    with contextlib.suppress(OSError, ValueError):
        print(f"mgtop: {message}", file=sys.stderr, flush=True)


def report_unexpected(error: BaseException) -> int:
    """Keep the traceback of a fault of mgtop in a file and say so in one sentence."""
    text = "".join(traceback.format_exception(error))
    where = _write_crash(text)
    kind = type(error).__name__
    if where is None:
        sys.stderr.write(text)
        say(f"internal error ({kind}); please report the traceback above.")
    else:
        say(f"internal error ({kind}: {_first_line(error)}); the traceback is in {where}.")
    return INTERNAL


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:120] if lines else "no message"


def _write_crash(text: str) -> Path | None:
    """Write ``text`` to a new file, readable by its owner alone, in the state folder."""
    import tempfile

    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    candidates = []
    try:
        from platformdirs import user_state_path

        candidates.append(user_state_path("mgtop") / name)
    except (ImportError, OSError, RuntimeError):
        pass
    candidates.append(Path(tempfile.gettempdir()) / f"mgtop-{os.getuid()}-{name}")
    for path in candidates:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return None
