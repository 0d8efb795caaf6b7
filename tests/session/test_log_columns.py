"""Records by columns: the same records come back, and nothing else is taken for them."""

from __future__ import annotations

import contextlib
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_records import emit, start

from benchmarks.synthetic import Options, S, Session
from mgtop.session.chunks import MAX_PAYLOAD
from mgtop.session.columns import COLUMN_FORM, NoColumns, is_squeezed, squeeze, unfold

encode, decode = msgspec.msgpack.encode, msgspec.msgpack.decode
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1)
PLAIN = st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False) | st.text(max_size=5)
FIELDS = (
    PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)
)
ROWS = st.lists(
    st.builds(lambda tag, t_ns, rest: [tag, t_ns, *rest], st.integers(0, 5), NUMBERS,
              st.lists(FIELDS, max_size=4)),
    max_size=20,
)  # fmt: skip


@given(ROWS)
def test_what_goes_in_comes_out(rows: list[list[Any]]) -> None:
    payload = encode(rows)
    squeezed = squeeze(payload)
    assert len(squeezed) <= len(payload)
    back = unfold(squeezed) if is_squeezed(squeezed) else squeezed
    assert decode(back) == rows


@given(st.lists(PLAIN | st.lists(PLAIN, max_size=2), max_size=5))
def test_what_is_no_records_stays_as_it_is(anything: list[Any]) -> None:
    payload = encode(anything)
    squeezed = squeeze(payload)
    assert squeezed == payload or decode(unfold(squeezed)) == anything


def test_a_session_takes_a_third() -> None:
    session = Session(Options(), 10 * S, 0)
    records = session.until(20 * S)
    payload = encode(records)
    squeezed = squeeze(payload)
    assert decode(unfold(squeezed)) == decode(payload)
    assert len(squeezed) < len(payload) / 3


@given(st.binary(max_size=200))
def test_bytes_of_strangers_are_refused_or_are_records(data: bytes) -> None:
    for payload in (COLUMN_FORM + data, COLUMN_FORM + zlib.compress(data)[2:-4]):
        try:
            rows = decode(unfold(payload))
        except NoColumns:
            continue
        assert all(isinstance(row, list) for row in rows)


@given(st.data())
def test_a_changed_byte_is_refused_or_gives_records(data: st.DataObject) -> None:
    squeezed = bytearray(squeeze(encode([start(), *(emit(n) for n in range(30))])))
    at = data.draw(st.integers(1, len(squeezed) - 1))
    squeezed[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(NoColumns):
        assert isinstance(decode(unfold(bytes(squeezed))), list)


def test_a_bomb_is_refused() -> None:
    bomb = COLUMN_FORM + zlib.compress(bytes(80 << 20), 9)[2:-4]
    assert len(bomb) < MAX_PAYLOAD
    with pytest.raises(NoColumns, match="cut off, or larger"):
        unfold(bomb)


@pytest.mark.parametrize(
    "laid_out",
    [
        [b"\0\0", [[6, 3]], [0, 1], [[1]]],
        [b"\0", [[6, 3]], [0, 1], [[1]]],
        [b"\1", [[6, 3]], [0], [[1]]],
        [b"\0", [[6, 3]], [0], []],
        [b"\0", [[6, 9]], [0], [[1]]],
        [b"\0", [[6, 3]], ["x"], [[1]]],
        [b"\0", [[6]], [0], [[1]]],
        [b"\0", [[6, -3]], [0], [[1]]],
        [b"\0" * 3, [[6, 2]], [1 << 63, 1 << 63, 1 << 63], []],
        5,
    ],
)
def test_columns_that_do_not_fit_are_refused(laid_out: Any) -> None:
    payload = COLUMN_FORM + zlib.compress(encode(laid_out))[2:-4]
    with pytest.raises(NoColumns):
        unfold(payload)
