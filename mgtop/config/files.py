"""Reading the files that people name, whatever those turn out to be."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

PATIENCE_S = 5.0


def read_file(path: Path, most_bytes: int = -1) -> bytes:
    """The beginning of a file; of a pipe (``<(command)`` of a shell) what comes through it.

    A pipe that nobody writes to is not waited for: opening it would never end.

    Args:
        path: of the file.
        most_bytes: no more than that (−1: all).

    Raises:
        OSError: it cannot be read; ``strerror`` says why.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            if not select.select([fd], [], [], PATIENCE_S)[0]:
                why = f"it is a pipe, and nothing came through it for {PATIENCE_S:.0f} s"
                raise OSError(errno.ENODATA, why, str(path))
            os.set_blocking(fd, True)
        return file.read(most_bytes)
