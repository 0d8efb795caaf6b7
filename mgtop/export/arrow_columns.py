"""Spans and readings from the columns of a log's chunks to Arrow, without an object for each.

Says the same as :func:`mgtop.export.arrow.spans_batch` and ``samples_batch``, row by row.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from mgtop.analysis.model import OF_NO_SINK, Model
from mgtop.analysis.possible import LONGEST_NS
from mgtop.export.arrow import SAMPLES, SPANS, WORD, milliseconds
from mgtop.export.arrow import samples_batch as rows_batch
from mgtop.report.samples import MIB, Sampled
from mgtop.session.chunk_columns import Chunk, Kind
from mgtop.wire import records as r


class NotColumns(Exception):
    """These columns hold what no record of that kind can."""


def tag_of(kind: type[r.Record]) -> int:
    """Its number in logs."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int)
    return tag


@cache
def _numbers(kind: type[r.Record]) -> dict[str, int]:
    """Where each field stands among those after the time."""
    return {field.name: n for n, field in enumerate(msgspec.structs.fields(kind)[1:])}


_SPAN = _numbers(r.Span)
_READ: dict[int, tuple[type[r.Record], str, bool, dict[str, tuple[str, int]]]] = {
    tag_of(r.TorchMemory): (
        r.TorchMemory, "device", True,
        {
            "torch_allocated_mib": ("allocated_bytes", MIB),
            "torch_reserved_mib": ("reserved_bytes", MIB),
        },
    ),
    tag_of(r.GpuMemory): (r.GpuMemory, "gpu", False, {"gpu_memory_mib": ("used_bytes", MIB)}),
    tag_of(r.GpuUtilisation): (
        r.GpuUtilisation, "gpu", False,
        {
            "gpu_util_percent": ("percent", 1),
            "gpu_memory_util_percent": ("memory_percent", 1),
        },
    ),
}  # fmt: skip
"""By tag: what it is, its device's field, whether it is of a process, and its samples."""
SPAN_TAG = tag_of(r.Span)
SPANS_ALONE = frozenset({SPAN_TAG})
READINGS = frozenset(_READ)
"""Tags of the kinds of which there are samples, as columns here."""
OTHER_READINGS = frozenset(map(tag_of, Sampled(0).kinds)) - READINGS
"""Tags of the kinds of which there are samples, by records."""
_BAD = (pa.ArrowException, TypeError, ValueError, OverflowError, IndexError)
_PLACES = 8
"""More than one record makes samples."""


def also_fed(model: Model) -> Callable[[Kind], Sequence[int]]:
    """Which of the records that come as columns the requests need as well."""

    def needed(kind: Kind) -> Sequence[int]:
        if kind.tag != SPAN_TAG or len(kind.columns) <= _SPAN["name"]:
            return ()
        names = kind.field(_SPAN["name"])
        if model.outputs.all:
            return range(len(names))
        try:
            if OF_NO_SINK.issuperset(names):
                return ()
            return [n for n, name in enumerate(names) if name not in OF_NO_SINK]
        except TypeError:  # a list where a number should be
            return range(len(names))

    return needed


def spans_batches(chunk: Chunk, model: Model) -> list[pa.RecordBatch]:
    """The spans of a chunk.

    Raises:
        NotColumns: some cannot be spans, or there are too few for columns.
    """
    if not chunk.apart:
        raise NotColumns("few records")
    return [_spans_batch(kind, model, model.about.start_ns) for kind in chunk.kinds]


def _spans_batch(kind: Kind, model: Model, begin_ns: int) -> pa.RecordBatch:
    try:
        ended, lasted = _int64(kind.t_ns), _int64(_field(kind, _SPAN, "duration_ns"))
        _in_range(ended, -LONGEST_NS + 1)
        _in_range(lasted, 0)
        proc = _field(kind, _SPAN, "proc")
        index = _int64(_field(kind, _SPAN, "index"))
        traffic = model.traffic

        def request_of(key: Any) -> str | None:
            known = r.Span(0, 0, key[0], 0, key[1], -1, 0, 0)
            request = traffic.worked_for(known)
            return None if request is None else request.id

        requests = list(zip(proc, _field(kind, _SPAN, "request"), strict=True))
        names = list(zip(proc, _field(kind, _SPAN, "name"), strict=True))
        columns = {
            "request": _words(requests, request_of),
            "pid": _pid(proc),
            "tid": pa.array(_field(kind, _SPAN, "tid"), pa.int32()),
            "name": _words(names, lambda key: traffic.span_name(*key)),
            "index": pc.if_else(pc.less(index, 0), None, index),
            "begin_ms": milliseconds(pc.subtract(pc.subtract(ended, lasted), begin_ns)),
            "duration_ms": milliseconds(lasted),
            "cpu_ms": milliseconds(_int64(_field(kind, _SPAN, "cpu_ns"))),
            "run_delay_ms": milliseconds(_int64(_field(kind, _SPAN, "run_delay_ns"))),
        }
        return pa.record_batch([columns[name] for name in SPANS.names], schema=SPANS)
    except _BAD as error:
        raise NotColumns(str(error)) from None


