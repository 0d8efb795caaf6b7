"""The contract: what the probe packs, the records' decoder reads, field for field."""

from __future__ import annotations

import itertools
import re
import struct
from enum import IntEnum
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.probe import names, pack
from mgtop.wire import framing, records
from mgtop.wire.framing import Splitter, decode_event

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
I32 = st.integers(-1, 2**31 - 1)
U16 = st.integers(0, 2**16 - 1)
SMALL = st.integers(0, 127)
TEXT = st.text(max_size=100)

heads = st.tuples(U64, U64, U64, U32)
"""t_ns, seq, proc, tid."""


def unpack(message: bytes) -> records.AnyEvent:
    """What a reader makes of exactly one message."""
    assert len(message) % framing.ALIGN == 0
    assert len(message) <= framing.MAX_MESSAGE
    splitter = Splitter()
    payloads = splitter.feed(message)
    assert (len(payloads), splitter.malformed, splitter.pending_bytes) == (1, 0, 0)
    return decode_event(payloads[0])


FIXED: list[tuple[pack.Layout, type[records.Event], dict[str, st.SearchStrategy[int]]]] = [
    (pack.PULSE_LAYOUT, records.Pulse, {"dropped": U64, "cost_ns": U64, "calls": U64}),
    (pack.PREPROCESS_DONE_LAYOUT, records.PreprocessDone, {"request": U32}),
    (pack.STREAM_END_LAYOUT, records.StreamEnd, {"request": U32, "frames": U32}),
    (pack.STREAM_END_UNCOUNTED_LAYOUT, records.StreamEnd, {"request": U32}),
    (
        pack.QUEUE_LAYOUT,
        records.Queue,
        {"name": U16, "depth": U32, "capacity": U32, "dropped": U64},
    ),
    (pack.WAIT_LAYOUT, records.Wait, {"duration_ns": U64}),
    (
        pack.GARBAGE_COLLECTION_LAYOUT,
        records.GarbageCollection,
        {"duration_ns": U64, "generation": SMALL},
    ),
    (
        pack.TORCH_MEMORY_LAYOUT,
        records.TorchMemory,
        {
            "request": U32, "emit": U32, "device": SMALL, "allocated_bytes": U64,
            "reserved_bytes": U64, "peak_bytes": U64, "retries": U32, "ooms": U32,
            "driver_allocs": U32, "driver_frees": U32, "segments": U32, "inactive_bytes": U64,
            "reserved_peak_bytes": U64,
        },
    ),
    (
        pack.GPU_WORK_LAYOUT,
        records.GpuWork,
        {"request": U32, "emit": U32, "busy_ns": U64, "gap_ns": U64, "pairs": U32},
    ),
    (
        pack.DELIVERY_LAYOUT,
        records.Delivery,
        {"request": U32, "delivered": U64, "dropped": U64, "duplicated": U64},
    ),
    (
        pack.SPAN_CPU_LAYOUT,
        records.Span,
        {
            "request": U32, "index": I32, "name": U16, "duration_ns": U64, "cpu_ns": U64,
            "thread_cpu_ns": U64,
        },
    ),
    (
        pack.SPAN_FULL_LAYOUT,
        records.Span,
        {
            "request": U32, "index": I32, "name": U16, "duration_ns": U64, "cpu_ns": U64,
            "run_delay_ns": U64, "thread_cpu_ns": U64, "thread_delay_ns": U64,
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "kind", "fields"), FIXED, ids=lambda value: getattr(value, "__name__", "")
)
@given(data=st.data(), head=heads)
def test_events_of_fixed_width(
    layout: pack.Layout,
    kind: type[records.Event],
    fields: dict[str, st.SearchStrategy[int]],
    data: st.DataObject,
    head: tuple[int, int, int, int],
) -> None:
    t_ns, seq, proc, tid = head
    values = {name: data.draw(strategy) for name, strategy in fields.items()}
    message = layout.pack(pack.identity(proc, tid), t_ns, seq, *values.values())
    assert unpack(message) == kind(t_ns=t_ns, seq=seq, proc=proc, tid=tid, **values)


@given(heads, st.tuples(U32, I32, U16, U64))
def test_a_short_span(head: tuple[int, int, int, int], values: tuple[int, ...]) -> None:
    t_ns, seq, proc, tid = head
    message = pack.pack_span(pack.identity(proc, tid), t_ns, seq, *values)
    assert len(message) == 64
    assert unpack(message) == records.Span(t_ns, seq, proc, tid, *values)


frames = st.tuples(U32, I32, U32, U32, SMALL)
"""request, index, emit, count, route."""
contexts = st.tuples(*[U64] * 7)


@given(heads, frames, contexts)
def test_a_frame_with_its_context(
    head: tuple[int, int, int, int], frame: tuple[int, ...], context: tuple[int, ...]
) -> None:
    t_ns, seq, proc, tid = head
    who = pack.identity(proc, tid)
    message = pack.pack_frame(who, t_ns, seq, *frame, *context)
    assert unpack(message) == records.FrameEmit(t_ns, seq, proc, tid, *frame, *context)
    assert message == pack.pack_frame_partly(who, t_ns, seq, frame, context)
    assert len(message) == 128


@pytest.mark.parametrize("missing", list(itertools.product([False, True], repeat=7)))
def test_a_frame_without_some_of_its_context(missing: tuple[bool, ...]) -> None:
    context = [None if gone else 10**12 + place for place, gone in enumerate(missing)]
    message = pack.pack_frame_partly(pack.identity(5, 6), 1, 2, (3, 4, 5, 6, 0), context)
    assert unpack(message) == records.FrameEmit(1, 2, 5, 6, 3, 4, 5, 6, 0, *context)


json_like = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), TEXT),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


