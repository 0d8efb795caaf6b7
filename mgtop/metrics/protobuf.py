"""Prometheus' protobuf format, in which histograms are native: exponential, without chosen bounds.

No text format that released servers read has them, and prometheus_client writes text alone. The
messages are few: ``io.prometheus.client.MetricFamily`` and what it holds, each family after its
length. Histograms carry their fixed buckets too; a server takes what it is set up for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate

from mgtop.metrics.families import Family, HistogramValue, Point

CONTENT_TYPE = (
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
)
_KINDS = {"counter": 0, "gauge": 1, "histogram": 4}
_VALUES = {"counter": 3, "gauge": 2}
"""Field of a metric that holds its value."""


def encode(families: Sequence[Family]) -> bytes:
    """The families, each after its length."""
    return b"".join(_sized(_family(family)) for family in families)


def is_wanted(accept: str) -> bool:
    """Whether a scraper's ``Accept`` header puts this format first."""
    best = max((part for part in accept.split(",")), key=lambda part: _weight(part), default="")
    return "application/vnd.google.protobuf" in best and "delimited" in best


def _weight(part: str) -> float:
    for word in part.split(";")[1:]:
        key, _, value = word.strip().partition("=")
        if key == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _family(family: Family) -> bytes:
    return b"".join(
        (
            _bytes(1, family.name.encode()),
            _bytes(2, family.help.encode()),
            _number(3, _KINDS[family.kind]),
            *(_bytes(4, _metric(family, point)) for point in family.points),
        )
    )


def _metric(family: Family, point: Point) -> bytes:
    labels = b"".join(
        _bytes(1, _bytes(1, name.encode()) + _bytes(2, value.encode()))
        for name, value in point.labels
    )
    if isinstance(point.value, HistogramValue):
        return labels + _bytes(7, _histogram(point.value))
    return labels + _bytes(_VALUES[family.kind], _double(1, point.value))


def _histogram(value: HistogramValue) -> bytes:
    bounds = (*value.bounds, float("inf"))
    buckets = (
        _bytes(3, _number(1, count) + _double(2, bound))
        for bound, count in zip(bounds, accumulate(value.counts), strict=True)
    )
    spans, deltas = native_buckets(value.exponential)
    return b"".join(
        (
            _number(1, value.count),
            _double(2, value.total),
            *buckets,
            _number(5, _zigzag(value.schema)),
            _double(6, value.zero_threshold),
            _number(7, value.zeros),
            *(_bytes(12, _number(1, _zigzag(offset)) + _number(2, n)) for offset, n in spans),
            _bytes(13, b"".join(_varint(_zigzag(delta)) for delta in deltas)) if deltas else b"",
        )
    )


def native_buckets(
    counts: Iterable[tuple[int, int]],
) -> tuple[list[tuple[int, int]], list[int]]:
    """Runs of buckets without a gap, as (distance to the run before, length), and differences.

    Args:
        counts: index and count of each bucket, ascending.
    """
    spans: list[tuple[int, int]] = []
    deltas = []
    end = last = 0
    for index, count in counts:
        if spans and index == end:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((index - end, 1))
        deltas.append(count - last)
        end, last = index + 1, count
    return spans, deltas


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _sized(content)
