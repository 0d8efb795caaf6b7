"""The tables of a session for Arrow: frames, spans, samples, tails, marks. Needs pyarrow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import to_builtins

from mgtop.analysis.possible import is_possible
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import MarkSummary, Summary, Tail
from mgtop.analysis.traffic import Traffic
from mgtop.export.emits import Emits, Late
from mgtop.report.samples import Sample, Sampled
from mgtop.wire import records as r
from mgtop.wire.records import AnyRecord, pid_of

WORD = pa.dictionary(pa.int32(), pa.string())
FRAMES = pa.schema(
    {
        "request": WORD, "pid": pa.int32(), "emit": pa.int64(), "index": pa.int64(),
        "count": pa.int32(), "t_ms": pa.float64(), "interval_ms": pa.float64(),
        "warmup": pa.bool_(), "excess_ms": pa.float64(), "cause": WORD,
    }
)  # fmt: skip
SPANS = pa.schema(
    {
        "request": WORD, "pid": pa.int32(), "tid": pa.int32(), "name": WORD, "index": pa.int64(),
        "begin_ms": pa.float64(), "duration_ms": pa.float64(), "cpu_ms": pa.float64(),
        "run_delay_ms": pa.float64(),
    }
)  # fmt: skip
SAMPLES = pa.schema(
    {
        "t_ms": pa.float64(), "name": WORD, "device": pa.int32(), "pid": pa.int32(),
        "value": pa.float64(),
    }
)  # fmt: skip
_SHARE = pa.struct({"name": pa.string(), "explained_ms": pa.float64(), "bound": pa.string()})
_EVIDENCE = pa.struct(
    {
        "channel": pa.string(), "state": pa.string(), "value": pa.float64(), "unit": pa.string(),
        "source": pa.string(), "period_ms": pa.float64(), "lead_ms": pa.float64(),
    }
)  # fmt: skip
TAILS = pa.schema(
    {
        "request": pa.string(), "pid": pa.int32(), "emit": pa.int64(), "index": pa.int64(),
        "count": pa.int32(), "t_ms": pa.float64(), "interval_ms": pa.float64(),
        "excess_ms": pa.float64(), "visible": pa.bool_(), "cause": pa.string(),
        "causes": pa.list_(_SHARE), "evidence": pa.list_(_EVIDENCE), "final": pa.bool_(),
    }
)  # fmt: skip
MARKS = pa.schema(
    {
        "t_ms": pa.float64(), "request": pa.string(), "index": pa.int64(), "note": pa.string(),
    }
)  # fmt: skip


class Tables(NamedTuple):
    """A session's tables; columns and units: docs/exports.md."""

    frames: pa.Table
    spans: pa.Table
    samples: pa.Table
    tails: pa.Table
    marks: pa.Table


def frames_table(emits: Emits, begin_ns: int, late: Late) -> pa.Table:
    """A row per emit that counts, in the order of time; ``begin_ns``: the session's start."""
    whose = _numbers(emits.whose, pa.int64())
    requests = emits.requests
    of_request = {
        "request": pa.array([q.id for q in requests], pa.string()),
        "pid": pa.array([pid_of(q.proc) for q in requests], pa.int32()),
        "left_out": pa.array([q.left_out for q in requests], pa.bool_()),
    }
    interval_ms = _numbers(emits.interval_ms, pa.float64())
    emit = _numbers(emits.emit, pa.int64())
    t_ms = pc.divide(pc.subtract(_numbers(emits.t_ns, pa.int64()), begin_ns), 1e6)
    skipped = pc.less(emit, emits.skipped)
    excess_ms, cause = _lateness(emits, late)
    table = pa.table(
        {
            "request": of_request["request"].take(whose).dictionary_encode(),
            "pid": of_request["pid"].take(whose),
            "emit": emit,
            "index": _numbers(emits.index, pa.int64()),
            "count": _numbers(emits.count, pa.int64()).cast(pa.int32()),
            "t_ms": t_ms,
            "interval_ms": pc.if_else(pc.is_nan(interval_ms), None, interval_ms),
            "warmup": pc.or_(skipped, of_request["left_out"].take(whose)),
            "excess_ms": excess_ms,
            "cause": cause.dictionary_encode(),
        },
        schema=FRAMES,
    )
    return table.take(pa.array(emits.order(), pa.int64()))


def _numbers(column: array[Any], kind: pa.DataType) -> pa.Array:
    """A copy: the column may go on growing."""
    assert column.itemsize == 8, column.typecode
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column.tobytes())])