def samples_batch(chunk: Chunk, sampled: Sampled) -> pa.RecordBatch:
    """The samples of a chunk, in the order of its records; the reader gives readings alone.

    Raises:
        NotColumns: some cannot be readings, or there are too few for columns.
    """
    if not chunk.apart:
        raise NotColumns("few records")
    try:
        parts = [part for kind in chunk.kinds for part in _read(kind, sampled)]
    except _BAD as error:
        raise NotColumns(str(error)) from None
    rest = [
        (place * _PLACES + n, sample)
        for place, record in zip(chunk.places, chunk.records, strict=True)
        for n, sample in enumerate(sampled.rows((record,)))
    ]
    batch = rows_batch([sample for _, sample in rest])
    name = batch.column("name").cast(pa.string())
    arrays = [batch.column(0), name, *batch.columns[2:]]
    parts.append(pa.record_batch([_int64([at for at, _ in rest]), *arrays], _COLUMNS))
    table = pa.Table.from_batches(parts)
    table = table.take(pc.sort_indices(table["at"]))
    columns = {name: table[name].combine_chunks() for name in SAMPLES.names}
    columns["name"] = columns["name"].dictionary_encode()
    return pa.record_batch(list(columns.values()), schema=SAMPLES)


_COLUMNS = ["at", *SAMPLES.names]


def _read(kind: Kind, sampled: Sampled) -> list[pa.RecordBatch]:
    struct, of_device, of_process, values = _READ[kind.tag]
    numbers = _numbers(struct)
    t_ns = _int64(kind.t_ns)
    _in_range(t_ns, -LONGEST_NS + 1)
    n = len(t_ns)
    t_ms = milliseconds(pc.subtract(t_ns, sampled.begin_ns))
    device = pa.array(_field(kind, numbers, of_device), pa.int32())
    pid = _pid(_field(kind, numbers, "proc")) if of_process else pa.nulls(n, pa.int32())
    at = pc.multiply(_int64(kind.places), _PLACES)
    parts = []
    for place, (name, (field, divisor)) in enumerate(values.items()):
        value = pa.array(_field(kind, numbers, field), pa.float64())
        part = pa.record_batch(
            [
                pc.add(at, place), t_ms, pa.array([name] * n, pa.string()), device, pid,
                pc.divide(value, float(divisor)),
            ],
            _COLUMNS,
        )  # fmt: skip
        parts.append(part.filter(pc.is_valid(value)) if value.null_count else part)
    return parts


def _field(kind: Kind, numbers: dict[str, int], name: str) -> list[Any]:
    number = numbers[name]
    if number >= len(kind.columns):  # written before there was such a field
        return [None] * len(kind.t_ns)
    return kind.field(number)


def _int64(values: Sequence[Any]) -> pa.Array:
    try:  # the usual case, without a look at each value by Arrow
        known = array("q", values)
    except TypeError:  # some are not known
        return pa.array(values, pa.int64())
    return pa.Array.from_buffers(pa.int64(), len(known), [None, pa.py_buffer(known)])


def _pid(proc: Sequence[Any]) -> pa.Array:
    return pc.bit_wise_and(_int64(proc), r.pid_of(-1)).cast(pa.int32())


def _in_range(values: pa.Array, least: int) -> None:
    ends = pc.min_max(values).as_py()
    if values.null_count or (len(values) and not least <= ends["min"] <= ends["max"] < LONGEST_NS):
        raise NotColumns("times that cannot be")


def _words(keys: Sequence[Hashable], text_of: Callable[[Any], str | None]) -> pa.Array:
    """A word for each key."""
    texts = {key: text_of(key) for key in dict.fromkeys(keys)}
    if len(texts) == 1:
        return (
            pa.repeat(next(iter(texts.values())), len(keys)).cast(pa.string()).dictionary_encode()
        )
    return pa.array([texts[key] for key in keys], WORD)
