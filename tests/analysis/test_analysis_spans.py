"""Interval arithmetic and the innermost span, against a count of single moments."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.spans import (
    Interval,
    Work,
    innermost,
    length,
    merged,
    overlap,
    role_of,
    without,
)

END = 60
intervals = st.lists(
    st.tuples(st.integers(-5, END + 5), st.integers(0, 25)).map(lambda p: (p[0], p[0] + p[1])),
    max_size=8,
)


def moments(parts: list[Interval]) -> set[int]:
    return {t for begin, end in parts for t in range(begin, end)}


@given(intervals)
def test_merged_is_the_union_disjoint_and_in_order(parts: list[Interval]) -> None:
    found = merged(parts, 0, END)
    assert moments(found) == moments(parts) & set(range(END))
    assert length(found) == len(moments(found))
    assert all(a[1] < b[0] for a, b in itertools.pairwise(found))


@given(intervals, intervals)
def test_without_and_overlap(a: list[Interval], b: list[Interval]) -> None:
    one, other = merged(a, 0, END), merged(b, 0, END)
    assert moments(without(one, other)) == moments(one) - moments(other)
    assert moments(overlap(one, other)) == moments(one) & moments(other)
    assert length(without(one, other)) + length(overlap(one, other)) == length(one)


names = st.sampled_from(["decode", "forward", "write", "whatever"])
works = st.lists(
    st.tuples(st.integers(0, END), st.integers(0, 30), names).map(
        lambda w: Work(w[0], w[0] + w[1], w[2], role_of(w[2]), 1, 1, -1, None, None)
    ),
    max_size=10,
)


@given(works, intervals)
def test_the_innermost_is_the_last_begun_of_those_with_a_role(
    given_works: list[Work], parts: list[Interval]
) -> None:
    free = merged(parts, 0, END)
    found = innermost(given_works, free)
    at = {t: work for (begin, end), work in found for t in range(begin, end)}
    assert sum(end - begin for (begin, end), _ in found) == len(at)
    for t in range(END):
        open_now = [w for w in given_works if w.role is not None and w.begin_ns <= t < w.end_ns]
        if t not in moments(free) or not open_now:
            assert t not in at
            continue
        last = max(w.begin_ns for w in open_now)
        assert at[t].begin_ns == last
        assert at[t].end_ns == min(w.end_ns for w in open_now if w.begin_ns == last)


def test_roles() -> None:
    assert role_of("decode") == "supply"
    assert role_of("stage.VAE_decode") == "compute"
    assert role_of("encode") == "output"
    assert role_of("other") is None
