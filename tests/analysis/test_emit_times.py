"""Which frame was the newest at a time, for a request of any length."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.emit_times import RECENT, STEP_NS, EmitTimes

GAPS = st.integers(STEP_NS, 10_000_000_000)
COUNTS = st.sampled_from([1, 1, 1, 4, 80])


@given(st.lists(st.tuples(GAPS, COUNTS, st.sampled_from([0, 0, 0, 7])), min_size=1), st.data())
def test_index_at_is_that_of_a_plain_list(emits, data):
    times, indices, found = [], [], EmitTimes()
    t_ns, index = 1_000, 5
    for gap_ns, count, missing in emits:
        t_ns, index = t_ns + gap_ns, index + missing
        found.add(t_ns, index, count)
        times.append(t_ns)
        indices.append(index)
        index += count
    at_ns = data.draw(st.integers(0, t_ns + 10))
    place = bisect_right(times, at_ns)
    expected = indices[place - 1] if place else None
    if place < len(times) and times[place] - at_ns < STEP_NS:
        assert found.index_at(at_ns) in (expected, indices[place])
    else:
        assert found.index_at(at_ns) == expected
    assert found.newest_ns == times[-1]


def test_a_long_request_takes_four_bytes_an_emit_and_keeps_its_newest_times():
    found = EmitTimes()
    for emit in range(50_000):
        found.add(10**12 + emit * 62_500_000, emit, 1)
    assert len(found._run_place) == 1
    assert found._steps.itemsize * len(found._steps) == 4 * 50_000
    assert RECENT <= len(found.recent) < 2 * RECENT
    assert found.recent[-1] == found.newest_ns == 10**12 + 49_999 * 62_500_000
    assert found.index_at(10**12 + 40_000 * 62_500_000 + 1_000_000) == 40_000
    assert found.index_at(10**12 - 1) is None


def test_an_emit_out_of_order_is_among_the_recent_times():
    found = EmitTimes()
    for t_ns, index in ((100, 0), (300, 2), (200, 1)):
        found.add(t_ns, index, 1)
    assert list(found.recent) == [100, 200, 300]
    assert found.newest_ns == 300
