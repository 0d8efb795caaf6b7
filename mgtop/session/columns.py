"""Records of a chunk laid out by columns, as differences, and deflated: a third of the bytes.

Times, counters and numbers of requests grow by little from one record to the next of their kind,
so what differs is small and much alike. A chunk is squeezed by itself: damage costs that one.

    row form      msgpack: [[tag, t_ns, field, …], …]            begins with a msgpack array
    column form   ``0x01``, then raw deflate of msgpack:
                  [order, [[tag, fields], …], times, columns]
                  order   a byte per record: which of the kinds it is
                  times   differences of t_ns, over all records in their order
                  columns of each kind one after the other: whole numbers as differences to the
                          one before in that column, everything else as it is
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, chain, islice, repeat
from operator import sub
from typing import Any, NamedTuple

import msgspec

COLUMN_FORM = b"\x01"
"""No msgpack array begins so."""
MOST_ROWS_BYTES = 64 << 20
"""What a column form may unfold to; more is damage, or malice."""

_MOST_KINDS = 255
LIVE, THOROUGH = 6, 9
"""How hard deflate tries: beside a program, and afterwards."""
_encode = msgspec.msgpack.Encoder().encode
_Columns = tuple[bytes, list[Any], list[Any], list[Any]]
_decode_rows = msgspec.msgpack.Decoder(list[list[Any]]).decode
_decode_columns = msgspec.msgpack.Decoder(_Columns).decode
_decode_times = msgspec.msgpack.Decoder(tuple[bytes, msgspec.Raw, list[int], msgspec.Raw]).decode
_NOT_AS_MADE = (
    zlib.error, msgspec.MsgspecError, RecursionError, UnicodeError, OverflowError, TypeError,
    ValueError, IndexError,
)  # fmt: skip


class NoColumns(Exception):
    """These are no squeezed records."""


def squeeze(rows: bytes, level: int = LIVE) -> bytes:
    """The column form of a payload in row form, or the payload itself where that is shorter."""
    try:
        laid_out = _laid_out(_decode_rows(rows))
        if laid_out is None:
            return rows
        columns = _encode(laid_out)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError):
        return rows  # the difference of two numbers may be larger than msgpack's
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    squeezed = COLUMN_FORM + packer.compress(columns) + packer.flush()
    return squeezed if len(squeezed) < len(rows) else rows


def is_squeezed(payload: bytes | memoryview) -> bool:
    """Whether a payload is in column form."""
    return payload[:1] == COLUMN_FORM


def unfold(payload: bytes | memoryview) -> bytes:
    """The row form of a payload in column form.

    Raises:
        NoColumns: it is none.
    """
    try:
        return _encode(_rows(*_decode_columns(_inflated(payload))))
    except _NOT_AS_MADE as error:
        raise NoColumns(str(error)) from None


class Laid(NamedTuple):
    """A payload in column form, opened. What the columns hold is not looked at.

    Attributes:
        order: a byte per record: which of the kinds it is.
        kinds: tag and number of fields (tag and time among them) of each.
        times: of each record.
        columns: of each kind its fields after the time, as they lie in the payload; ``sums`` opens
            one.
    """

    order: bytes
    kinds: list[tuple[int, int]]
    times: list[int]
    columns: list[list[list[Any]]]


def laid(payload: bytes | memoryview) -> Laid:
    """Open a payload in column form without making rows of it.

    Raises:
        NoColumns: it is none.
    """
    try:
        order, kinds, times, columns = _decode_columns(_inflated(payload))
        _check(order, kinds, times, columns)
        rest = iter(columns)
        apart = [list(islice(rest, length - 2)) for _, length in kinds]
        found = Counter(order)
        for number, own in enumerate(apart):
            if any(len(column) != found[number] for column in own):
                raise NoColumns("columns that do not fit the order")
        return Laid(order, [(int(tag), n) for tag, n in kinds], list(accumulate(times)), apart)
    except _NOT_AS_MADE as error:
        raise NoColumns(str(error)) from None


def newest_ns(payload: bytes | memoryview) -> int:
    """The newest time in a payload of either form; a tenth of the cost of its records.

    Raises:
        NoColumns: there is none.
    """
    try:
        if is_squeezed(payload):
            return max(accumulate(_decode_times(_inflated(payload))[2]))
        return max(int(row[1]) for row in _decode_rows(payload))
    except _NOT_AS_MADE as error:
        raise NoColumns(str(error)) from None


# ------------------------------------------------------------------------------- inside


def _inflated(payload: bytes | memoryview) -> bytes:
    opener = zlib.decompressobj(-15)
    data = opener.decompress(payload[1:], MOST_ROWS_BYTES)
    if opener.unconsumed_tail or not opener.eof:
        raise NoColumns("cut off, or larger than records are")
    return data


def _laid_out(rows: list[list[Any]]) -> list[Any] | None:
    """``[order, kinds, times, columns]``; None where the records do not fit into it."""
    kinds: dict[tuple[Any, int], list[list[Any]]] = {}
    numbers: dict[tuple[Any, int], int] = {}
    order = bytearray()
    times: list[int] = []
    before = 0
    for row in rows:
        if len(row) < 2 or type(row[0]) is not int or type(row[1]) is not int:
            return None
        kind = (row[0], len(row))
        of_kind = kinds.get(kind)
        if of_kind is None:
            if len(kinds) == _MOST_KINDS:
                return None
            of_kind = kinds[kind] = []
            numbers[kind] = len(numbers)
        of_kind.append(row)
        order.append(numbers[kind])
        times.append(row[1] - before)
        before = row[1]
    columns: list[list[Any]] = []
    for (_, length), of_kind in kinds.items():
        columns += [_differences([row[at] for row in of_kind]) for at in range(2, length)]
    return [bytes(order), [list(kind) for kind in kinds], times, columns]


def _differences(values: list[Any]) -> list[Any]:
    if set(map(type, values)) == {int}:  # the usual case, without a step of Python for each
        return list(map(sub, values, chain((0,), values)))
    before = 0
    column: list[Any] = []
    for value in values:
        if type(value) is int:
            column.append(value - before)
            before = value
        else:
            column.append(value)
    return column


def sums(column: list[Any]) -> list[Any]:
    """The values of a column: its differences added up."""
    if set(map(type, column)) == {int}:
        return list(accumulate(column))
    before = 0
    values: list[Any] = []
    for value in column:
        if type(value) is int:
            before += value
            values.append(before)
        else:
            values.append(value)
    return values


def _check(order: bytes, kinds: list[Any], times: list[Any], columns: list[list[Any]]) -> None:
    if len(times) != len(order) or len(columns) != sum(length - 2 for _, length in kinds):
        raise NoColumns("times or columns that do not fit the order")
    if not set(map(type, times)) <= {int}:
        raise NoColumns("times that are no numbers")


def _rows(
    order: bytes, kinds: list[Any], times: list[Any], columns: list[list[Any]]
) -> list[tuple[Any, ...]]:
    _check(order, kinds, times, columns)
    times_of: list[list[Any]] = [[] for _ in kinds]
    for kind, t_ns in zip(order, accumulate(times), strict=True):
        times_of[kind].append(t_ns)
    rows_of: list[Iterator[tuple[Any, ...]]] = []
    at = 0
    for (tag, length), own in zip(kinds, times_of, strict=True):
        fields = [sums(column) for column in columns[at : at + length - 2]]
        if any(len(column) != len(own) for column in fields):
            raise NoColumns("columns that do not fit the order")
        at += length - 2
        rows_of.append(zip(repeat(tag), own, *fields))
    return [next(rows_of[kind]) for kind in order]
