"""Losses are exact, whatever the order of arrival."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from mgtop.record.loss import MOST_PROCESSES, SETTLE_NS, LossAccount

SECOND = 1_000_000_000
A, B = 77 << 22 | 1001, 78 << 22 | 1002


def final(account: LossAccount, now_ns: int = 100 * SECOND) -> dict[int, tuple[int, int]]:
    return {r.proc: (r.dropped, r.malformed) for r in account.take(now_ns, final=True)}


def test_nothing_lost_writes_nothing() -> None:
    account = LossAccount(from_start=True)
    assert all(account.accept(A, seq, seq) for seq in range(100))
    assert final(account) == {}


def test_gaps_are_counted_per_process() -> None:
    account = LossAccount(from_start=True)
    for seq in (0, 1, 2, 5, 6):
        account.accept(A, seq, 0)
    for seq in (0, 10):
        account.accept(B, seq, 0)
    assert final(account) == {A: (2, 0), B: (9, 0)}


def test_events_before_the_first_arrival_are_lost_only_if_the_reader_was_there() -> None:
    for from_start, lost in ((True, {A: (3, 0)}), (False, {})):
        account = LossAccount(from_start=from_start)
        account.accept(A, 3, 0)
        account.accept(A, 4, 0)
        assert final(account) == lost


@given(
    st.integers(1, 400),
    st.sets(st.integers(0, 399)),
    st.integers(0, 20),
    st.randoms(use_true_random=False),
)
def test_order_within_a_window_does_not_matter(
    count: int, dropped: set[int], window: int, chance: random.Random
) -> None:
    dropped = {seq for seq in dropped if seq < count - 1}
    sent = [seq for seq in range(count) if seq not in dropped]
    sent.sort(key=lambda seq: seq + chance.uniform(0, window))
    account = LossAccount(from_start=True)
    for seq in sent:
        assert account.accept(A, seq, 0)
    assert final(account).get(A, (0, 0))[0] == len([s for s in dropped if s < max(sent)])


def test_an_event_under_way_is_not_reported_as_lost() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    account.accept(A, 2, 0)  # 1 is on its way in another thread
    assert account.take(0) == []
    account.accept(A, 1, 0)
    assert account.take(SETTLE_NS // 2) == []
    assert account.take(3 * SETTLE_NS) == []


def test_a_gap_that_stays_is_reported_after_a_moment() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    assert account.take(0) == []
    account.accept(A, 2, 0)
    seen = []
    for step in range(1, 8):
        seen += [record.dropped for record in account.take(step * SETTLE_NS // 2)]
    assert seen == [1]


def test_a_late_event_takes_the_loss_back() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    account.accept(A, 2, 0)
    for step in range(4):
        account.take(step * SETTLE_NS)
    account.accept(A, 1, 0)
    assert [record.dropped for record in account.take(5 * SETTLE_NS)] == [0]


def test_the_probes_own_count_shows_a_silent_tail_but_is_never_added() -> None:
    account = LossAccount(from_start=True)
    for seq in (0, 1, 2, 3):
        account.accept(A, seq, 0)
    account.pulse(A, 2)
    assert final(account) == {A: (2, 0)}
    account.accept(A, 9, 0)  # the gap of five holds those two
    assert final(account) == {A: (5, 0)}


def test_a_pulse_cannot_claim_more_than_was_numbered() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    account.pulse(A, 1 << 50)
    assert final(account) == {A: (1, 0)}


def test_drops_before_an_attached_recording_are_not_its_losses() -> None:
    account = LossAccount(from_start=False)
    account.accept(A, 500, 0)
    account.pulse(A, 40)
    account.accept(A, 501, 0)
    assert final(account) == {}
    account.pulse(A, 41)
    assert final(account) == {A: (1, 0)}


def test_impossible_numbers_are_refused() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    assert not account.accept(A, 1 << 60, SECOND)
    assert account.accept(A, 1_500_000, SECOND)  # a million a second might be
    assert not account.accept(A, 3, SECOND)  # far back: a number given twice
    assert final(account) == {A: (1_499_999, 0)}


def test_a_flood_of_invented_processes_does_not_grow_without_end() -> None:
    account = LossAccount(from_start=True)
    accepted = sum(account.accept(proc, 0, 0) for proc in range(1, MOST_PROCESSES + 500))
    assert accepted == MOST_PROCESSES


def test_malformed_events_of_unknown_origin_are_counted_under_0() -> None:
    account = LossAccount(from_start=True)
    account.accept(A, 0, 0)
    account.malformed(A)
    account.malformed(B)
    account.malformed(0)
    assert final(account) == {A: (0, 1), 0: (0, 2)}
