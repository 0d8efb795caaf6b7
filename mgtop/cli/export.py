"""``mgtop export``: a session in another tool's format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import click

from mgtop.cli.errors import USAGE, UserError, say
from mgtop.cli.options import session_argument

FORMATS = ("csv", "jsonl", "mangohud", "perfetto", "presentmon")

_EXAMPLES = """\b
Examples:
  mgtop export stormlight --to perfetto -o trace.json    then open it at ui.perfetto.dev
  mgtop export stormlight --to csv | column -s, -t | less
  mgtop export stormlight --to mangohud -o stormlight.csv"""


@click.command("export", epilog=_EXAMPLES)
@session_argument()
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; without it, stdout.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="mangohud, presentmon: one row per emit, instead of one per frame as it is played.",
)
def command(session: Path, to: str, output: Path | None, raw: bool) -> None:
    """Write a session in another tool's format.

    csv and jsonl have a row per emit. perfetto is a trace with spans, frames, readings and marks.
    mangohud and presentmon are frame logs as games have them: a row per frame as the viewer sees
    it, in which a stall is one long frame.
    """
    if raw and to not in ("mangohud", "presentmon"):
        raise UserError("--raw is for --to mangohud and --to presentmon.", USAGE)
    if output is None:
        _write(session, to, raw, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as file:
            _write(session, to, raw, file)
    except OSError as error:
        raise UserError(f"{output}: {error.strerror}; name another file with -o.", USAGE) from None
    say(f"wrote {output}.")


def _write(folder: Path, to: str, raw: bool, out: TextIO) -> None:
    from mgtop.export.write import write

    write(folder, to, out, raw)
