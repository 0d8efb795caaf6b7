"""Running processes to put things into, in every CPython that is installed."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mgtop.record.inject.interpreter import Interpreter, find_interpreter
from mgtop.record.inject.pending_call import Done, nudge, schedule
from mgtop.record.inject.probe import _apart
from tests.record.attach.programs import until


def _installed() -> list[str]:
    """Interpreters of this machine; more of them by ``MGTOP_TEST_PYTHONS=PATH:PATH``."""
    found = os.environ.get("MGTOP_TEST_PYTHONS", "").split(os.pathsep)
    found += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    found += glob.glob("/opt/python3.*/bin/python3.*")
    found += ["/usr/bin/python3", *(shutil.which(f"python3.{minor}") or "" for minor in (8, 14))]
    return sorted({path for path in found if path and os.access(path, os.X_OK)})


def _minor(path: str) -> int:
    said = subprocess.run([path, "-V"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"Python 3\.(\d+)\.", said)
    return int(match[1]) if match else 0


_MINORS = {path: _minor(path) for path in _installed()}
PYTHONS = [path for path, minor in _MINORS.items() if 8 <= minor <= 13] or [sys.executable]
"""CPython 3.8 to 3.13, all that this machine has: entered by a borrowed thread."""

REMOTE = [path for path, minor in _MINORS.items() if minor >= 14]
"""CPython 3.14 and later: entered by ``sys.remote_exec``."""

NO_REMOTE = pytest.mark.skipif(
    not REMOTE, reason="no CPython 3.14 here (python3.14 on PATH, or MGTOP_TEST_PYTHONS)"
)
EVERY = [*PYTHONS, *(REMOTE or [pytest.param("", marks=NO_REMOTE, id="3.14")])]


@contextmanager
def target(
    code: str, *arguments: object, python: str = sys.executable, **options: object
) -> Iterator[subprocess.Popen[str]]:
    """A program that has printed its first line; killed at the end. Nothing of ours on its path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env.update(options.pop("env", {}))  # type: ignore[call-overload]
    process: subprocess.Popen[str] = subprocess.Popen(  # type: ignore[call-overload]
        [python, "-u", "-c", code, *map(str, arguments)],
        **{
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": env,
            "cwd": "/",
            **options,
        },
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def put(pid: int, text: str, python: Interpreter | None = None) -> Done:
    """Queue a text in a process."""
    known = python or find_interpreter(pid)
    return _apart(lambda: schedule(pid, known, text))


def wake(pid: int) -> bool:
    """Have its main thread look at what is queued, if it waits for a lock."""
    return _apart(lambda: nudge(pid))


def appeared(path: Path, count: int = 1) -> None:
    """Wait for a file with so many lines."""
    until(lambda: path.exists() and path.read_text().count("\n") >= count)


def ends(process: subprocess.Popen[str], patience_s: float = 20) -> int:
    """Let a program go that waits for the end of its input; return its exit code.

    A text can run before the thread that queued it has been put back. So a program that ends on
    its own after the last text ends within an injection, which says that it has died.
    """
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(patience_s)
