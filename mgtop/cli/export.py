"""``mgtop export``: a session in another tool's format."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TextIO

import click

from mgtop.cli.errors import USAGE, UserError, say
from mgtop.cli.options import session_argument
from mgtop.cli.progress import reading_of

FORMATS = ("csv", "jsonl", "mangohud", "parquet", "perfetto", "presentmon")

_EXAMPLES = """\b
Examples:
  mgtop export stormlight --to perfetto -o trace.json    then open it at ui.perfetto.dev
  mgtop export stormlight --to csv | column -s, -t | less
  mgtop export stormlight --to mangohud -o stormlight.csv
  mgtop export stormlight --to parquet -o stormlight     a folder of five tables"""


@click.command("export", epilog=_EXAMPLES)
@session_argument()
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; without it, stdout. For parquet: the folder to make.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="mangohud, presentmon: one row per emit, instead of one per frame as it is played.",
)
@click.option(
    "--no-causes",
    is_flag=True,
    help="parquet: leave out why frames were late, which takes most of the time.",
)
def command(session: Path, to: str, output: Path | None, raw: bool, no_causes: bool) -> None:
    """Write a session in another tool's format.

    csv and jsonl have a row per emit. perfetto is a trace with spans, frames, readings and marks.
    mangohud and presentmon are frame logs as games have them: a row per frame as the viewer sees
    it, in which a stall is one long frame. parquet is a folder with frames, spans, samples, tails
    and marks, a file each; it needs the extra `parquet`.
    """
    if raw and to not in ("mangohud", "presentmon"):
        raise UserError("--raw is for --to mangohud and --to presentmon.", USAGE)
    if no_causes and to != "parquet":
        raise UserError("--no-causes is for --to parquet.", USAGE)
    _say_gaps(session)
    if to == "parquet":
        _write_tables(session, output, not no_causes)
        return
    if output is None:
        _write(session, to, raw, sys.stdout)
        return
    from mgtop.cli.whole_file import whole_file

    with whole_file(output, "-o") as beside, beside.open("w", encoding="utf-8", newline="") as file:
        _write(session, to, raw, file)
    say(f"wrote {output}.")


def _say_gaps(folder: Path) -> None:
    """What the rows begin without: a table has no place for it."""
    from mgtop.analysis.log_gaps import begin_of, told
    from mgtop.session.reader import read_all

    for gap in begin_of(read_all(folder)):
        say(f"{told(gap)}; they are not exported.")


def _write(folder: Path, to: str, raw: bool, out: TextIO) -> None:
    from mgtop.export.write import write

    with reading_of(folder) as share:
        write(folder, to, out, raw, share)


def _write_tables(folder: Path, output: Path | None, judge: bool) -> None:
    if output is None:
        raise UserError("Parquet is a folder of tables: say which one with -o FOLDER.", USAGE)
    try:
        from mgtop.export import parquet
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "mgtop":
            raise
        raise UserError(
            "--to parquet needs pyarrow: pip install 'mgtop[parquet]'.", USAGE
        ) from None
    if output.is_file():
        raise UserError(f"{output} is a file; name another folder with -o.", USAGE)
    try:
        output.mkdir(parents=True, exist_ok=True)
        if next(output.iterdir(), None) is not None:
            raise UserError(f"{output} is not empty; name a new folder with -o.", USAGE)
        with reading_of(folder) as told:
            parquet.write(folder, output, judge, told)
    except OSError as error:
        from mgtop.cli.whole_file import cannot_write

        _clear(output)
        raise cannot_write(output, error, "-o") from None
    say(f"wrote {', '.join(sorted(file.name for file in output.iterdir()))} into {output}.")


def _clear(folder: Path) -> None:
    """Take away half-written tables: nothing else is in that folder."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
