"""Where a process can read the probe package from: its own place, or a copy that it can see.

A process in a container has other files; one of another user may not look into a home folder.
For these the package is copied into the process's own runtime folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import mgtop.probe
from mgtop.probe.version import VERSION
from mgtop.record.attach.process import Process
from mgtop.record.inject.errors import CannotInject


def probe_for(process: Process) -> str:
    """Path of the probe package, as the process sees it.

    Raises:
        CannotInject: it cannot be put where the process could read it.
    """
    own = probe_folder()
    if _sees(process, own):
        return str(own)
    folder = f"/tmp/mgtop-{process.inner_uid}"  # noqa: S108 - the probe's own default
    place = f"{folder}/probe-{VERSION}"
    try:
        _copy(own, Path(f"{process.root}{folder}"), f"probe-{VERSION}", process)
    except OSError as error:
        raise CannotInject(
            f"The probe cannot be put into {place} of process {process.pid}: {error.strerror}."
        ) from None
    return place


def probe_folder() -> Path:
    """Where mgtop's own probe package is."""
    return Path(mgtop.probe.__file__ or "").resolve().parent


def _sees(process: Process, folder: Path) -> bool:
    """Whether the same folder is there for the process, and its user may read it."""
    file = folder / "__init__.py"
    try:
        if not os.path.samefile(f"{process.root}{file}", file):
            return False
        if process.uid in (0, os.geteuid()):
            return True
        return all(_open_to(process.uid, path) for path in (file, *file.parents))
    except OSError:
        return False


def _open_to(uid: int, path: Path) -> bool:
    """Whether a user may read a file or pass through a folder; groups are not looked at."""
    status = path.stat()
    wanted = stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else stat.S_IROTH
    return bool(status.st_mode & (wanted << 6 if status.st_uid == uid else wanted))


def _copy(own: Path, folder: Path, name: str, process: Process) -> None:
    if not folder.exists():
        folder.mkdir(mode=0o700)
        _give(folder, process)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != process.uid:
        raise NotADirectoryError(0, "it is no folder of that process's user", str(folder))
    place = folder / name
    if place.exists():
        return
    new = folder / f"{name}.{os.getpid()}"
    new.mkdir(mode=0o700)
    for file in own.glob("*.py"):
        shutil.copyfile(file, new / file.name)
        _give(new / file.name, process)
    _give(new, process)
    new.rename(place)


def _give(path: Path, process: Process) -> None:
    """Make it the process's user's."""
    if os.geteuid() != process.uid:
        os.chown(path, process.uid, -1)