def _lateness(emits: Emits, late: Late) -> tuple[pa.Array, pa.Array]:
    """Excess and cause of each emit, None where it was not late."""
    excess_ms: list[float | None] = [None] * len(emits.emit)
    causes: list[str | None] = [None] * len(emits.emit)
    if late:
        keys = [(request.proc, request.id) for request in emits.requests]
        for i, (whose, emit) in enumerate(zip(emits.whose, emits.emit, strict=True)):
            tail = late.get((*keys[whose], emit))
            if tail is not None:
                excess_ms[i], causes[i] = tail.excess_ms, tail.cause
    return pa.array(excess_ms, pa.float64()), pa.array(causes, pa.string())


def spans_batch(records: Iterable[AnyRecord], traffic: Traffic, begin_ns: int) -> pa.RecordBatch:
    """The spans among records, as :func:`spans_of` has them, column by column: they are many."""
    rows = [record for record in records if type(record) is r.Span and is_possible(record)]
    ids = {(row.proc, row.request): traffic.worked_for(row) for row in _first_of_each(rows)}
    names = {key: traffic.span_name(*key) for key in {(row.proc, row.name) for row in rows}}
    ended = pa.array([row.t_ns for row in rows], pa.int64())
    lasted = pa.array([row.duration_ns for row in rows], pa.int64())
    index = whole([row.index for row in rows], pa.int64())
    columns = {
        "request": pa.array([_id(ids[row.proc, row.request]) for row in rows], WORD),
        "pid": pa.array([pid_of(row.proc) for row in rows], pa.int32()),
        "tid": whole([row.tid for row in rows], pa.int32()),
        "name": pa.array([names[row.proc, row.name] for row in rows], WORD),
        "index": pc.if_else(pc.less(index, 0), None, index),
        "begin_ms": milliseconds(pc.subtract(pc.subtract(ended, lasted), begin_ns)),
        "duration_ms": milliseconds(lasted),
        "cpu_ms": milliseconds(whole([row.cpu_ns for row in rows], pa.int64())),
        "run_delay_ms": milliseconds(whole([row.run_delay_ns for row in rows], pa.int64())),
    }
    return pa.record_batch([columns[name] for name in SPANS.names], schema=SPANS)


def _first_of_each(rows: Iterable[r.Span]) -> Iterable[r.Span]:
    """One span of each request."""
    return {(row.proc, row.request): row for row in rows}.values()


def _id(request: Request | None) -> str | None:
    return None if request is None else request.id


def milliseconds(column_ns: pa.Array) -> pa.Array:
    """Nanoseconds as milliseconds."""
    return pc.divide(column_ns.cast(pa.float64(), safe=False), 1e6)


def whole(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Whole numbers; None for what is too large for them, which a log of somebody can hold."""
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        most = 1 << (kind.bit_width - 1)
        fitting = [v if v is not None and -most <= v < most else None for v in values]
        return pa.array(fitting, kind)


def samples_batch(rows: Sequence[Sample]) -> pa.RecordBatch:
    """Samples as one batch."""
    return _batch(rows, SAMPLES)


def tails_table(tails: Iterable[Tail]) -> pa.Table:
    """A row per late frame, in the order of time, with its causes and evidence."""
    rows = [{**to_builtins(tail), "pid": pid_of(tail.proc)} for tail in tails]
    return pa.Table.from_pylist(rows, schema=TAILS)


def marks_table(marks: Iterable[MarkSummary]) -> pa.Table:
    """A row per mark, in the order of time."""
    return pa.Table.from_pylist([to_builtins(mark) for mark in marks], schema=MARKS)


def _batch(rows: Sequence[object], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field in schema:
        values = list(map(attrgetter(field.name), rows))
        make = whole if pa.types.is_integer(field.type) else pa.array
        columns.append(make(values, field.type))
    return pa.record_batch(columns, schema=schema)


def tables(
    summary: Summary,
    emits: Emits,
    late: Late,
    batches: Iterable[Sequence[AnyRecord]],
    traffic: Traffic,
    begin_ns: int,
) -> Tables:
    """All tables of a session that was read; ``batches``: its log once more."""
    spans, samples, sampled = [], [], Sampled(begin_ns)
    for records in batches:
        spans.append(spans_batch(records, traffic, begin_ns))
        samples.append(samples_batch(sampled.rows(records)))
    return Tables(
        frames_table(emits, begin_ns, late),
        pa.Table.from_batches(spans, SPANS).unify_dictionaries(),
        pa.Table.from_batches(samples, SAMPLES).unify_dictionaries(),
        tails_table(summary.tails.frames),
        marks_table(summary.marks),
    )