@given(heads, st.integers(1, 2**32 - 1), TEXT, st.dictionaries(TEXT, json_like, max_size=4))
def test_a_request_and_its_parameters(
    head: tuple[int, int, int, int], number: int, name: str, params: dict[str, Any]
) -> None:
    t_ns, seq, proc, tid = head
    kept = pack.fitting(params, 3000)
    message = pack.message(
        pack.REQUEST_RECEIVED, pack.identity(proc, tid), t_ns, seq, number, name, kept, 0
    )
    event = unpack(message)
    expected = records.RequestReceived(t_ns, seq, proc, tid, number, name, kept)
    assert repr(event) == repr(expected)  # nan is not equal to itself


TEXTS: list[tuple[int, type[records.Event], tuple[Any, ...]]] = [
    (pack.HELLO, records.Hello, ("0.1", "3.12.1", "2.11+cu130", 3, 0, "infer.py", True)),
    (pack.HELLO, records.Hello, ("0.1", "3.8.18", None, None, 0, "", False)),
    (pack.NAME, records.Name, (16, "réchauffe 采样")),
    (pack.LOAD, records.Load, (True,)),
    (pack.LOAD, records.Load, (False,)),
    (pack.MARK, records.Mark, ("scene change",)),
    (pack.COMPILE, records.Compile, (12_000_000, "dynamo 0/0")),
    (pack.FAILURE, records.Failure, ("OutOfMemoryError", "CUDA out of memory", 3, 41)),
]


@pytest.mark.parametrize(("tag", "kind", "fields"), TEXTS)
def test_events_with_texts(tag: int, kind: type[records.Event], fields: tuple[Any, ...]) -> None:
    message = pack.message(tag, pack.identity(7, 8), 1, 2, *fields)
    assert unpack(message) == kind(1, 2, 7, 8, *fields)


@given(json_like)
def test_the_encoder_writes_what_msgpack_reads(value: Any) -> None:
    into = bytearray()
    pack.encode(value, into)
    assert repr(msgspec.msgpack.decode(bytes(into))) == repr(value)


class Sampler(IntEnum):
    EULER = 3


class Tensor:
    """Asking it for a value would wait for the GPU."""

    def __index__(self) -> int:
        raise AssertionError

    def __str__(self) -> str:
        raise AssertionError


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Path("/data/clip.mp4"), "/data/clip.mp4"),
        (Sampler.EULER, 3),
        (np.int64(5), 5),
        (np.float32(0.5), 0.5),
        (np.zeros(3), "<ndarray>"),
        (Tensor(), "<Tensor>"),
        (2**70, str(2**70)),
        ("bad \udc80 text", "bad ? text"),
        ((1, "a"), [1, "a"]),
        ({1: Tensor()}, {"1": "<Tensor>"}),
    ],
)
def test_values_of_other_types(value: object, told: object) -> None:
    into = bytearray()
    pack.encode(value, into)
    assert msgspec.msgpack.decode(bytes(into)) == told


def test_parameters_that_do_not_fit_are_left_out() -> None:
    endless: list[Any] = []
    endless.append(endless)
    params = {"a": "x" * 10_000, "b": list(range(2000)), "c": endless, "d": 1}
    assert pack.fitting(params, 3000) == {"a": "x" * 256, "d": 1}


def test_an_event_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than 4090 bytes"):
        pack.message(pack.MARK, pack.identity(1, 1), 1, 1, "x" * 4090)


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(struct.error):
        pack.QUEUE_LAYOUT.pack(pack.identity(1, 1), 1, 1, 16, -1, 8, 0)


@given(TEXT, st.integers(0, 50))
def test_clip_cuts_between_characters(text: str, size: int) -> None:
    cut = pack.clip(text, size)
    assert len(cut.encode()) <= size
    assert text.startswith(cut)
    assert len(cut.encode()) > size - 4 or cut == text


def test_numbers_and_names_that_both_sides_know() -> None:
    assert names.FIXED == records.SPAN_NAMES
    assert names.FIRST_FREE == records.FIRST_FREE_NAME
    assert pack.MAGIC == framing.MAGIC
    assert pack.HEADER == framing.HEADER
    assert pack.ALIGN == framing.ALIGN
    assert pack.MAX_MESSAGE == framing.MAX_MESSAGE
    for kind in records.Event.__subclasses__():
        tag = kind.__struct_config__.tag
        if kind is not records.Delivery:  # frames handed on are seen outside the probe
            assert getattr(pack, re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).upper()) == tag


def test_no_message_is_longer_than_two_slots() -> None:
    layouts = [value for value in vars(pack).values() if isinstance(value, pack.Layout)]
    assert len(layouts) >= 11
    assert {layout.size for layout in layouts} <= {64, 128}
