"""The target's output as lines: any size, any bytes, never a raw escape code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.view.output_index import MOST, OutputIndex
from mgtop.view.output_text import BLOCK, OutputText, plain
from mgtop.wire.records import OutputAt, OutputLine

S = 1_000_000_000


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m text", "red text"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"10%\r50%\r100%\r", "100%"),
        (b"line\r", "line"),
        (b"a\tb", "a    b"),
        (b"abc\b\bX", "aX"),
        (b"\xff\xfe caf\xc3\xa9", "\ufffd\ufffd café"),
        (b"\x1b(Bplain\x1b=", "plain"),
        (b"bell\x07 null\x00", "bell null"),
        ("\x9b31mred".encode(), "red"),
    ],
)
def test_what_a_terminal_would_show(raw: bytes, shown: str) -> None:
    assert plain(raw) == shown


@given(st.binary(max_size=200))
def test_nothing_commands_the_terminal(raw: bytes) -> None:
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in plain(raw))


def written(tmp_path: Path, data: bytes) -> OutputText:
    path = tmp_path / "stdout.log"
    path.write_bytes(data)
    return OutputText(path)


@given(st.lists(st.integers(0, 200), max_size=60), st.booleans(), st.data())
def test_lines_forward_and_back_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], ends: bool, data: st.DataObject
) -> None:
    body = b"\n".join(b"%d" % n + b"x" * length for n, length in enumerate(lengths))
    text = written(tmp_path_factory.mktemp("output"), body + (b"\n" if ends and body else b""))
    lines = text.from_place(0, 1000)
    assert [line.text for line in lines] == [one.decode() for one in body.split(b"\n") if body]
    size = text.size() or 0
    assert text.before_place(size, 1000) == lines
    if lines:
        at = data.draw(st.integers(0, len(lines) - 1))
        assert text.before_place(lines[at].begin, 3) == lines[max(0, at - 3) : at]
        inside = data.draw(st.integers(lines[at].begin, max(lines[at].begin, lines[at].end - 1)))
        assert text.begin_of(inside) == lines[at].begin


def test_a_long_file_is_read_around_a_place_only(tmp_path: Path) -> None:
    body = b"".join(b"line %07d\n" % n for n in range(100_000))
    text = written(tmp_path, body)
    assert [line.text for line in text.before_place(len(body), 2)] == [
        "line 0099998",
        "line 0099999",
    ]
    middle = text.begin_of(len(body) // 2 + 3)
    assert text.from_place(middle, 1)[0].text == "line 0050000"


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path) -> None:
    text = written(tmp_path, b"y" * (40 * BLOCK) + b"\nlast\n")
    lines = text.from_place(0, 10)
    assert lines[-1].text == "last"
    assert 2 <= len(lines) <= 4
    assert sum(line.end - line.begin for line in lines) == 40 * BLOCK + 6


def test_search_goes_both_ways_and_does_a_piece_at_a_time(tmp_path: Path) -> None:
    body = b"".join(
        b"Error here\n" if n in (5, 40_000) else b"line %07d\n" % n for n in range(80_000)
    )
    text = written(tmp_path, body)

    def search(what: str, at: int, forward: bool) -> int | None:
        for _ in range(100):
            found, until = text.find(what, at, forward)
            if found is not None or until in (0, at) or until >= len(body):
                return found
            at = until
        raise AssertionError("it never ends")

    first = body.index(b"Error")
    last = body.rindex(b"Error")
    assert search("error", 0, True) == first
    assert search("error", first + 11, True) == last
    assert search("Error", len(body), False) == last
    assert search("error", last, False) == first
    assert search("ERROR", 0, True) is None
    found, until = text.find("error", first + 11, True)
    assert found is None  # not all at once
    assert body[until - 1 : until] == b"\n"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    text = OutputText(tmp_path / "none")
    assert text.size() is None
    assert text.from_place(0, 5) == text.before_place(0, 5) == []
    assert text.find("x", 0, True) == (None, 0)


# --------------------------------------------------------------------------------- times


def test_times_and_places_both_ways() -> None:
    index = OutputIndex()
    for n in range(1, 11):
        index.take(OutputAt(n * S, 100 * n))
    assert index.before(S // 2) == 0
    assert index.before(3 * S) == 300
    assert index.before(99 * S) == 1000
    assert index.time_of(0) == S
    assert index.time_of(99) == S
    assert index.time_of(100) == 2 * S
    assert index.time_of(999) == 10 * S
    assert index.time_of(1000) is None
    assert OutputIndex().before(S) is None


def test_a_day_of_output_takes_bounded_memory() -> None:
    index = OutputIndex()
    for n in range(1, 100_000):
        index.take(OutputAt(n * S // 10, 50 * n))
    assert len(index._times) <= MOST + 1
    for n in (1, 1000, 50_000, 99_998):
        t_ns = index.time_of(50 * n - 1)
        assert t_ns is not None
        assert 0 <= t_ns - n * S // 10 <= 60 * S
    for n in range(1000):
        index.take(OutputLine(n, n, "error", "x"))
    assert len(index.lines) == 512


def test_a_file_that_was_cut_keeps_what_was_known() -> None:
    index = OutputIndex()
    index.take(OutputAt(S, 1000))
    index.take(OutputAt(2 * S, 10))
    assert index.before(2 * S) == 1000
