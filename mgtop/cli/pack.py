"""``mgtop pack``: a session as one file to send."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from mgtop.cli.errors import NOT_WRITTEN, OK, USAGE, UserError, say
from mgtop.cli.options import session_argument

_EXAMPLES = """\b
Examples:
  mgtop pack stormlight
  mgtop pack stormlight --redact -o for-the-bug-report.mgtop.zip
  mgtop view stormlight.mgtop.zip"""


@click.command("pack", epilog=_EXAMPLES)
@session_argument()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; without it, NAME.mgtop.zip here.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Also hide what the program and people wrote: output, marks, request ids, texts among "
    "the parameters.",
)
@click.option("--list", "only_list", is_flag=True, help="List what would be masked; write nothing.")
def command(session: Path, output: Path | None, redact: bool, only_list: bool) -> int:
    """Put a session into one file to send.

    Environment variables, tokens, names in home folders, user and host names are masked; what
    was masked, how often and where, is listed before anything is written. The session itself
    stays as it is. The file takes the place of SESSION in view, report, compare and export.
    """
    from mgtop.session.pack.write import SUFFIX, StillThere, prepare, write

    name = session.name.removesuffix(SUFFIX)
    to = output or Path(f"{name}{SUFFIX}")
    if to.is_dir():
        raise UserError(f"{to} is a folder; name a file, as in: -o {to}/{name}{SUFFIX}", USAGE)
    with tempfile.TemporaryDirectory(prefix="mgtop-pack-") as scratch:
        try:
            packed = prepare(session, Path(scratch), strict=redact)
        except StillThere as error:
            raise UserError(
                f"Nothing was written: {error}, and it was to be masked. Please report this.", 1
            ) from None
        except OSError as error:
            raise UserError(f"{session} cannot be packed: {error}.", NOT_WRITTEN) from None
        for line in packed.listed() or ["nothing"]:
            click.echo(f"masked   {line}")
        for line in packed.left_out:
            click.echo(f"left out {line}")
        if packed.unknown:
            click.echo(f"left out {packed.unknown:,} records of a newer version of mgtop")
        if not redact:
            click.echo(
                "kept     the program's output, command, parameters and marks, but for the above; "
                "--redact hides them, too"
            )
        if only_list:
            return OK
        try:
            size = write(packed, name, to)
        except OSError as error:
            raise UserError(f"{to} cannot be written ({error.strerror}).", NOT_WRITTEN) from None
    say(f"wrote {to}, {size / 1024:,.0f} KiB; it opens with: mgtop view {to}")
    return OK
