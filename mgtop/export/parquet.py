"""Parquet, a file per table, for DuckDB, pandas, Polars and the like. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.export import arrow
from mgtop.export import arrow_columns as columns
from mgtop.export.emits import Emits, late_frames
from mgtop.report.load import summarise
from mgtop.report.samples import Sampled
from mgtop.session.chunk_columns import ChunkReader
from mgtop.session.lock import is_live
from mgtop.session.log_files import log_bytes
from mgtop.session.marks import MarksReader

ROWS = 1 << 18
"""Rows of a group in a file."""
WORTH_A_PROCESS_BYTES = 2 << 20
"""Of a larger log the readings are written by a process of their own."""


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
    if log_bytes(folder) < WORTH_A_PROCESS_BYTES:
        write_samples(folder, out)
        _write_frames(folder, out, summary, told)
        return
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # readings need nothing of frames
        samples = pool.submit(write_samples, folder, out)
        _write_frames(folder, out, summary, told)
        samples.result()


def write_samples(folder: Path, out: Path) -> None:
    """Write ``samples`` alone; ``folder`` and ``out`` as for :func:`write`."""
    reader = ChunkReader(folder, columns.READINGS, records=columns.OTHER_READINGS)
    sampled: Sampled | None = None
    with _Rows(out / "samples.parquet", arrow.SAMPLES) as rows:
        for chunk in reader.chunks():
            if sampled is None:
                model = Model(judge=False)
                model.feed_all(chunk.whole())
                sampled = Sampled(model.about.start_ns)
            try:
                rows.add(columns.samples_batch(chunk, sampled))
            except columns.NotColumns:
                rows.add(arrow.samples_batch(sampled.rows(chunk.whole())))


def _write_frames(
    folder: Path, out: Path, summary: Summary, told: Callable[[float], None] | None
) -> None:
    live = is_live(folder)  # asked first: what the recorder wrote last is read below
    model = Model(judge=False)
    emits = Emits(model)
    needed = frozenset(map(columns.tag_of, model.needed))
    reader = ChunkReader(folder, columns.SPANS_ALONE, columns.also_fed(model), needed)
    about = model.about
    with _Rows(out / "spans.parquet", arrow.SPANS) as rows:
        for chunk in reader.chunks():
            model.feed_all(chunk.records)
            if chunk.newest_ns is not None:
                model.passed(chunk.newest_ns)
            try:
                for batch in columns.spans_batches(chunk, model):
                    rows.add(batch)
            except columns.NotColumns:
                rows.add(arrow.spans_batch(chunk.whole(), model.traffic, about.start_ns))
            if told is not None:
                told(reader.log.share_read)
    for mark in MarksReader(folder).poll():
        model.feed(mark)
    if not live:
        model.finish()
    for name, table in (
        ("frames", arrow.frames_table(emits, about.start_ns, late_frames(summary))),
        ("tails", arrow.tails_table(summary.tails.frames)),
        ("marks", arrow.marks_table(model.summary().marks)),
    ):
        pq.write_table(table, out / f"{name}.parquet", row_group_size=ROWS, compression="zstd")


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
