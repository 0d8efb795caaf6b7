"""The splitter finds every message, whatever stands around it and however it is read."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.wire.framing import (
    ALIGN,
    HEADER,
    MAGIC,
    MAX_MESSAGE,
    Malformed,
    Splitter,
    decode_event,
)
from mgtop.wire.records import Event, FrameEmit, Mark


def framed(payload: bytes) -> bytes:
    start = MAGIC + len(payload).to_bytes(2, "big") + payload
    return start + bytes(-len(start) % ALIGN)


def mark(number: int, text: str = "") -> bytes:
    event = Mark(t_ns=number, seq=number, proc=1, tid=1, text=text)
    return msgspec.msgpack.encode(event)


def chunks_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(places)]


def feed_all(splitter: Splitter, chunks: list[bytes]) -> list[bytes]:
    return [payload for chunk in chunks for payload in splitter.feed(chunk)]


payloads = st.builds(mark, st.integers(0, 2**40), st.text(max_size=200))
cuts = st.lists(st.integers(0, 10_000), max_size=12)
false_starts = st.builds(
    lambda length, rest: MAGIC + length.to_bytes(2, "big") + rest,
    st.integers(0, 65535),
    st.binary(max_size=80),
)
garbage = st.lists(
    st.one_of(
        st.binary(max_size=150),
        st.sampled_from([MAGIC[:cut] for cut in range(1, 5)]),
        false_starts,
    ),
    max_size=4,
).map(b"".join)


@given(st.lists(payloads, max_size=8), cuts)
def test_messages_come_out_as_they_went_in(sent: list[bytes], where: list[int]) -> None:
    splitter = Splitter()
    stream = b"".join(map(framed, sent))
    assert feed_all(splitter, chunks_of(stream, where)) == sent
    assert splitter.malformed == 0
    assert splitter.skipped_bytes == 0
    assert splitter.pending_bytes == 0


@given(st.lists(st.tuples(garbage, payloads), min_size=1, max_size=6), cuts)
def test_a_message_after_garbage_is_found(
    parts: list[tuple[bytes, bytes]], where: list[int]
) -> None:
    splitter = Splitter()
    stream = b"".join(rubbish + framed(payload) for rubbish, payload in parts)
    found = feed_all(splitter, chunks_of(stream, where))
    remaining = iter(found)
    for _, payload in parts:
        assert payload in remaining, "a message was swallowed, or came out of order"
    for payload in found:
        if payload not in [payload for _, payload in parts]:
            with pytest.raises(Malformed):
                decode_event(payload)


@given(garbage, st.integers(1, 500), payloads)
def test_a_message_cut_in_two_costs_itself_alone(before: bytes, cut: int, payload: bytes) -> None:
    """A reader that was killed took the first bytes of a message with it."""
    lost, kept = framed(mark(1, "x" * 100)), framed(payload)
    splitter = Splitter()
    found = splitter.feed(lost[cut % len(lost) :] + before + kept)
    assert payload in found


@given(st.lists(payloads, min_size=1, max_size=4), st.integers(1, 300))
def test_a_cut_off_end_waits_for_its_rest(sent: list[bytes], missing: int) -> None:
    stream = b"".join(map(framed, sent))
    missing = min(missing, len(framed(sent[-1])) - 1)
    splitter = Splitter()
    assert splitter.feed(stream[:-missing]) == sent[:-1]
    assert splitter.malformed == 0
    assert splitter.feed(stream[-missing:]) == sent[-1:]


def test_runs_of_garbage_and_their_bytes_are_counted() -> None:
    splitter = Splitter()
    first, second = framed(mark(1)), framed(mark(2))
    found = splitter.feed(b"x" * 100 + first + b"y" * 10 + second + b"z" * 50)
    assert found == [mark(1), mark(2)]
    assert splitter.malformed == 3
    assert splitter.skipped_bytes == 100 + 10 + 50 - 3
    assert splitter.pending_bytes == 3, "the last bytes may be the beginning of a magic"


def test_a_false_beginning_does_not_hold_back_what_follows() -> None:
    splitter = Splitter()
    claims_4000 = MAGIC + (4000).to_bytes(2, "big")
    assert splitter.feed(claims_4000 + framed(mark(7))) == [mark(7)]
    assert splitter.malformed == 1
    assert splitter.skipped_bytes == len(claims_4000)


@pytest.mark.parametrize("beyond", range(1, 4))
def test_a_false_beginning_that_ends_within_the_next_magic(beyond: int) -> None:
    false = MAGIC + (ALIGN - HEADER).to_bytes(2, "big")
    false += b"x" * (ALIGN - beyond - len(false))
    assert Splitter().feed(false + framed(mark(7))) == [mark(7)]


def test_a_number_that_looks_like_a_magic_is_left_alone() -> None:
    event = mark(int.from_bytes(MAGIC, "big"))
    assert MAGIC in event
    splitter = Splitter()
    assert splitter.feed(framed(event) * 3) == [event] * 3
    assert splitter.malformed == 0


def test_the_longest_message() -> None:
    room = MAX_MESSAGE - HEADER - len(mark(1, "x" * 300)) + 300
    longest = mark(1, "x" * room)
    assert len(framed(longest)) == MAX_MESSAGE
    assert Splitter().feed(framed(longest)) == [longest]


@given(st.binary(max_size=300))
def test_hostile_payloads_are_malformed_or_events(payload: bytes) -> None:
    with suppress(Malformed):
        assert isinstance(decode_event(payload), Event)


@pytest.mark.parametrize(
    "payload",
    [
        b"\xdd\xff\xff\xff\xff",  # an array of 4 G
        b"\xc6\xff\xff\xff\xff\x00",  # bytes of 4 G
        b"\x91" * 4000,  # deep nesting
        b"\x95\x0b\x01\x01\x01\x01\xa1\xff",  # a mark of bad UTF-8
        b"\x96\x06\x01\x01\x01\x01\xa1x",  # a frame with a text for a number
        b"",
    ],
)
def test_known_attacks_are_malformed(payload: bytes) -> None:
    with pytest.raises(Malformed):
        decode_event(payload)


def test_fields_added_later_are_ignored() -> None:
    plain = FrameEmit(t_ns=1, seq=2, proc=3, tid=4, request=5, index=6, emit=7, count=8)
    array = msgspec.msgpack.decode(msgspec.msgpack.encode(plain))
    assert decode_event(msgspec.msgpack.encode([*array, "of a later version"])) == plain
