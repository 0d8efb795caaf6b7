"""Parquet, a file per table, for DuckDB, pandas, Polars and the like. Needs pyarrow."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mgtop.analysis.model import Model
from mgtop.export import arrow
from mgtop.export.emits import Emits, late_frames
from mgtop.report.follow import Follower
from mgtop.report.samples import Sampled

ROWS = 1 << 18
"""Rows of a group in a file."""


def write(folder: Path, out: Path, judge: bool = True) -> None:
    """Write ``frames``, ``spans``, ``samples``, ``tails`` and ``marks`` into a folder.

    Args:
        folder: of the session.
        out: where to; it is there.
        judge: False leaves out why frames were late (an empty ``tails``).

    Raises:
        OSError: it cannot be written.
    """
    follower = Follower(folder, Model(judge=judge))
    emits = Emits(follower.model)
    about = follower.model.about
    sampled: Sampled | None = None
    with ExitStack() as files:
        spans = files.enter_context(_Rows(out / "spans.parquet", arrow.SPANS))
        samples = files.enter_context(_Rows(out / "samples.parquet", arrow.SAMPLES))
        for records in follower.rest():
            sampled = sampled or Sampled(about.start_ns)
            traffic = follower.model.traffic
            spans.add(arrow.spans_batch(records, traffic, about.start_ns))
            samples.add(arrow.samples_batch(sampled.rows(records)))
    summary = follower.summary()
    frames = arrow.frames_table(emits, about.start_ns, late_frames(summary))
    for name, table in (
        ("frames", frames),
        ("tails", arrow.tails_table(summary.tails.frames)),
        ("marks", arrow.marks_table(summary.marks)),
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
