"""``mgtop import``: a text log of frame events becomes a session like any other."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from mgtop.cli.errors import UserError, say
from mgtop.cli.options import out

if TYPE_CHECKING:
    from mgtop.config.structs import AnalysisSettings, RunConfig
    from mgtop.record.smi.tables import Table
    from mgtop.record.textlog_session import LogContents
    from mgtop.wire.records import Record

_CHUNK = 2_000
"""Records in one write to the session's log."""
_IN_MEMORY = 16 << 20
"""Bytes of the text log held in memory for its copy; what is more waits in a temporary file."""

_EXAMPLES = """\b
Examples:
  mgtop import generator.log
  kubectl logs pod/generator | mgtop import - --out ./session
  mgtop report "$(mgtop import generator.log)"
  mgtop import generator.log --gpu gpu.csv --mem apps.csv

\b
The log's lines look like this; lines can be missing, and others are skipped:
  [req 7f3a] T+0     request_received  w=1280 h=720 steps=24 fps=16
  [req 7f3a] T+38    preprocess_done   decode=14ms resize=10ms h2d=6ms
  [req 7f3a] T+1120  first_frame_emit
  [req 7f3a] T+1168  frame_emit idx=1  dt=48
  [req 7f3a] T+2601  stream_end        frames=30
Or like this, a line for each frame:
  LOAD 12.1 ms | FWD 85.2 ms | POST 4.0 ms | TOTAL 101.3 ms"""


@click.command("import", epilog=_EXAMPLES)
@click.argument("log", type=click.File("rb"))
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    help="Run configuration: name, target fps, warm-up, thresholds, log pattern.",
)
@click.option(
    "--gpu",
    "--mem",
    "tables",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="CSV",
    help="What nvidia-smi wrote meanwhile (--query-gpu, --query-compute-apps, dmon); several.",
)
@out
def command(log: BinaryIO, config: Path | None, tables: tuple[Path, ...], out: Path | None) -> None:
    """Turn a text log of frame events into a session.

    Times in LOG are milliseconds since each request's own start. Where its lines begin with
    the time of day, requests and tables of nvidia-smi stand on the axis as they did in truth;
    else requests follow each other, and a table begins with the log. No warm-up is left out
    unless CONFIG says so. The session folder's path is the last line of the output. LOG may be
    - for standard input. A copy of it is kept in the session.
    """
    import msgspec

    from mgtop.record.from_config import kept_yaml
    from mgtop.record.launch import CONFIG_FILE
    from mgtop.record.output import OUTPUT_FILE
    from mgtop.record.textlog_session import read_log, session_records
    from mgtop.session.folder import open_private
    from mgtop.session.secrets import mask

    plan = _load(config)
    pattern = _pattern(plan, config)
    read = [_table(path) for path in tables]
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        shutil.copyfileobj(log, copy)
        copy.seek(0)
        contents = read_log(cast("BinaryIO", copy), pattern)
        if not contents.understood and not any(line.kind == "oom" for line in contents.output):
            raise UserError(_no_event(log.name, contents, pattern))
        params = {**plan.params, **contents.params}
        settings = _settings(plan, params, warmup_given=_has_warmup(config))
        name = plan.name or (Path(log.name).stem if log.name not in ("-", "<stdin>") else "stdin")
        gpu = _gpu_records(read, tables, contents)
        folder = _write(session_records(contents, name, mask(params), settings, gpu), name, out)
        copy.seek(0)
        with open_private(folder / OUTPUT_FILE) as file:
            shutil.copyfileobj(copy, file)
    if config is not None:
        used = msgspec.structs.replace(plan, name=name, params=params, warmup=settings.warmup)
        with open_private(folder / CONFIG_FILE) as file:
            file.write(kept_yaml(used, config).encode())
    if contents.coarse:
        say(
            f"{contents.coarse:,} events have no other time than the log's clock, which tells "
            "whole seconds only: intervals between them are no finer."
        )
    click.echo(_account(contents), err=True)
    click.echo(folder)


