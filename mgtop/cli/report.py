"""``mgtop report``: what a session shows, as text, Markdown or JSON."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mgtop.cli.errors import NOT_MET, OK, USAGE, UserError, say
from mgtop.cli.options import as_json, session_argument, with_schema
from mgtop.cli.progress import reading_of

if TYPE_CHECKING:
    from mgtop.analysis.summary import Summary

_WIDTH = 80


_EXAMPLES = """\b
Examples:
  mgtop report stormlight
  mgtop report stormlight --json | jq .interval_ms.p95
  mgtop report stormlight --gate 'interval_ms.p95 < 80' --gate 'tails.count == 0'
  mgtop report stormlight --markdown > report.md
  mgtop report stormlight --html report.html
  mgtop report stormlight --memory-csv >> memory.csv
  mgtop report stormlight --segments"""


@click.command("report", epilog=_EXAMPLES)
@session_argument()
@as_json
@with_schema
@click.option(
    "--gate",
    "gates",
    metavar="EXPR",
    multiple=True,
    help="Condition, as 'interval_ms.p95 < 80'; exit code 1 if not met.",
)
@click.option("--markdown", is_flag=True, help="Markdown of at most 60 kB, for a bug report.")
@click.option(
    "--html",
    "html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="One HTML file that needs nothing else: curves, late frames with evidence, data.",
)
@click.option("--memory-csv", is_flag=True, help="Memory by stage as CSV, nothing else.")
@click.option(
    "--segments",
    is_flag=True,
    help="Ask the running program for a map of its GPU allocator's segments, and say what it says.",
)
def command(
    session: Path,
    as_json: bool,
    gates: tuple[str, ...],
    markdown: bool,
    html: Path | None,
    memory_csv: bool,
    segments: bool,
) -> int:
    """Say what a session shows: verdict, figures, tails and causes.

    SESSION is a folder, or a unique part of a session's name. A session that is still being
    recorded is reported as far as it goes.
    """
    from mgtop.report.gates import GateError, evaluate_all, parse_gate
    from mgtop.report.load import summarise

    if as_json + markdown + (html is not None) + memory_csv + segments > 1:
        raise UserError(
            "Give one of --json, --markdown, --html, --memory-csv and --segments.", USAGE
        )
    if segments:
        return _print_segments(session)
    try:
        for gate in gates:
            parse_gate(gate)
    except GateError as error:
        raise UserError(str(error), USAGE) from None
    if as_json:
        from mgtop.report import json

        with reading_of(session) as told:
            summary = summarise(session, told)
        click.echo(json.render(summary), nl=False)
    elif markdown:
        from mgtop.report import markdown as page

        with reading_of(session) as told:
            summary = summarise(session, told)
        click.echo(page.render(summary), nl=False)
    elif html is not None:
        summary = _write_html(session, html)
    elif memory_csv:
        from mgtop.report import memory_csv as csv

        with reading_of(session) as told:
            summary = summarise(session, told)
        click.echo(csv.render(summary), nl=False)
    else:
        summary = _print(session)
    try:
        results = evaluate_all(gates, summary)
    except GateError as error:
        raise UserError(str(error), USAGE) from None
    for result in results:
        say(result.message)
    return OK if all(result.passed for result in results) else NOT_MET


def _print(session: Path) -> Summary:
    from mgtop.report import text
    from mgtop.report.load import read

    width = _WIDTH
    if sys.stdout.isatty():
        width = min(width, shutil.get_terminal_size().columns)
    with reading_of(session) as told:
        reading = read(session, told)
    click.echo(text.render(reading.summary, width, reading.plot), nl=False)
    return reading.summary


def _write_html(session: Path, file: Path) -> Summary:
    from mgtop.cli.whole_file import whole_file
    from mgtop.report.html import render
    from mgtop.report.load import picture

    if file.is_dir():
        raise UserError(f"{file} is a folder; name a file, as in: --html {file}/report.html")
    with reading_of(session) as told:
        summary, view = picture(session, told)
    with whole_file(file, "--html") as beside:
        beside.write_text(render(summary, view), encoding="utf-8")
    say(f"wrote {file}.")
    return summary


def _print_segments(session: Path) -> int:
    """Ask for a map of segments, keep it as a snapshot, and print what it says."""
    from mgtop.record.segment_request import CannotAsk, wait_for_segments
    from mgtop.report.segment_maps import describe_maps
    from mgtop.session.snapshots import new_snapshot

    try:
        into = new_snapshot(session)
    except OSError as error:
        raise UserError(f"{session} cannot be written to: {error.strerror}.", USAGE) from None
    try:
        taken = wait_for_segments(session, into.name, into)
    except CannotAsk as error:
        into.rmdir()
        raise UserError(f"No segment map: {error}.", NOT_MET) from None
    if not taken:
        into.rmdir()
        raise UserError(
            "No segment map came within 3 s: the program made no frame, or its torch uses no "
            "GPU allocator with segments.",
            NOT_MET,
        )
    for text in describe_maps(taken):
        click.echo(text, nl=False)
    say(f"kept in {into}")
    return OK
