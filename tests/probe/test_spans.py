"""Spans: what they are of, how long, and what the thread did meanwhile."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import context, names
from mgtop.wire.records import SPAN_NAMES, Failure, Name, Queue, Span, Wait


@pytest.fixture
def fresh_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "numbers", {text: n for n, text in enumerate(names.FIXED)})
    monkeypatch.setattr(names, "announced", {})
    monkeypatch.setattr(names, "_free", itertools.count(names.FIRST_FREE))


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_span_is_for_the_next_frame(probed: Any) -> None:
    with probe.request() as r:
        with r.span("decode"):
            pass
        r.frame(count=5)
        with r.span("write"):
            r.frame(count=12)
        with r.span("decode", index=40):
            pass
    assert [(SPAN_NAMES[s.name], s.index) for s in probed.read(Span)] == [
        ("decode", 0),
        ("write", 5),
        ("decode", 40),
    ]


def test_a_long_span_carries_the_times_of_its_thread(probed: Any) -> None:
    with probe.span("forward"):
        burn(0.02)
    with probe.span("forward"):
        time.sleep(0.02)
    with probe.span("forward"):
        pass
    busy, asleep, short = probed.read(Span)
    assert busy.duration_ns >= 20e6
    assert 19.9e6 <= busy.cpu_ns <= busy.duration_ns
    assert busy.run_delay_ns + busy.cpu_ns <= busy.duration_ns + 100_000
    assert asleep.duration_ns >= 20e6
    assert asleep.cpu_ns < 5e6
    assert short.duration_ns < 1e6
    assert (short.cpu_ns, short.run_delay_ns) == (None, None)
    assert (short.thread_cpu_ns, short.thread_delay_ns) == (None, None)


def test_what_a_thread_did_between_two_long_spans_is_known(probed: Any) -> None:
    with probe.span("forward"):
        burn(0.002)
    burn(0.02)
    with probe.span("forward"):
        burn(0.002)
    before, after = probed.read(Span)
    between = after.thread_cpu_ns - after.cpu_ns - before.thread_cpu_ns
    assert 19.5e6 <= between <= 40e6
    assert after.thread_delay_ns >= before.thread_delay_ns + after.run_delay_ns


def test_a_first_reading_that_is_old_is_not_used(probed: Any) -> None:
    with probe.span("decode"):
        pass
    burn(0.01)
    with probe.span("decode"):
        time.sleep(0.003)
    *_, span = probed.read(Span)
    assert span.cpu_ns < 3e6


def test_spans_nest_in_themselves(probed: Any) -> None:
    span = probe.span("encode")
    with span:
        time.sleep(0.002)
        with span:
            time.sleep(0.002)
    inner, outer = probed.read(Span)
    assert 2e6 <= inner.duration_ns < outer.duration_ns
    assert outer.duration_ns >= 4e6


def test_one_span_object_in_many_threads(probed: Any) -> None:
    span = probe.span("encode")
    rounds, count = 30, 4

    def work(sleep_s: float) -> None:
        for _ in range(rounds):
            with span:
                time.sleep(sleep_s)

    sleeps = [0.001 * (n + 1) for n in range(count)]
    threads = [threading.Thread(target=work, args=(sleep_s,)) for sleep_s in sleeps]
    for thread in threads:
        thread.start()
    tids = {thread.native_id: sleep_s for thread, sleep_s in zip(threads, sleeps, strict=True)}
    for thread in threads:
        thread.join()
    spans = probed.read(Span)
    assert len(spans) == rounds * count
    for event in spans:
        assert event.duration_ns >= tids[event.tid] * 1e9
    assert {event.tid for event in spans} == set(tids)


def test_a_span_left_in_another_thread_has_a_duration_only(probed: Any) -> None:
    span = probe.span("forward").__enter__()
    time.sleep(0.003)
    thread = threading.Thread(target=span.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    (event,) = probed.read(Span)
    assert event.duration_ns >= 3e6
    assert event.cpu_ns is None


def test_new_names_are_announced_before_they_are_used(probed: Any, fresh_names: None) -> None:
    for _ in range(2):
        with probe.span("denoise"):
            pass
        probe.queue("prefetch", depth=3, capacity=8, dropped=2)
    events = probed.read(Name, Span, Queue)
    assert [type(event) for event in events] == [Name, Span, Name, Queue, Span, Queue]
    assert [(event.id, event.text) for event in events if isinstance(event, Name)] == [
        (16, "denoise"),
        (17, "prefetch"),
    ]
    assert [event.name for event in events if not isinstance(event, Name)] == [16, 17, 16, 17]
    (queue, _) = (event for event in events if isinstance(event, Queue))
    assert (queue.depth, queue.capacity, queue.dropped) == (3, 8, 2)


def test_names_are_told_again_for_readers_that_come_late(probed: Any, fresh_names: None) -> None:
    with probe.span("denoise"):
        pass
    probed.pipe.read()
    assert probe.outlet.current is not None
    probe.outlet.current._next_tick = 0
    with probe.span("denoise"):
        pass
    assert [(event.id, event.text) for event in probed.read(Name)] == [(16, "denoise")]


def test_endless_names_become_other(probed: Any, fresh_names: None) -> None:
    for step in range(names.MOST + 50):
        with probe.span(f"step {step}"):
            pass
        if step % 200 == 0:
            probed.pipe.read()
    assert len(names.announced) == names.MOST
    *_, last = probed.read(Span)
    assert last.name == 0


def test_two_threads_never_give_one_number_to_two_names(fresh_names: None) -> None:
    def work(letter: str) -> None:
        for n in range(200):
            names.give_number(f"{letter}{n}")

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = [number for text, number in names.numbers.items() if text not in names.FIXED]
    assert len(given) == len(set(given)) == 800
    assert {names.announced[names.numbers[f"{c}{n}"]] for c in "abcd" for n in range(200)} == {
        f"{c}{n}" for c in "abcd" for n in range(200)
    }


def test_waiting_for_a_person(probed: Any) -> None:
    with probe.waiting():
        time.sleep(0.002)
    (wait,) = probed.read(Wait)
    assert 2e6 <= wait.duration_ns < 1e9


def test_a_reading_serves_the_next_span_while_it_is_fresh(
    probed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = context.ThreadContext.read
    monkeypatch.setattr(
        context.ThreadContext, "read", lambda self, now: (reads.append(now), read(self, now))[0]
    )
    monkeypatch.setattr(probe.spans, "FRESH_NS", 10**12)
    r = probe.request()
    r.frame()
    with r.span("decode"):
        pass
    assert len(reads) == 1
    r.end()


def test_every_frame_that_ran_out_of_memory_is_told(probed: Any) -> None:
    """The program handles it and goes on; errors of different frames lie at the same address."""
    with probe.request("a") as r:
        for _ in range(3):
            try:
                with r.span("forward"), r.span("vae_decode"):
                    raise MemoryError("too much")
            except MemoryError:
                pass
            r.frame()
    failures = probed.read(Failure)
    assert [(f.kind, f.index) for f in failures] == [("MemoryError", n) for n in range(3)]
