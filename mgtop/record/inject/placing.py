"""What a process needs to read, where it can: in mgtop's own place, or as a copy that it can see.

A process in a container has other files; one of another user may not look into a home folder.
For these a folder is used that is the process's user's, under its own ``/tmp``. Everything in
there is done as that user: what he may turn it into meanwhile, he may do himself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mgtop
from mgtop.record.attach.process import Process
from mgtop.record.inject.errors import CannotInject

PARTS = ("probe", "hooks/boot", "hooks/target")
"""Folders of the package that a program with mgtop in it needs."""


def code_for(process: Process) -> str:
    """Path of a folder with :data:`PARTS`, as the process sees it.

    Raises:
        CannotInject: it cannot be put where the process could read it.
    """
    own = package_folder()
    if all(_sees(process, file) for file in files(own)):
        return str(own)
    name = f"code-{_digest(own)}"
    try:
        with _private_folder(process) as (folder, at):
            _copy(own, at, name)
    except OSError as error:
        raise CannotInject(
            f"Process {process.pid} cannot read mgtop's own files, and they cannot be copied to "
            f"where it can ({private_name(process)}): {error.strerror}."
        ) from None
    return f"{folder}/{name}"


def package_folder() -> Path:
    """Where mgtop's own package is."""
    return Path(mgtop.__file__ or "").resolve().parent


def files(package: Path) -> list[Path]:
    """All files of Python in :data:`PARTS`."""
    return [file for part in PARTS for file in sorted((package / part).rglob("*.py"))]


@contextmanager
def script_for(
    process: Process, runtime: Path, text: Callable[[str], str]
) -> Iterator[tuple[str, Path]]:
    """A file with a text that the process can read and remove.

    Args:
        process: which.
        runtime: the runtime folder.
        text: source code, for the path under which the process sees it.

    Yields:
        Its path as the process sees it, and as it is seen from here. Where an error leaves the
        block, it is removed.

    Raises:
        OSError: it cannot be written.
    """
    name = f"inject-{secrets.token_hex(8)}.py"
    if process.uid == os.geteuid() and _sees(process, runtime):
        path = runtime / name
        inner = str(path)
        _write(path, text(inner).encode())
    else:
        inner = f"{private_name(process)}/{name}"
        with _private_folder(process) as (_, at):
            _write(Path(name), text(inner).encode(), at)
        path = Path(f"{process.root}{inner}")
    try:
        yield inner, path
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def private_name(process: Process) -> str:
    """The folder of the process's user, as the process sees it."""
    return f"/tmp/mgtop-{process.inner_uid}"  # noqa: S108 - the probe's own default


@contextmanager
def _private_folder(process: Process) -> Iterator[tuple[str, int]]:
    """Its path as the process sees it, and a descriptor of it; we are its user meanwhile."""
    name = private_name(process)
    above = os.open(f"{process.root}{os.path.dirname(name)}", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with _as_user(process.uid):
            base = os.path.basename(name)
            with contextlib.suppress(FileExistsError):
                os.mkdir(base, 0o700, dir_fd=above)
            at = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            try:
                if os.fstat(at).st_uid != process.uid:
                    raise PermissionError(0, "that folder is another user's", name)
                yield name, at
            finally:
                os.close(at)
    finally:
        os.close(above)


@contextmanager
def _as_user(uid: int) -> Iterator[None]:
    before = os.geteuid()
    if uid == before:
        yield
        return
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(before)


def _copy(own: Path, at: int, name: str) -> None:
    """Copy it into a folder of its own, which appears whole or not at all."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=at, follow_symlinks=False)
        return
    new = f"{name}.{secrets.token_hex(4)}"
    folders = sorted({str(Path(new, parent)) for file in _contents(own) for parent in _above(file)})
    for folder in folders:
        os.mkdir(folder, 0o700, dir_fd=at)
    for file, data in _contents(own).items():
        _write(Path(new, file), data, at)
    try:
        os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:  # another one was as fast
        for file in _contents(own):
            os.unlink(f"{new}/{file}", dir_fd=at)
        for folder in reversed(folders):
            os.rmdir(folder, dir_fd=at)


def _above(file: str) -> list[Path]:
    return list(Path(file).parents)


def _write(path: Path, data: bytes, at: int | None = None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600, dir_fd=at), "wb") as file:
        file.write(data)


_read: dict[Path, dict[str, bytes]] = {}


def _contents(own: Path) -> dict[str, bytes]:
    """Name within the package → contents; read once, as ourselves: the user may not."""
    if own not in _read:
        _read[own] = {str(file.relative_to(own)): file.read_bytes() for file in files(own)}
    return _read[own]


def _digest(own: Path) -> str:
    """What tells one version of the code from another."""
    digest = hashlib.sha256()
    for name, data in _contents(own).items():
        digest.update(name.encode() + b"\0" + data + b"\0")
    return digest.hexdigest()[:12]


def _sees(process: Process, path: Path) -> bool:
    """Whether the same file or folder is there for the process, and its user may read it."""
    try:
        if not os.path.samefile(f"{process.root}{path}", path):
            return False
        if process.uid in (0, os.geteuid()):
            return True
        return all(_open_to(process.uid, each) for each in (path, *path.parents))
    except OSError:
        return False


def _open_to(uid: int, path: Path) -> bool:
    """Whether a user may read a file or pass through a folder; groups are not looked at."""
    status = path.stat()
    wanted = stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else stat.S_IROTH
    return bool(status.st_mode & (wanted << 6 if status.st_uid == uid else wanted))
