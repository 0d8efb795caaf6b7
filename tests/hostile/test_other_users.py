"""Another user of the host reads nothing of a session, and writes nothing into it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
NOBODY = 65534
PYTHON = "/usr/bin/python3"  # ours may lie in a home folder that others cannot enter
TARGET = """
import time
from mgtop import probe
with probe.request("r1", fps=50) as request:
    while True:
        time.sleep(0.02)
        request.frame()
"""
TRIES = """
import os, sys
for folder in sys.argv[1:]:
    for at, folders, files in os.walk(folder):
        for name in files:
            path = os.path.join(at, name)
            for flags in (os.O_RDONLY, os.O_WRONLY):
                try:
                    os.close(os.open(path, flags | os.O_NONBLOCK))
                except OSError:
                    continue
                print(("read" if flags == os.O_RDONLY else "wrote"), path)
        try:
            open(os.path.join(at, "new"), "x").close()
        except OSError:
            continue
        print("made", at)
"""


def as_somebody_else(*words: str) -> str:
    def become() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    done = subprocess.run(
        [PYTHON, "-c", *words],
        preexec_fn=become,
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may enter, as /tmp or a data disk is."""
    if os.geteuid() != 0 or not os.path.exists(PYTHON):
        pytest.skip(f"needs root, to become another user, and {PYTHON}, for that user to run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        assert as_somebody_else("import os, sys; print(os.listdir(sys.argv[1]))", name) == "[]\n"
        yield folder


def until(done: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_session_in_an_open_folder_is_still_its_owners(shared: Path) -> None:
    out = shared / "session"
    out.mkdir(mode=0o755)  # made before, for all to read
    runtime = shared / "runtime"
    (shared / "target.py").write_text(TARGET)
    process = subprocess.Popen(
        [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(out), "--",
         sys.executable, str(shared / "target.py"), "--api-key", "s3cret-of-mine"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MGTOP_RUNTIME": str(runtime),
             "HF_TOKEN": "hf_secretofmine"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        umask=0o022,
    )  # fmt: skip
    try:
        log = out / "session.log"
        until(lambda: log.exists() and log.stat().st_size > 3_000)
        assert as_somebody_else(TRIES, str(out), str(runtime)) == ""
    finally:
        process.terminate()
        process.wait(30)
    for path in out.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"s3cret-of-mine" not in data, path
            assert b"hf_secretofmine" not in data, path


@pytest.mark.parametrize("kind", ["a link", "somebody else's", "open to all"])
def test_a_runtime_folder_that_is_not_ours_alone_is_refused(shared: Path, kind: str) -> None:
    runtime = shared / "runtime"
    if kind == "a link":
        (shared / "elsewhere").mkdir(mode=0o700)
        runtime.symlink_to(shared / "elsewhere")
    else:
        runtime.mkdir(mode=0o700)
        if kind == "somebody else's":
            os.chown(runtime, NOBODY, NOBODY)
        else:
            runtime.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "run", "--headless", "--seconds", "1", "--out",
         str(shared / "session"), "--", "true"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MGTOP_RUNTIME": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert not list(runtime.glob("*.fifo")), "a pipe was made where others may reach it"
    assert "Traceback" not in done.stderr
    assert str(runtime) in done.stderr, done.stderr
