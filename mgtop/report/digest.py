"""What was made of a long session, kept beside its log so that it is made once.

Reading a million frames takes minutes, and the report of a session that has ended is always the
same. So it is kept, with what tells whether it still holds: the log's and the marks' sizes and
times, and which mgtop made it. A digest is a cache: it is never packed or sent, anybody may delete
it, and where it cannot be read or written all is read anew.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import zlib
from pathlib import Path

import msgspec

import mgtop.analysis
import mgtop.wire
from mgtop.analysis.live import LiveView
from mgtop.analysis.summary import Summary
from mgtop.probe.version import VERSION
from mgtop.session.files import DIGEST_NAME as NAME
from mgtop.session.files import files_read

COLUMNS = 4_000
"""Of the whole session's time, in the picture; each holds the lowest and the highest reading."""
WORTH_BYTES = 128 << 10
"""A smaller log is read in half a second."""
_MOST_BYTES = 1 << 28


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """What a digest was made from, and by what."""

    mgtop: str
    code: list[tuple[str, int, int]]
    """Name, size and time of each file of the analysis."""
    session: list[tuple[str, int, int]]
    """The same of each file that was read."""


class Digest(msgspec.Struct, frozen=True, array_like=True):
    """The report of a session that has ended."""

    origin: Origin
    summary: Summary
    view: LiveView | None
    """Over all of its time, in :data:`COLUMNS` columns; None: nothing was recorded."""


def origin_of(folder: Path) -> Origin:
    """What a digest of this session would be made from now."""
    return Origin(VERSION, _code(), _described(files_read(folder)))


def size_of(origin: Origin) -> int:
    """Bytes that were read."""
    return sum(size for _, size, _ in origin.session)


def find(folder: Path) -> Digest | None:
    """The digest of a session, where there is one that still holds."""
    try:
        with open(folder / NAME, "rb") as file:
            opener = zlib.decompressobj()
            data = opener.decompress(file.read(_MOST_BYTES), _MOST_BYTES)
        if not opener.eof:
            return None
        digest = msgspec.msgpack.decode(data, type=Digest)
    except (OSError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return digest if digest.origin == origin_of(folder) else None


def keep(folder: Path, digest: Digest) -> bool:
    """Put a digest beside the log, where that can be done and is worth it."""
    if size_of(digest.origin) < WORTH_BYTES:
        return False
    try:
        fd, new = tempfile.mkstemp(prefix=f".{NAME}.", dir=folder)
    except OSError:
        return False
    try:
        with open(fd, "wb") as file:
            file.write(zlib.compress(msgspec.msgpack.encode(digest), 3))
        os.replace(new, folder / NAME)
    except (OSError, msgspec.MsgspecError, ValueError):
        with contextlib.suppress(OSError):
            os.unlink(new)
        return False
    return True


def carry_over(folder: Path, digest: Digest) -> None:
    """Keep a digest that held until its log was written anew, with the same records."""
    keep(folder, msgspec.structs.replace(digest, origin=origin_of(folder)))


@functools.cache
def _code() -> list[tuple[str, int, int]]:
    """The files that decide what a session shows: another analysis makes another digest."""
    packages = [Path(path) for module in (mgtop.analysis, mgtop.wire) for path in module.__path__]
    return _described(sorted(file for package in packages for file in package.rglob("*.py")))


def _described(files: list[Path]) -> list[tuple[str, int, int]]:
    described = []
    for file in files:
        with contextlib.suppress(OSError):
            status = file.stat()
            described.append((file.name, status.st_size, status.st_mtime_ns))
    return described
