"""Whatever a name, a mark, a line or a file of others holds, it commands no terminal.

The session here was not made by mgtop's recorder, which cleans what it takes: somebody sent it.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.fuzz.targets import assert_printable
from mgtop.session.marks import MARKS_NAME
from mgtop.session.reader import read_all
from mgtop.session.writer import LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
EVIL = "\x1b]0;pwned\x07\x9b2J\x1b[31m\u202egpj.exe\r\n\x00"


def spoilt(value: Any, name: str = "") -> Any:
    """The same with the evil text in every text that is shown."""
    if isinstance(value, str):
        # What is compared with known words is left, so that the session stays readable.
        return value if name in KNOWN_WORDS else value + EVIL
    if isinstance(value, list):
        return [spoilt(item, name) for item in value]
    if isinstance(value, dict):
        return {key + EVIL: spoilt(item, key) for key, item in value.items()}
    return value


KNOWN_WORDS = {"source", "state", "kind", "mgtop", "encoding", "clock", "backend", "reason_code"}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sessions with one that is evil throughout."""
    root = tmp_path_factory.mktemp("state") / "mgtop" / "sessions"
    good = unpack(tmp_path_factory.mktemp("good"))
    folder = root / "evil"
    folder.mkdir(parents=True)
    writer = LogWriter(folder)
    number, last_ns = 0, 0
    for record in read_all(good):
        if not isinstance(record, r.Record):
            continue
        last_ns = max(last_ns, record.t_ns)
        if isinstance(record, r.SessionStart):
            record = msgspec.structs.replace(
                record,
                name=record.name + EVIL,
                params={"note" + EVIL: EVIL, **record.params},
                environment={k: spoilt(v) for k, v in record.environment.items()},
            )
        else:
            changes = {
                field: spoilt(getattr(record, field), field)
                for field in record.__struct_fields__
                if isinstance(getattr(record, field), (str, list))
            }
            record = msgspec.structs.replace(record, **changes)
        writer.append([record])
        number += 1
    assert number > 100
    proc = r.proc_of(77, 7)
    writer.append(
        [
            r.Mark(last_ns, 0, proc, 1, EVIL),
            r.Failure(last_ns, 1, proc, 1, "oom", "CUDA out of memory" + EVIL),
            r.Notice(last_ns, 2, proc, 1, "hooks", "no such function" + EVIL),
            r.OutputLine(last_ns, 0, "oom", "CUDA out of memory" + EVIL),
        ]
    )
    mark = msgspec.json.encode({"t_ns": last_ns, "text": EVIL})
    (folder / MARKS_NAME).write_bytes(mark + b"\n")
    (folder / "stdout.log").write_bytes((EVIL + "step 3\n").encode() * 40)
    return root


def environment(sessions: Path) -> dict[str, str]:
    return {
        **os.environ,
        "XDG_STATE_HOME": str(sessions.parents[1]),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
    }


def said(sessions: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", *words],
        env=environment(sessions),
        cwd=sessions,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 1, 2), done.stderr
    return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "words",
    [
        ("report", "evil"),
        ("report", "evil", "--markdown"),
        ("ls",),
        ("compare", "evil", "evil"),
        ("report", "evil", "--gate", EVIL.replace("\x00", "")),
    ],
    ids=lambda words: " ".join(words)[:20].encode("unicode_escape").decode(),
)
def test_no_command_says_it_raw(sessions: Path, words: tuple[str, ...]) -> None:
    assert_printable(said(sessions, *words))


@pytest.mark.parametrize("words", [("report", "evil", "--json"), ("ls", "--json")])
def test_json_escapes_it(sessions: Path, words: tuple[str, ...]) -> None:
    text = said(sessions, *words)
    msgspec.json.decode(text)
    assert not any(sign in text for sign in "\x1b\x9b\x07\r\x00")


def test_a_repository_says_nothing_raw(tmp_path: Path, sessions: Path) -> None:
    (tmp_path / "README.md").write_text(
        f"# Evil\n\n## Requirements\n\n- GPU with 24 GB VRAM {EVIL}\n- Python 3.10 {EVIL}\n"
    )
    (tmp_path / "requirements.txt").write_text(f"torch==2.4.0  # \x1b[2J{EVIL}\n")
    text = said(sessions, "check", str(tmp_path))
    assert "24 GB" in text
    assert_printable(text)
    assert_printable(said(sessions, "check", str(tmp_path), "--markdown"))
    assert_printable(said(sessions, "init", str(tmp_path)))


def test_a_configuration_says_nothing_raw(tmp_path: Path, sessions: Path) -> None:
    config = tmp_path / "evil.yaml"
    for text in (
        'command: [python, "-c", "1"]\n"\\e]0;pwned\\a\\u202ekey": 1\n',
        'command: "\\e[2J"\nname: "\\e[2J"\ngate: ["\\e[2J\\u202e < 3"]\n',
        'command: [python]\nbaseline: "\\e[2J.yaml"\n',
        'command: ["\\e[2J\\u202e"]\n',
    ):
        config.write_text(text)
        assert_printable(said(sessions, "run", str(config), "--headless"))


def test_the_screen_shows_it_tame(sessions: Path) -> None:
    """What the view sends to the terminal holds its own codes only."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "mgtop", "view", "evil"],
        env=environment(sessions),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    output = b""

    def until(done: Callable[[], bool], wait_s: float = 60.0) -> None:
        nonlocal output
        end = time.monotonic() + wait_s
        while not done():
            ready, _, _ = select.select([master], [], [], max(0.0, end - time.monotonic()))
            assert ready, output[-2000:]
            output += os.read(master, 65536)

    try:
        until(lambda: b"gpj.exe" in output)
        for key in (b"2", b"3", b"4", b"5", b"1"):
            before = len(output)
            os.write(master, key)
            until(lambda before=before: len(output) > before + 200)  # another screen is drawn
        os.write(master, b"q")
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            output += data
    finally:
        process.kill()
        process.wait()
        os.close(master)
    for raw in (b"\x1b]0;pwned", b"\xc2\x9b2J", "\u202e".encode(), b"pwned\x07"):
        assert raw not in output
