"""Which request an event belongs to, and what a request tells."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import outlet
from mgtop.wire.records import (
    Delivery,
    Failure,
    FrameEmit,
    Hello,
    PreprocessDone,
    Pulse,
    RequestReceived,
    Span,
    StreamEnd,
)


def in_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_whole_request(probed: Any) -> None:
    with probe.request("7f3a", width=1280, height=720, sampler="euler") as r:
        r.preprocess_done()
        r.frame(count=5)
        r.frame(count=12)
        probe.frame(count=12)
    events = probed.pipe.read()
    assert [type(event) for event in events[:3]] == [Hello, Pulse, RequestReceived]
    received, done, first, second, third, end = events[2:]
    assert received.id == "7f3a"
    assert received.params == {"width": 1280, "height": 720, "sampler": "euler"}
    assert isinstance(done, PreprocessDone)
    assert [(f.index, f.emit, f.count) for f in (first, second, third)] == [
        (0, 0, 5),
        (5, 1, 12),
        (17, 2, 12),
    ]
    assert isinstance(end, StreamEnd)
    assert end.frames is None
    assert {event.request for event in events[2:]} == {received.request}
    assert [event.seq for event in events] == list(range(8))
    times = [event.t_ns for event in events[2:]]
    assert times == sorted(times)


def test_what_became_of_the_frames(probed: Any) -> None:
    with probe.request("a") as r:
        r.frame(count=12)
        r.delivered(8)
        r.dropped()
        r.duplicated(2)
    r.delivered(3)  # the viewer takes longer than the model
    told = probed.read(Delivery)
    assert [(d.delivered, d.dropped, d.duplicated) for d in told] == [
        (8, 0, 0),
        (8, 1, 0),
        (8, 1, 2),
        (11, 1, 2),
    ]
    assert {d.request for d in told} == {r.number}


def test_delivery_that_cannot_be_is_not_told(probed: Any) -> None:
    r = probe.request()
    for wrong in (0, -3, 1 << 40):
        r.delivered(wrong)
        r.dropped(wrong)
        r.duplicated(wrong)
    assert probed.read(Delivery) == []


def test_a_request_without_a_name_is_called_by_its_number(probed: Any) -> None:
    request = probe.request(steps=8)
    request.end(frames=30)
    request.end()
    (received,) = probed.read(RequestReceived)
    assert (received.id, received.request) == (str(request.number), request.number)
    (end,) = (event for event in probed.pipe.events if isinstance(event, StreamEnd))
    assert end.frames == 30


def test_an_index_can_be_given_and_counts_go_on_from_there(probed: Any) -> None:
    r = probe.request()
    r.frame(index=10)
    r.frame(count=2)
    r.frame(count=0)
    r.frame(count=-3)
    assert [(f.index, f.emit, f.count) for f in probed.read(FrameEmit)] == [(10, 0, 1), (11, 1, 2)]
    assert r.next_index == 13
    r.end()


def test_the_module_follows_the_innermost_with(probed: Any) -> None:
    with probe.request("outer") as outer:
        with probe.request("inner") as inner:
            probe.frame()
        probe.frame()
    assert [f.request for f in probed.read(FrameEmit)] == [inner.number, outer.number]


def test_each_task_has_its_own_request(probed: Any) -> None:
    async def serve(name: str) -> tuple[int, int]:
        with probe.request(name) as r:
            for _ in range(3):
                await asyncio.sleep(0)
                probe.frame()
            with probe.span("encode"):
                await asyncio.sleep(0)
            return r.number, r.next_index

    async def main() -> list[tuple[int, int]]:
        return list(await asyncio.gather(serve("a"), serve("b"), serve("c")))

    served = asyncio.run(main())
    events = probed.read(FrameEmit, Span)
    assert [frames for _, frames in served] == [3, 3, 3]
    for number, _ in served:
        mine = [event for event in events if event.request == number]
        assert [f.index for f in mine if isinstance(f, FrameEmit)] == [0, 1, 2]
        assert sum(isinstance(event, Span) for event in mine) == 1


def test_each_thread_has_its_own_request(probed: Any) -> None:
    start = threading.Barrier(2)
    numbers: dict[str, int] = {}

    def serve(name: str) -> None:
        r = probe.request(name)
        numbers[name] = r.number
        start.wait()
        probe.frame()
        start.wait()
        r.end()

    threads = [threading.Thread(target=serve, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    frames = probed.read(FrameEmit)
    assert {f.request for f in frames} == set(numbers.values())
    assert all(f.index == 0 for f in frames)


def test_another_thread_is_of_the_only_open_request(probed: Any) -> None:
    with probe.request("only") as r:
        in_thread(probe.frame)
    assert [f.request for f in probed.read(FrameEmit)] == [r.number]


def test_requests_that_cannot_be_told_apart_are_request_0(probed: Any) -> None:
    first, second = probe.request("a"), probe.request("b")
    probe.frame()
    in_thread(probe.frame)
    with probe.span("decode"):
        pass
    frames = probed.read(FrameEmit, Span)
    assert [event.request for event in frames] == [0, 0, 0]
    first.frame()
    second.end()
    probe.frame()
    frames = probed.read(FrameEmit)
    assert [f.request for f in frames] == [first.number, first.number]
    assert [f.index for f in frames] == [0, 1]
    first.end()


def test_a_with_block_tells_overlapping_requests_apart(probed: Any) -> None:
    first, second = probe.request("a"), probe.request("b")
    with first:
        probe.frame()
    with second:
        probe.frame()
    assert [f.request for f in probed.read(FrameEmit)] == [first.number, second.number]


def test_a_request_ended_in_another_context_is_over_here_too(probed: Any) -> None:
    r = probe.request("a")
    contextvars.Context().run(r.end)
    probe.frame()
    (frame,) = probed.read(FrameEmit)
    assert frame.request not in (0, r.number)


def test_a_frame_without_a_request_opens_one_that_was_never_received(probed: Any) -> None:
    probe.frame()
    in_thread(probe.frame)
    frames = probed.read(FrameEmit)
    assert [f.index for f in frames] == [0, 1]
    assert len({f.request for f in frames}) == 1
    assert not [event for event in probed.pipe.events if isinstance(event, RequestReceived)]
    with probe.request("real") as r:
        probe.frame()
    events = probed.read(StreamEnd, RequestReceived, FrameEmit)
    assert [type(event) for event in events] == [StreamEnd, RequestReceived, FrameEmit, StreamEnd]
    assert events[0].request == frames[0].request
    assert events[2].request == r.number


def test_spans_without_a_request_belong_to_none(probed: Any) -> None:
    with probe.span("decode"):
        pass
    (span,) = probed.read(Span)
    assert (span.request, span.index) == (0, -1)


def test_an_exception_is_told_once_and_goes_on(probed: Any) -> None:
    def generate(r: probe.Request) -> None:
        with r, r.span("forward"), r.span("vae_decode"):
            r.frame(count=4)
            raise RuntimeError("CUDA out of memory. Tried to allocate")

    r = probe.request("a")
    with pytest.raises(RuntimeError, match="out of memory"):
        generate(r)
    (failure,) = probed.read(Failure)
    assert (failure.kind, failure.request, failure.index) == ("RuntimeError", r.number, 4)
    assert failure.text.startswith("CUDA out of memory")


def test_ends_that_are_no_failures(probed: Any) -> None:
    def generate() -> Any:
        with probe.request("a"):
            yield 1

    generator = generate()
    next(generator)
    generator.close()
    with pytest.raises(KeyboardInterrupt), probe.request("b"):
        raise KeyboardInterrupt
    assert len(probed.read(Failure, StreamEnd)) == 2
    assert not [event for event in probed.pipe.events if isinstance(event, Failure)]


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.frame(count="many"),
        lambda r: r.frame(index=2**40),
        lambda r: r.frame(count=object()),
        lambda r: r.end(frames=-1),
        lambda r: probe.queue(None, -1),  # type: ignore[arg-type]
        lambda r: probe.queue("q", "deep"),  # type: ignore[arg-type]
        lambda r: probe.mark(object()),  # type: ignore[arg-type]
        lambda r: probe.frame("one"),  # type: ignore[arg-type]
        lambda r: probe.request(object()),  # type: ignore[arg-type]
        lambda r: r.span(None).__enter__().__exit__(None, None, None),
        lambda r: r.span("decode").__exit__(None, None, None),
        lambda r: probe.waiting().__exit__(None, None, None),
    ],
)
def test_wrong_arguments_do_not_reach_the_program(
    call: Callable[[Any], Any], probed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlet, "raises", False)
    with probe.request("a") as r:
        call(r)
        r.frame()
    assert probed.read(FrameEmit)[-1].request == r.number


def test_the_probe_can_be_switched_off(probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTOP_PROBE", "off")
    with probe.request("a") as r, r.span("decode"), probe.waiting():
        r.preprocess_done()
        r.frame()
        probe.frame()
    probe.load_begin()
    probe.mark("x")
    probe.queue("q", 1)
    assert outlet.current is None
    assert not probed.folder.exists()
    assert r.next_index == 2


def test_the_probe_does_nothing_before_the_first_event(probed: Any) -> None:
    assert outlet.current is None
    assert not probed.folder.exists()
    probe.mark("x")
    assert [path.name for path in probed.folder.iterdir()] == [f"{outlet.os.getpid()}.fifo"]
