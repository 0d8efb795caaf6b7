"""From bytes to events: garbage is counted, the rest is read."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from emitting import frame, wire

from mgtop.record.events import Intake
from mgtop.record.loss import LossAccount
from mgtop.wire.records import AnyEvent, FrameEmit, Hello, Pulse, nth_of_route

SECOND = 1_000_000_000
START = 1_000 * SECOND
NOW = START + 10 * SECOND
PROC = 5000 << 22 | 4321


def emit(seq: int, **changes: Any) -> FrameEmit:
    event = FrameEmit(
        t_ns=START + seq * 1000, seq=seq, proc=PROC, tid=1, request=1, index=seq, emit=seq, count=1
    )
    return msgspec.structs.replace(event, **changes)


def intake() -> tuple[Intake, LossAccount]:
    losses = LossAccount(from_start=True)
    return Intake(START, losses), losses


def counted(losses: LossAccount) -> dict[int, tuple[int, int]]:
    return {r.proc: (r.dropped, r.malformed) for r in losses.take(NOW, final=True)}


def test_events_come_out_in_order_however_the_bytes_are_cut() -> None:
    sent = [emit(seq) for seq in range(200)]
    data = b"".join(map(wire, sent))
    chance = random.Random(4)
    reader, losses = intake()
    got, at = [], 0
    while at < len(data):
        size = chance.randrange(1, 300)
        got += reader.feed(data[at : at + size], NOW)
        at += size
    assert got == sent
    assert counted(losses) == {}


def test_garbage_between_messages_is_counted_and_skipped() -> None:
    reader, losses = intake()
    chance = random.Random(1)
    garbage = bytes(chance.randrange(256) for _ in range(777))
    data = garbage + wire(emit(0)) + b"print('hello')\n" * 9 + wire(emit(1)) + wire(emit(2))
    assert reader.feed(data, NOW) == [emit(0), emit(1), emit(2)]
    assert counted(losses) == {0: (0, 2)}


def test_times_outside_the_session_are_malformed_and_not_lost() -> None:
    reader, losses = intake()
    data = b"".join(
        map(
            wire,
            [
                emit(0),
                emit(1, t_ns=START - 1),
                emit(2, t_ns=NOW + 2 * SECOND),
                emit(3, t_ns=(1 << 63) - 1),
                emit(4),
            ],
        )
    )
    assert reader.feed(data, NOW) == [emit(0), emit(4)]
    assert counted(losses) == {PROC: (0, 3)}


def test_a_program_in_the_place_of_another_has_requests_of_its_own() -> None:
    """After ``exec``: the process is the same, its probe counts anew."""
    reader, losses = intake()

    def told(frames: int, lost: int) -> list[AnyEvent]:
        hello = Hello(START + 1, 0, PROC, 1, "0", "3.11")
        events = [hello, *(emit(1 + lost + n, emit=n, index=n) for n in range(frames))]
        return reader.feed(b"".join(map(wire, events)), NOW)

    first, second, third = told(20, 0), told(3, 2), told(2, 1)
    numbers = [{e.request for e in part if isinstance(e, FrameEmit)} for part in (first, second)]
    numbers.append({e.request for e in third if isinstance(e, FrameEmit)})
    assert [len(part) for part in numbers] == [1, 1, 1]
    assert len(set.union(*numbers)) == 3
    assert {nth_of_route(number) for part in numbers for number in part} == {1}
    assert [len(first), len(second), len(third)] == [21, 4, 3]
    assert counted(losses) == {PROC: (3, 0)}


def test_an_event_that_cannot_be_true_is_malformed_and_not_lost() -> None:
    reader, losses = intake()
    data = b"".join(map(wire, [emit(0), emit(1, count=10**9), emit(2)]))
    assert reader.feed(data, NOW) == [emit(0), emit(2)]
    assert counted(losses) == {PROC: (0, 1)}


def test_an_event_of_a_newer_probe_is_malformed_and_not_lost() -> None:
    reader, losses = intake()
    unknown = frame(msgspec.msgpack.encode([31, START + 5, 1, PROC, 7, "new"]))
    assert reader.feed(wire(emit(0)) + unknown + wire(emit(2)), NOW) == [emit(0), emit(2)]
    assert counted(losses) == {PROC: (0, 1)}


def test_hostile_payloads_are_counted() -> None:
    payloads = [
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",  # an array of four billion
        b"\xc6\xff\xff\xff\xff",
        b"\x91" * 4000,
        b"\x95\x06\x01\x02\x03\x04",  # too short for an emit
        msgspec.msgpack.encode([6, 1.5, "x", {}, None]),
        msgspec.msgpack.encode([6, START, -1, PROC, 1, 1, 0, 0, 1]),
        msgspec.msgpack.encode([6, START, 0, 1 << 63, 1, 1, 0, 0, 1]),
        msgspec.msgpack.encode([32, START, 1, 1, "x", "y"]),  # only the recorder may say that
        msgspec.msgpack.encode("text"),
        b"",
    ]
    reader, losses = intake()
    got = reader.feed(b"".join(map(frame, payloads)) + wire(emit(0)), NOW)
    assert got == [emit(0)]
    assert sum(malformed for _, malformed in counted(losses).values()) == len(payloads)


def test_changed_messages_never_raise_and_everything_kept_is_plausible() -> None:
    chance = random.Random(7)
    reader, _ = intake()
    kept = 0
    for _ in range(3000):
        message = bytearray(wire(emit(kept)))
        message[chance.randrange(6, len(message))] = chance.randrange(256)
        for event in reader.feed(bytes(message), NOW):
            kept += 1
            assert START <= event.t_ns <= NOW + SECOND
            assert event.seq >= 0
            assert event.proc > 0
    assert kept > 0


def test_the_process_with_torch_is_the_one_that_emits() -> None:
    head: dict[str, Any] = {"t_ns": START, "tid": 1, "probe": "1", "python": "3.11"}
    launcher = Hello(seq=0, proc=1 << 22 | 10, **head)
    worker = Hello(seq=0, proc=2 << 22 | 11, torch="2.13", **head)
    later = Hello(seq=0, proc=3 << 22 | 12, **head)
    reader, _ = intake()
    assert reader.emitting is None
    reader.feed(wire(launcher), NOW)
    assert reader.emitting == launcher
    reader.feed(wire(worker) + wire(later), NOW)
    assert reader.emitting == worker


def test_a_pulse_reaches_the_loss_account() -> None:
    reader, losses = intake()
    pulse = Pulse(t_ns=START + 9, seq=3, proc=PROC, tid=1, dropped=3, cost_ns=1, calls=4)
    assert reader.feed(wire(pulse), NOW) == [pulse]
    assert counted(losses) == {PROC: (3, 0)}
