"""Files that people asked for: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from mgtop.cli.errors import NOT_WRITTEN, UserError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def whole_file(path: Path, option: str) -> Iterator[Path]:
    """Give a name to write to; what it holds becomes ``path`` when all of it is there.

    What was at ``path`` before stays where the disk is full, or the command is interrupted.
    Devices and pipes are written to as they are.

    Args:
        path: the file that was asked for.
        option: by which another one can be named.

    Raises:
        UserError: it cannot be written.
    """
    is_plain = path.is_file() or not os.path.lexists(path)
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.part") if is_plain else path
    try:
        yield beside
        if is_plain:
            os.replace(beside, path.resolve() if path.is_symlink() else path)
    except OSError as error:
        raise cannot_write(path, error, option) from None
    finally:
        if is_plain:
            with contextlib.suppress(OSError):
                beside.unlink()


def cannot_write(path: Path, error: OSError, option: str) -> UserError:
    """What to say where a file could not be written."""
    why = error.strerror or str(error)
    full = error.errno in _FULL or any(os.strerror(number) in why for number in _FULL)
    hint = "free some space, or name another place" if full else "name another one"
    return UserError(f"{path} cannot be written ({why}); {hint} with {option}.", NOT_WRITTEN)
