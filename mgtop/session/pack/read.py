"""Opens a pack: into a temporary folder, which is removed afterwards. Packs come from strangers."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mgtop.session.pack.write import MANIFEST
from mgtop.session.writer import LOG_NAME

MOST_FILES = 10_000
MOST_BYTES = 16 << 30
"""Of all files unpacked: some weeks of recording."""
_PIECE = 1 << 20


class NoPack(Exception):
    """The file is no pack, or a broken or a hostile one; the message tells."""


def is_pack(path: Path) -> bool:
    """Whether a file looks like one (a session's folder does not)."""
    return os.path.isfile(path) and zipfile.is_zipfile(path)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A pack's session as a folder, while the context lasts.

    Raises:
        NoPack: it is none, or must not be opened.
        OSError: it cannot be read, or there is no room for it.
    """
    scratch = Path(tempfile.mkdtemp(prefix="mgtop-pack-"))
    try:
        yield _unpack(path, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack(path: Path, scratch: Path) -> Path:
    name = path.name.removesuffix(".zip").removesuffix(".mgtop") or "pack"
    folder = scratch / name
    folder.mkdir(mode=0o700)
    try:
        with zipfile.ZipFile(path) as pack:
            members = pack.infolist()
            if LOG_NAME not in {member.filename for member in members}:
                raise NoPack(f"{path} holds no session ({LOG_NAME} is missing)")
            if len(members) > MOST_FILES:
                raise NoPack(f"{path} holds {len(members):,} files; a session has few")
            left = MOST_BYTES
            for member in members:
                if member.filename != MANIFEST and not member.is_dir():
                    left -= _extract(pack, member, folder, left)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise NoPack(f"{path} is damaged: {error}") from None
    return folder


def _extract(pack: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, left: int) -> int:
    place = PurePosixPath(member.filename)
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    odd = is_link or place.is_absolute() or ".." in place.parts or "\\" in member.filename
    if odd or any(ord(sign) < 32 for sign in member.filename):
        raise NoPack(f"{pack.filename} holds {member.filename!r}, which no pack of mgtop does")
    to = folder / place
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = 0
    fd = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file, pack.open(member) as source:
        while piece := source.read(_PIECE):
            written += len(piece)
            if written > left:
                raise NoPack(f"{pack.filename} unpacks to more than {MOST_BYTES >> 30} GiB")
            file.write(piece)
    return written
