"""Histograms: no value is lost, and each lies in the bucket that it belongs to."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from mgtop.metrics.families import Family, Point
from mgtop.metrics.histogram import LARGEST, SCHEMA, ZERO_THRESHOLD, Histogram
from mgtop.metrics.protobuf import encode, is_wanted, native_buckets

BASE = 2**2**-SCHEMA


@given(st.lists(st.floats(0, 1e6, allow_nan=False)))
def test_every_value_is_counted_where_it_belongs(values: list[float]) -> None:
    histogram = Histogram((0.1, 1.0, 10.0))
    for value in values:
        histogram.add(value)
    told = histogram.value()
    assert told.count == len(values)
    assert told.zeros + sum(count for _, count in told.exponential) == len(values)
    assert told.total == sum(values)
    assert told.counts[0] == sum(value <= 0.1 for value in values)
    expected: dict[int, int] = {}
    for value in values:
        if value > ZERO_THRESHOLD:
            index = math.ceil(math.log(min(value, LARGEST), BASE) - 1e-9)
            expected[index] = expected.get(index, 0) + 1
    assert sum(expected.values()) == sum(dict(told.exponential).values())
    for index, count in told.exponential:
        near = sum(expected.get(index + off, 0) for off in (-1, 0, 1))
        assert count <= near
    assert len(told.exponential) < 300


@given(st.dictionaries(st.integers(-200, 200), st.integers(1, 9)))
def test_runs_and_differences_say_the_same(counts: dict[int, int]) -> None:
    ordered = sorted(counts.items())
    spans, deltas = native_buckets(ordered)
    index, last, deltas_left, back = 0, 0, list(deltas), []
    for offset, length in spans:
        index += offset
        for _ in range(length):
            last += deltas_left.pop(0)
            back.append((index, last))
            index += 1
    assert back == ordered
    assert not deltas_left
    assert all(offset > 0 for offset, _ in spans[1:])


def test_the_format_is_the_one_that_is_asked_for() -> None:
    proto = (
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
    )
    assert is_wanted(f"{proto};q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.1")
    assert not is_wanted(f"{proto};q=0.3,text/plain;q=0.5")
    assert not is_wanted("application/vnd.google.protobuf;encoding=text")
    assert not is_wanted("")


def test_names_in_any_script_are_encoded() -> None:
    family = Family("a", "gauge", "ü", points=(Point((("session", "шторм\n"),), 1.0),))
    assert "шторм\n".encode() in encode([family])
