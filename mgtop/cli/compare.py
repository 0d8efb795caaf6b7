"""``mgtop compare``: sessions side by side."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from mgtop.cli.errors import NOT_MET, OK, USAGE, UserError, say
from mgtop.cli.options import as_json, session_argument, with_schema

_WIDTH = 80

_EXAMPLES = """\b
Examples:
  mgtop compare steps=24 steps=16
  mgtop compare before after --json | jq '.metrics."interval_ms.p95"'
  mgtop compare main branch --gate 'interval_ms.p95.change_percent < 10'"""


@click.command(
    "compare", epilog=_EXAMPLES, short_help="Put sessions side by side and name what differs."
)
@session_argument(many=True)
@as_json
@with_schema
@click.option(
    "--gate",
    "gates",
    metavar="EXPR",
    multiple=True,
    help="Condition, as 'interval_ms.p95.change_percent < 10'; exit code 1 if not met.",
)
def command(sessions: tuple[Path, ...], as_json: bool, gates: tuple[str, ...]) -> int:
    """Put sessions side by side and name what differs.

    The first one is what the others are held against. Every parameter that differs is named;
    every change has an interval from resampling, so that noise is not called a change. In a
    gate, METRIC is a figure of the table, with .change_percent, .low or .high behind it for
    the change and its interval.
    """
    if len(sessions) < 2:
        raise UserError("Name two sessions or more; mgtop ls lists them.")
    from mgtop.report.gates import GateError
    from mgtop.rounds import compare_gates
    from mgtop.rounds.compare import compare, render

    try:
        for gate in gates:
            compare_gates.check(gate)
        found = compare(sessions)
        results = compare_gates.evaluate(gates, found)
    except GateError as error:
        raise UserError(str(error), USAGE) from None
    if as_json:
        click.echo(render(found), nl=False)
    else:
        from mgtop.rounds import compare_text

        width = _WIDTH
        if sys.stdout.isatty():
            width = min(width, shutil.get_terminal_size().columns)
        click.echo(compare_text.render(found, width), nl=False)
    for result in results:
        say(result.message)
    return OK if all(result.passed for result in results) else NOT_MET
