"""``mgtop report``: what a session shows, as text or JSON."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from mgtop.cli.options import as_json, session_argument

_WIDTH = 80


_EXAMPLES = """\b
Examples:
  mgtop report stormlight
  mgtop report stormlight --json | jq .interval_ms.p95"""


@click.command("report", epilog=_EXAMPLES)
@session_argument()
@as_json
def command(session: Path, as_json: bool) -> None:
    """Say what a session shows: verdict, figures, tails and their causes.

    SESSION is a folder, or a unique part of a session's name. A session that is still being
    recorded is reported as far as it goes.
    """
    from mgtop.report.load import read, summarise

    if as_json:
        from mgtop.report import json

        click.echo(json.render(summarise(session)), nl=False)
        return
    from mgtop.report import text
    from mgtop.report.plot import columns_for

    width = _WIDTH
    if sys.stdout.isatty():
        width = min(width, shutil.get_terminal_size().columns)
    reading = read(session, columns_for(width))
    click.echo(text.render(reading.summary, width, reading.plot), nl=False)