def _table(path: Path) -> Table:
    from mgtop.config.files import read_file
    from mgtop.record.smi.tables import NotATable, read_table
    from mgtop.record.textlog_session import encoding_of

    try:
        data = read_file(path)
        return read_table(data.decode(encoding_of(data), "replace"))
    except NotATable as error:
        raise UserError(f"{path} is no table of nvidia-smi: {error}.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None


def _gpu_records(
    tables: list[Table], paths: tuple[Path, ...], contents: LogContents
) -> Sequence[Record]:
    """The tables on the log's axis; what has to be assumed for that is said."""
    from mgtop.record.smi.records import cannot_tell_target, smi_records

    records: Sequence[Record] = smi_records(tables, contents.begin_wall_ns, contents.end_ns)
    for table, path in zip(tables, paths, strict=True):
        if contents.begin_wall_ns is None:
            say(f"the log states no time of day; {path.name} is taken to begin with it.")
        elif all(row.wall_ns is None for row in table.rows):
            say(f"{path.name} states no times, as dmon -o DT does: a row a second is taken.")
        if cannot_tell_target(table):
            say(f"{path.name}: which of its processes is the program cannot be told; left out.")
        if table.malformed:
            say(f"{path.name}: {table.malformed:,} lines do not fit its header; left out.")
    if tables and not records:
        raise UserError(_apart(tables, contents))
    return records


def _apart(tables: list[Table], contents: LogContents) -> str:
    """That no table overlaps the log; with the times of both, since time zones differ."""
    from datetime import datetime

    from mgtop.record.smi.records import first_wall_ns

    text = "No row of the tables lies in the time of the log"
    first = first_wall_ns(tables)
    if contents.begin_wall_ns is None or first is None:
        return f"{text}."
    log, table = (
        datetime.fromtimestamp(ns // 1_000_000_000) for ns in (contents.begin_wall_ns, first)
    )
    return f"{text}: it begins at {log}, they at {table} (both as local time here)."


def _load(config: Path | None) -> RunConfig:
    from mgtop.config.structs import RunConfig

    if config is None:
        return RunConfig()
    from mgtop.config.load import load_config

    return load_config(config)


def _pattern(plan: RunConfig, config: Path | None) -> re.Pattern[str] | None:
    """The configuration's own pattern for log lines, if it has one."""
    from mgtop.config.load import ConfigError, located
    from mgtop.record.textlog_pattern import BadPattern, compile_pattern

    try:
        return compile_pattern(plan.frames.log)
    except BadPattern as error:
        wrong = ConfigError(str(error), str(config), key="frames.log.pattern")
        raise located(wrong, config or "") from None


def _settings(plan: RunConfig, params: dict[str, Any], *, warmup_given: bool) -> AnalysisSettings:
    """How the session is judged; the log's own fps counts before the configuration's."""
    import msgspec

    from mgtop.config.structs import Warmup

    settings = msgspec.structs.replace(plan, params=params).analysis_settings()
    if warmup_given:
        return settings
    return msgspec.structs.replace(settings, warmup=Warmup(requests=0, emits=0))


def _has_warmup(config: Path | None) -> bool:
    """Whether the configuration, or a baseline of it, speaks of warm-up at all.

    The loaded configuration cannot tell: there its default stands.
    """
    from mgtop.config.load import given_keys

    return config is not None and "warmup" in given_keys(config)


def _write(records: Iterator[Record], name: str, out: Path | None) -> Path:
    from mgtop.session.folder import claimed, create
    from mgtop.session.writer import LogWriter

    folder = create(name, {}, out, time.time_ns())
    with claimed(folder):
        writer = LogWriter(folder)
        try:
            while chunk := list(islice(records, _CHUNK)):
                writer.append(chunk)
        finally:
            writer.close()
    return folder


def _no_event(name: str, contents: LogContents, pattern: re.Pattern[str] | None) -> str:
    from mgtop.record.textlog_lines import EVENTS, SHAPE

    lines = contents.ignored + contents.malformed
    if pattern is not None:
        return f"{name}: none of {lines:,} lines matches the pattern {pattern.pattern!r}."
    events = ", ".join(sorted(EVENTS))
    return (
        f"{name}: no event in {lines:,} lines; expected lines like '{SHAPE}' with one of {events}."
    )


def _account(contents: LogContents) -> str:
    return (
        f"{contents.understood:,} events read; {contents.ignored:,} other lines, "
        f"{contents.malformed:,} malformed, {contents.duplicates:,} repeated"
    )
