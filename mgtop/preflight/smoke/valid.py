"""Third criterion: the output is there, is new, opens, has the right size, and shows something."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mgtop.preflight.smoke.reported import IMAGES, VIDEOS, is_newer
from mgtop.preflight.smoke.result import Criterion

SCRIPT = Path(__file__).with_name("media_look.py")
PATIENCE_S = 120.0
CONSTANT = 2
"""Values within so little of each other are one colour: encoders round."""


class Media(msgspec.Struct, frozen=True):
    """What a library found in a file; ``error``: why none did."""

    library: str = ""
    width: int = 0
    height: int = 0
    frames: int = 0
    low: int = 0
    high: int = 0
    spread: int = 0
    error: str = ""


def output_valid(
    path: Path | None,
    *,
    start_wall_ns: int,
    before: tuple[int, int] | None,
    size: tuple[int, int] | None,
    input_size: tuple[Path, tuple[int, int]] | None,
    pythons: Sequence[str],
) -> Criterion:
    """Look at the output.

    Args:
        path: the file; a folder means the newest picture or video in it; None: not known.
        start_wall_ns: when the program was started, Unix time.
        before: (inode, modification time) of the file before the start; None: it was not there.
        size: (width, height) that the parameters ask for; None: they name none.
        input_size: an image among the command's arguments, and its size.
        pythons: interpreters whose libraries may be used, the first first.
    """
    if path is None:
        return _no("there is no path to look at")
    if path.is_dir():
        newest = newest_in(path)
        if newest is None:
            return _no(f"{path} is a folder without an image or a video")
        path = newest
    try:
        status = path.stat()
    except OSError as error:
        return _no(f"{path} is not there ({error.strerror})")
    if before == (status.st_ino, status.st_mtime_ns) or not is_newer(path, start_wall_ns):
        return _no(f"{path} is from before the start: the program did not write it")
    if not status.st_size:
        return _no(f"{path} is empty")
    media = open_media(path, pythons)
    if media.error:
        return _no(f"{path} ({status.st_size:,} bytes) does not open: {media.error}")
    about = (
        f"{path}: {media.width}×{media.height}, {media.frames} frame{'s' * (media.frames > 1)}, "
        f"opened by {media.library}"
    )
    if media.spread <= CONSTANT:
        return _no(f"{about}; every frame is of one colour (values {media.low} to {media.high})")
    if size is not None and (media.width, media.height) != size:
        return _no(f"{about}; {size[0]}×{size[1]} was asked for")
    return Criterion(passed=True, evidence=f"{about}; {_size_note(media, size, input_size)}")


def _size_note(
    media: Media, size: tuple[int, int] | None, input_size: tuple[Path, tuple[int, int]] | None
) -> str:
    values = f"values {media.low} to {media.high}"
    if size is not None:
        return f"the size that was asked for; {values}"
    if input_size is None:
        return f"no size is among the command's parameters, so it was not compared; {values}"
    path, (width, height) = input_size
    if (media.width, media.height) == (width, height):
        return f"the size of the input {path.name}; {values}"
    return (
        f"the input {path.name} is {width}×{height}, and no size is among the command's "
        f"parameters, so that is not held against it; {values}"
    )


def open_media(path: Path, pythons: Sequence[str]) -> Media:
    """What the first interpreter that can open a file says; the last error where none can."""
    last = Media(error="no interpreter to open it with")
    for python in dict.fromkeys(pythons):
        answer = _ask(python, path)
        if not answer.error:
            return answer
        if last.error.startswith("no ") or not answer.error.startswith("no library"):
            last = answer
    if last.error.startswith("no library") and path.suffix.lower() in (*VIDEOS, *IMAGES):
        return Media(error=f"{last.error}; install PyAV: {sys.executable} -m pip install av")
    return last


def _ask(python: str, path: Path) -> Media:
    try:
        answer = subprocess.run(
            [python, str(SCRIPT), str(path)],
            capture_output=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Media(error=f"it was not read within {PATIENCE_S:.0f} s")
    except OSError as error:
        return Media(error=f"no library: {python} cannot be started ({error.strerror})")
    try:
        return msgspec.json.decode(answer.stdout.strip().splitlines()[-1], type=Media)
    except (msgspec.DecodeError, IndexError):
        return Media(error=f"the library that read it ended with exit code {answer.returncode}")


def fingerprint(path: Path | None) -> tuple[int, int] | None:
    """Inode and modification time of a file, to tell later whether it is another one."""
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def newest_in(folder: Path) -> Path | None:
    """The newest image or video in a folder."""
    found = []
    for name in os.listdir(folder):
        path = folder / name
        if path.suffix.lower() in (*IMAGES, *VIDEOS) and path.is_file():
            found.append(path)
    return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)


def input_of(
    command: Sequence[str], cwd: Path, pythons: Sequence[str]
) -> tuple[Path, tuple[int, int]] | None:
    """The first image among a command's arguments that can be opened, and its size."""
    for word in command[1:]:
        text = word.partition("=")[2] if word.startswith("-") else word
        if not text.lower().endswith(IMAGES):
            continue
        path = cwd / Path(text).expanduser()
        if path.is_file():
            media = open_media(path, pythons)
            if not media.error:
                return path, (media.width, media.height)
    return None


def _no(evidence: str) -> Criterion:
    return Criterion(passed=False, evidence=evidence)
