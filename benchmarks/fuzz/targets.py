"""What reads bytes of strangers, each with good examples to begin from.

A target takes bytes and must return, or raise what it is documented to raise. Anything else is
a crash; a single input that takes longer than :data:`LONGEST_S` is a hang.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgtop.cli.errors import say

LONGEST_S = 2.0
ROOT = Path(__file__).parents[2]
MS = 1_000_000


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        name: as on the command line.
        make: gives a fresh reader; readers with a memory are made anew now and then.
        seeds: good inputs.
        renew: inputs after which a reader is made anew.
    """

    name: str
    make: Callable[[], Callable[[bytes], object]]
    seeds: Callable[[], Sequence[bytes]]
    renew: int = 1_000_000


def _scratch(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="mgtop-fuzz-")) / name


# ---------------------------------------------------------------------------- wire, analysis

NOW_NS = 100_000 * MS
MESSAGES = 32
"""Events in one input of ``wire`` and ``analysis``."""


def _streams() -> list[bytes]:
    from benchmarks.fuzz.events import message

    chance = random.Random(1)
    return [
        b"".join(
            message(chance, (1_000 + 40 * seq) * MS, seq)
            for seq in range(at * MESSAGES, (at + 1) * MESSAGES)
        )
        for at in range(64)
    ]


def _wire() -> Callable[[bytes], object]:
    from mgtop.record.events import Intake
    from mgtop.record.loss import LossAccount

    intake = Intake(0, LossAccount(from_start=True))
    return lambda data: intake.feed(data, NOW_NS)


def _analysis() -> Callable[[bytes], object]:
    """Recorder and analysis as one: what passes the recorder's door is analysed and reported."""
    from mgtop.analysis.model import Model
    from mgtop.record.events import Intake
    from mgtop.record.loss import LossAccount
    from mgtop.report.json import render
    from mgtop.report.text import render as as_text

    intake = Intake(0, LossAccount(from_start=True))
    model = Model()
    fed = 0

    def feed(data: bytes) -> None:
        nonlocal fed
        for event in intake.feed(data, NOW_NS):
            model.feed(event)
        fed += 1
        if fed % 32 == 0:
            model.view(NOW_NS, NOW_NS - 60_000 * MS, NOW_NS, 100)
            summary = model.summary()
            assert_printable(render(summary))
            assert_printable(as_text(summary, 100))

    return feed


DIRECTIONS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def assert_printable(text: str) -> None:
    """No control character but the end of a line, no half of a pair, no change of direction."""
    if not text.isprintable():
        bad = {
            sign
            for sign in text
            if sign in DIRECTIONS or unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")
        } - {"\n"}
        if bad:
            raise AssertionError(f"reaches the terminal raw: {sorted(map(ascii, bad))}")


def said(message: str) -> None:
    """As the command line says it."""
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        say(message)
    assert_printable(shown.getvalue())


# ---------------------------------------------------------------------------- files


def _log() -> Callable[[bytes], object]:
    from mgtop.session.folder import LOG_NAME
    from mgtop.session.reader import LogReader

    path = _scratch(LOG_NAME)

    def read(data: bytes) -> None:
        path.write_bytes(data)
        reader = LogReader(path.parent)
        polls = 0
        while not reader.at_end and polls < 1_000:
            reader.poll()
            polls += 1

    return read


def _logs() -> list[bytes]:
    found = sorted((ROOT / "tests" / "sessions").glob("*/session.log.gz"))
    return [gzip.decompress(path.read_bytes())[:40_000] for path in found]


def _configuration() -> Callable[[bytes], object]:
    from mgtop.config.load import load_config

    return _of_settings(load_config, "config.yaml")


def _profile() -> Callable[[bytes], object]:
    from mgtop.hooks.profile_files import read

    return _of_settings(read, "profile.yaml")


def _of_settings(read: Callable[[Path], object], name: str) -> Callable[[bytes], object]:
    """A reader of a YAML file, which says what is wrong with it as a ``ConfigError``."""
    from mgtop.config.errors import ConfigError

    path = _scratch(name)

    def read_one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read(path)
        except ConfigError as error:
            said(str(error))

    return read_one


