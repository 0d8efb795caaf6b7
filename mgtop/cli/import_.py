"""``mgtop import``: a text log of frame events becomes a session like any other."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from mgtop.cli.errors import UserError
from mgtop.cli.options import out

if TYPE_CHECKING:
    from mgtop.config.structs import AnalysisSettings, RunConfig
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

\b
The log's lines look like this; lines can be missing, and others are skipped:
  [req 7f3a] T+0     request_received  w=1280 h=720 steps=24 fps=16
  [req 7f3a] T+38    preprocess_done   decode=14ms resize=10ms h2d=6ms
  [req 7f3a] T+1120  first_frame_emit
  [req 7f3a] T+1168  frame_emit idx=1  dt=48
  [req 7f3a] T+2601  stream_end        frames=30"""


@click.command("import", epilog=_EXAMPLES)
@click.argument("log", type=click.File("rb"))
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    help="Run configuration: name, target fps, warm-up, thresholds, log pattern.",
)
@out
def command(log: BinaryIO, config: Path | None, out: Path | None) -> None:
    """Turn a text log of frame events into a session.

    Times in LOG are milliseconds since each request's own start; requests are laid out one
    after the other, as the file has them. No warm-up is left out unless CONFIG says so. The
    session folder's path is the last line of the output. LOG may be - for standard input. A
    copy of it is kept in the session.
    """
    import msgspec

    from mgtop.record.from_config import kept_yaml
    from mgtop.record.launch import CONFIG_FILE
    from mgtop.record.output import OUTPUT_FILE
    from mgtop.record.textlog_session import read_log, session_records
    from mgtop.session.secrets import mask

    plan = _load(config)
    pattern = _pattern(plan, config)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        shutil.copyfileobj(log, copy)
        copy.seek(0)
        contents = read_log(cast("BinaryIO", copy), pattern)
        if not contents.understood:
            raise UserError(_no_event(log.name, contents, pattern))
        params = {**plan.params, **contents.params}
        settings = _settings(plan, params, warmup_given=_has_warmup(config))
        name = plan.name or (Path(log.name).stem if log.name not in ("-", "<stdin>") else "stdin")
        folder = _write(session_records(contents, name, mask(params), settings), name, out)
        copy.seek(0)
        with (folder / OUTPUT_FILE).open("wb") as file:
            shutil.copyfileobj(copy, file)
    if config is not None:
        used = msgspec.structs.replace(plan, name=name, params=params, warmup=settings.warmup)
        (folder / CONFIG_FILE).write_text(kept_yaml(used, config), encoding="utf-8")
    click.echo(_account(contents), err=True)
    click.echo(folder)


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
    from mgtop.session.folder import create
    from mgtop.session.writer import LogWriter

    folder = create(name, {}, out, time.time_ns())
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
