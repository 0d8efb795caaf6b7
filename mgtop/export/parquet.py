"""Parquet, a file per table, for DuckDB, pandas, Polars and the like. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.export import arrow
from mgtop.export import arrow_columns as columns
from mgtop.export.arrow_columns import TAGS, also_fed
from mgtop.export.emits import Emits, late_frames
from mgtop.report.load import summarise
from mgtop.report.samples import Sampled
from mgtop.session.chunk_columns import Chunk, ChunkReader
from mgtop.session.lock import is_live
from mgtop.session.marks import MarksReader

ROWS = 1 << 18
"""Rows of a group in a file."""


def write(
    folder: Path, out: Path, judge: bool = True, told: Callable[[float], None] | None = None
) -> None:
    """Write ``frames``, ``spans``, ``samples``, ``tails`` and ``marks`` into a folder.

    Args:
        folder: of the session.
        out: where to; it is there.
        judge: False leaves out why frames were late (an empty ``tails``).
        told: is called now and then with the share that is done, 0 to 1, of the report that says
            why frames were late, where that has to be made, and then of the tables.

    Raises:
        OSError: it cannot be written.
    """
    summary = summarise(folder, told) if judge else Summary()
    live = is_live(folder)  # asked first: what the recorder wrote last is read below
    model = Model(judge=False)
    emits = Emits(model)
    reader = ChunkReader(folder, TAGS, also_fed(model))
    about = model.about
    sampled: Sampled | None = None
    with ExitStack() as files:
        spans = files.enter_context(_Rows(out / "spans.parquet", arrow.SPANS))
        samples = files.enter_context(_Rows(out / "samples.parquet", arrow.SAMPLES))
        for chunk in reader.chunks():
            model.feed_all(chunk.records)
            if chunk.newest_ns is not None:
                model.passed(chunk.newest_ns)
            sampled = sampled or Sampled(about.start_ns)
            _add(chunk, model, sampled, spans, samples)
            if told is not None:
                told(reader.log.share_read)
    for mark in MarksReader(folder).poll():
        model.feed(mark)
    if not live:
        model.finish()
    frames = arrow.frames_table(emits, about.start_ns, late_frames(summary))
    for name, table in (
        ("frames", frames),
        ("tails", arrow.tails_table(summary.tails.frames)),
        ("marks", arrow.marks_table(model.summary().marks)),
    ):
        pq.write_table(table, out / f"{name}.parquet", row_group_size=ROWS, compression="zstd")


def _add(chunk: Chunk, model: Model, sampled: Sampled, spans: _Rows, samples: _Rows) -> None:
    begin_ns = sampled.begin_ns
    try:
        if not chunk.kinds:
            raise columns.NotColumns("too few for columns")
        batches = [
            columns.spans_batch(kind, model, begin_ns)
            for kind in chunk.kinds
            if kind.tag == columns.SPAN_TAG
        ]
        read = columns.samples_batch(chunk, sampled)
    except columns.NotColumns:
        records = chunk.whole()
        batches = [arrow.spans_batch(records, model.traffic, begin_ns)]
        read = arrow.samples_batch(sampled.rows(records))
    for batch in batches:
        spans.add(batch)
    samples.add(read)


class _Rows:
    """A file that takes batches, and writes them in larger groups."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take more rows."""
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._held, self._schema)
        self._writer.write_table(table.unify_dictionaries())
        self._held, self._rows = [], 0

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *error: object) -> None:
        self._flush()
        self._writer.close()