def _text_log() -> Callable[[bytes], object]:
    from mgtop.record.textlog_session import read_log

    return lambda data: read_log(io.BytesIO(data))


TEXT_LOG = b"""[req r1] T+0 request_received width=1280 height=720 steps=4 fps=16
[req r1] T+38 preprocess_done
[req r1] T+1120 first_frame_emit frame_idx=0
[req r1] T+1168 frame_emit frame_idx=1 dt_ms=48
2026-01-05 10:00:00,123 INFO LOAD 2.1s | FWD 0.8s | POST 0.1s
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total of 79 GiB
[req r1] T+4000 stream_end
"""
SMI = b"""timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]
2026/01/05 10:00:00.123, 0, NVIDIA H200, 1024 MiB, 143771 MiB, 37 %
2026/01/05 10:00:01.123, 0, NVIDIA H200, 2048 MiB, 143771 MiB, [N/A]
"""
DMON = b"""# gpu   pwr  gtemp    sm   mem
# Idx     W      C     %     %
    0    60     33    12     1
    0   310     41   100    40
"""


def _smi() -> Callable[[bytes], object]:
    from mgtop.record.smi.records import smi_records
    from mgtop.record.smi.tables import NotATable, read_table
    from mgtop.record.textlog_session import encoding_of

    def read(data: bytes) -> None:
        try:
            table = read_table(data.decode(encoding_of(data), "replace"))
        except NotATable as error:
            said(str(error))
            return
        smi_records([table], None, 60_000 * MS)

    return read


FILES = ("README.md", "README.rst", "requirements.txt", "pyproject.toml", "setup.py", "setup.cfg",
         "environment.yml", "Dockerfile", "README_zh.md")  # fmt: skip


def _requirements() -> Callable[[bytes], object]:
    from mgtop.preflight.check.read import requirements_in

    turn = 0

    def read(data: bytes) -> None:
        nonlocal turn
        turn += 1
        requirements_in(data.decode("utf-8", "replace"), FILES[turn % len(FILES)])

    return read


def _requirement_files() -> list[bytes]:
    import yaml

    folder = ROOT / "tests" / "preflight" / "requirements"
    return [
        case["text"].encode()
        for path in sorted(folder.glob("held_out*.yaml"))
        for case in yaml.safe_load(path.read_text("utf-8"))
    ]


def _marks() -> Callable[[bytes], object]:
    from mgtop.session.marks import MARKS_NAME, read_marks

    path = _scratch(MARKS_NAME)

    def read(data: bytes) -> None:
        path.write_bytes(data)
        for mark in read_marks(path.parent):
            assert_printable(mark.text)

    return read


def _output() -> Callable[[bytes], object]:
    from mgtop.record.output_lines import plain as plain_line
    from mgtop.view.output_text import plain

    def read(data: bytes) -> None:
        for line in data.split(b"\n"):
            assert_printable(plain(line))
            plain_line(line.decode("utf-8", "replace"))

    return read


OUTPUT = b"""\x1b[1;32mstep 3/24\x1b[0m  12%|###       |\r\x1b[2Kstep 4/24
\x1b]0;title\x07loading\x1b[3A\x1b[?1049h weights \x9b31m
\xe2\x80\xaereversed \xc2\x9b2J \x08\x08
"""

TARGETS: dict[str, Target] = {
    one.name: one
    for one in (
        Target("wire", _wire, _streams, renew=640),
        Target("analysis", _analysis, _streams, renew=96),
        Target("log", _log, _logs),
        Target(
            "configuration",
            _configuration,
            lambda: [
                path.read_bytes() for path in sorted((ROOT / "tests/configs/valid").glob("*.yaml"))
            ],
        ),
        Target(
            "profile",
            _profile,
            lambda: [
                path.read_bytes() for path in sorted((ROOT / "mgtop/hooks/profiles").glob("*.yaml"))
            ],
        ),
        Target("text-log", _text_log, lambda: [TEXT_LOG]),
        Target("smi", _smi, lambda: [SMI, DMON]),
        Target("requirements", _requirements, _requirement_files),
        Target("marks", _marks, lambda: [b'{"t_ns":5,"text":"scene change"}\n' * 3]),
        Target("output", _output, lambda: [OUTPUT]),
    )
}
