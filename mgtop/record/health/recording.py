"""Whether a recording can be made: the folder for pipes, a real pipe, the folder for sessions."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mgtop.probe import transport
from mgtop.record.health.files import number_of
from mgtop.record.health.finding import Finding, bad, ok
from mgtop.record.pipes import PIPE_BYTES, EventPipe, PipeError
from mgtop.session.folder import sessions_root

MIB = 1 << 20
ENOUGH_BYTES = 1 << 30
LEAST_BYTES = 16 << 20
HOUR_MIB = 100
"""What an hour of recording takes at most as a rule: 36 at 16 frames a second with spans."""
_REMOTE = ("nfs", "cifs", "smb", "fuse", "9p", "lustre", "beegfs", "ceph", "gpfs", "glusterfs")


def check_recording(root: Path = Path("/")) -> Iterator[Finding]:
    """The three; without one of them nothing can be recorded."""
    try:
        folder = Path(transport.runtime_folder()).absolute()
    except transport.Unusable as error:
        yield bad(
            "recording.runtime",
            "runtime folder",
            os.environ.get(transport.FOLDER_VARIABLE) or f"/tmp/mgtop-{os.geteuid()}",  # noqa: S108
            str(error),
            "export MGTOP_RUNTIME=DIR, a folder of your own with mode 0700",
            state="missing",
            essential=True,
        )
    else:
        yield _runtime(folder)
        yield _pipe(folder, root / "proc/sys/fs")
    yield from _sessions(sessions_root(), root / "proc/self/mounts")


def _runtime(folder: Path) -> Finding:
    mode = stat.S_IMODE(folder.stat().st_mode)
    free = _free_bytes(folder)
    return ok(
        "recording.runtime",
        "runtime folder",
        f"{folder}, mode {mode:04o}, {in_gib(free)} free",
        path=str(folder),
        mode=f"{mode:04o}",
        free_mib=free // MIB,
    )


def _pipe(folder: Path, limits: Path) -> Finding:
    """Make a pipe as a recording does, and send something through it."""
    name, message = "event pipe", b"mgtop" + bytes(59)
    try:
        pipe = EventPipe(folder / f"doctor-{os.getpid()}.fifo")
    except PipeError as error:
        return bad(
            "recording.pipe",
            name,
            "cannot be made",
            str(error),
            "export MGTOP_RUNTIME=DIR, a folder on a local disk (ext4, xfs, tmpfs)",
            state="missing",
            essential=True,
        )
    try:
        writer = os.open(pipe.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(writer, message)
            arrived = pipe.read() == message
        finally:
            os.close(writer)
        capacity = pipe.capacity
    finally:
        pipe.close(remove=True)
    pages = number_of(limits / "pipe-user-pages-soft")
    largest = number_of(limits / "pipe-max-size")
    measured = {
        "capacity_kib": capacity >> 10,
        "wanted_kib": PIPE_BYTES >> 10,
        "user_pages_soft": pages,
        "max_size_kib": None if largest is None else largest >> 10,
    }
    if not arrived:
        return bad(
            "recording.pipe",
            name,
            "does not pass on what is written",
            "the file system's pipes do not work as Linux's do",
            "export MGTOP_RUNTIME=DIR, a folder on a local disk (ext4, xfs, tmpfs)",
            state="missing",
            essential=True,
            measured=measured,
        )
    if capacity >= PIPE_BYTES:
        return ok("recording.pipe", name, f"made; holds {capacity >> 10:,} KiB", measured=measured)
    if largest is not None and largest < PIPE_BYTES:
        why = f"the system allows {largest >> 10} KiB"
        do = f"sudo sysctl fs.pipe-max-size={PIPE_BYTES}"
    else:
        why = "this user's share of pipe memory is used up"
        do = "end programs that hold pipes, or: sudo sysctl fs.pipe-user-pages-soft=0"
    return bad(
        "recording.pipe",
        name,
        f"made; holds {capacity >> 10:,} KiB instead of {PIPE_BYTES >> 10:,}",
        f"{why}; events may be lost in bursts, and counted",
        do,
        measured=measured,
    )


def _sessions(folder: Path, mounts: Path) -> Iterator[Finding]:
    there = next((f for f in (folder, *folder.parents) if f.exists()), Path("/"))
    elsewhere = "use --out DIR, or export XDG_STATE_HOME=DIR on another disk"
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        yield bad(
            "recording.sessions",
            "sessions folder",
            str(folder),
            f"nothing can be written in {there}: {error.strerror}",
            elsewhere,
            state="missing",
            essential=True,
            path=str(folder),
        )
        return
    kind = file_system_of(there.resolve(), mounts)
    if kind is not None and kind.startswith(_REMOTE):
        yield bad(
            "recording.sessions",
            "sessions folder",
            f"{folder}, on {kind}",
            "while a remote file system stands still, so does the log, and events may be lost",
            elsewhere,
            path=str(folder),
            file_system=kind,
        )
    else:
        yield ok(
            "recording.sessions",
            "sessions folder",
            f"{folder}, can be written",
            path=str(folder),
            file_system=kind,
        )
    yield _space(_free_bytes(there), elsewhere)


def _space(free: int, elsewhere: str) -> Finding:
    name, value = "disk", f"{in_gib(free)} free for sessions"
    hours = free / MIB / HOUR_MIB
    if free >= ENOUGH_BYTES:
        return ok("recording.disk", name, value, free_mib=free // MIB)
    gone = free < LEAST_BYTES
    return bad(
        "recording.disk",
        name,
        value,
        "the disk is full" if gone else f"enough for about {hours:.1f} hours of recording",
        f"free some space, or {elsewhere}",
        state="missing" if gone else "weak",
        essential=gone,
        free_mib=free // MIB,
    )


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def in_gib(size: int) -> str:
    """``78.1 GiB``, or MiB where it is less than one."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / MIB:,.0f} MiB"


def file_system_of(folder: Path, mounts: Path) -> str | None:
    """The type of the file system that a folder lies on; None where it is not told."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " "))
        if (point == folder or point in folder.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind
