"""Marks: one line each, by several viewers at once, whatever the text."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.session.marks import (
    LONGEST_LINE,
    MARKS_NAME,
    MarksReader,
    append_mark,
    clean,
    read_marks,
)
from mgtop.wire.records import Mark


def mark(t_ns: int, text: str) -> Mark:
    return Mark(t_ns=t_ns, seq=0, proc=0, tid=0, text=text)


def test_a_mark_comes_back(tmp_path: Path) -> None:
    assert append_mark(tmp_path, 5, "scene change") == mark(5, "scene change")
    append_mark(tmp_path, 3, "")
    assert read_marks(tmp_path) == [mark(5, "scene change"), mark(3, "")]
    assert (tmp_path / MARKS_NAME).stat().st_mode & 0o777 == 0o600


def test_no_marks_yet(tmp_path: Path) -> None:
    assert read_marks(tmp_path) == []


def test_each_once(tmp_path: Path) -> None:
    reader = MarksReader(tmp_path)
    assert reader.poll() == []
    append_mark(tmp_path, 1, "a")
    assert reader.poll() == [mark(1, "a")]
    assert reader.poll() == []
    append_mark(tmp_path, 2, "b")
    append_mark(tmp_path, 3, "c")
    assert reader.poll() == [mark(2, "b"), mark(3, "c")]


def test_from_an_offset(tmp_path: Path) -> None:
    append_mark(tmp_path, 1, "a")
    offset = (tmp_path / MARKS_NAME).stat().st_size
    append_mark(tmp_path, 2, "b")
    assert read_marks(tmp_path, offset) == [mark(2, "b")]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\nb\r\tc", "a b c"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("\x00nul\x7f", "nul"),
        ("right \u202eto left", "right  to left"),
        ("line\u2028break", "line break"),
        ("half \udcff", "half"),
        ("  spaces ", "spaces"),
        ("暴风 🌩", "暴风 🌩"),
        ("\x1b", ""),
        ("\x1b[", ""),
    ],
)
def test_escape_codes_and_control_characters_go(tmp_path: Path, text: str, left: str) -> None:
    assert clean(text) == left
    append_mark(tmp_path, 1, text)
    assert read_marks(tmp_path) == [mark(1, left)]


@given(st.text())
def test_no_text_leaves_anything_that_a_terminal_obeys(text: str) -> None:
    left = clean(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in left)
    assert clean(left) == left


def test_what_another_program_wrote_is_cleaned_on_reading(tmp_path: Path) -> None:
    text = json.dumps({"t_ns": 1, "text": "\x1b[2Jgone"})
    (tmp_path / MARKS_NAME).write_text(text + "\n")
    assert read_marks(tmp_path) == [mark(1, "gone")]


@pytest.mark.parametrize("text", ["x" * 10_000, "暴" * 5_000, '"\\' * 5_000])
def test_a_line_has_at_most_4_kib(tmp_path: Path, text: str) -> None:
    written = append_mark(tmp_path, 1, text)
    line = (tmp_path / MARKS_NAME).read_bytes()
    assert LONGEST_LINE // 2 < len(line) <= LONGEST_LINE
    assert text.startswith(written.text)
    assert read_marks(tmp_path) == [written]


def test_lines_that_are_none_are_skipped_and_counted(tmp_path: Path) -> None:
    append_mark(tmp_path, 1, "a")
    bad = [
        b"garbage", b"{}", b'{"t_ns": "x", "text": "y"}', b'{"t_ns": -1, "text": "y"}',
        b'{"t_ns": 99999999999999999999, "text": "y"}', b"\xff\xfe", b'{"t_ns": 1, "text": "\xff"}',
        b"[" * 100_000, b"null",
    ]  # fmt: skip
    with (tmp_path / MARKS_NAME).open("ab") as file:
        file.write(b"\n".join(bad) + b"\n\n\n")
    append_mark(tmp_path, 2, "b")
    reader = MarksReader(tmp_path)
    assert reader.poll() == [mark(1, "a"), mark(2, "b")]
    assert reader.malformed == len(bad)


def test_a_line_without_an_end_is_waited_for(tmp_path: Path) -> None:
    append_mark(tmp_path, 1, "a")
    whole = (tmp_path / MARKS_NAME).read_bytes()
    (tmp_path / MARKS_NAME).write_bytes(whole[:-4])
    reader = MarksReader(tmp_path)
    assert reader.poll() == []
    (tmp_path / MARKS_NAME).write_bytes(whole)
    assert reader.poll() == [mark(1, "a")]
    assert reader.malformed == 0


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    """It stays from a time when the disk was full."""
    (tmp_path / MARKS_NAME).write_bytes(b'{"t_ns": 1, "te')
    append_mark(tmp_path, 2, "b")
    reader = MarksReader(tmp_path)
    assert reader.poll() == [mark(2, "b")]
    assert reader.malformed == 1


def test_megabytes_without_a_line_end_are_not_read_again_and_again(tmp_path: Path) -> None:
    (tmp_path / MARKS_NAME).write_bytes(b"x" * (3 << 20))
    append_mark(tmp_path, 2, "b")
    reader = MarksReader(tmp_path)
    assert reader.poll() == [mark(2, "b")]
    assert reader.malformed >= 1


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / MARKS_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        append_mark(tmp_path, 1, "a")


@pytest.mark.parametrize("room", [0, 1, 10])
def test_a_full_disk(tmp_path: Path, room: int) -> None:
    """Nothing of the mark is taken for one; the next, when there is space again, is."""
    append_mark(tmp_path, 1, "a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = (tmp_path / MARKS_NAME).stat().st_size + room
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        with pytest.raises(OSError, match="File too large"):
            append_mark(tmp_path, 2, "b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    append_mark(tmp_path, 3, "c")
    assert read_marks(tmp_path) == [mark(1, "a"), mark(3, "c")]


MARKING = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from mgtop.session.marks import append_mark
for n in range(300):
    append_mark(Path(sys.argv[1]), n, sys.argv[2] * 40)
"""


def test_several_viewers_at_once(tmp_path: Path) -> None:
    code = MARKING.format(root=str(Path(__file__).parents[2]))
    viewers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), v]) for v in "abc"]
    assert [viewer.wait() for viewer in viewers] == [0, 0, 0]
    reader = MarksReader(tmp_path)
    marks = reader.poll()
    assert reader.malformed == 0
    for viewer in "abc":
        assert [m for m in marks if m.text[0] == viewer] == [
            mark(n, viewer * 40) for n in range(300)
        ]
