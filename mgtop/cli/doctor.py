"""``mgtop doctor``: what works on this machine, what does not, and why."""

from __future__ import annotations

import os
import shutil

import click

from mgtop.cli.errors import NOT_MET, OK
from mgtop.cli.options import as_json, with_schema

_EXAMPLES = """\b
Examples:
  mgtop doctor
  mgtop doctor --json | jq '.findings[] | select(.state != "ok") | {id, reason, remedy}'
  mgtop doctor --json | jq '.nvml.readings[] | {name, cost_us, period_ms, ms_per_s}'

Keys of the JSON: schema, mgtop, works, counts {ok, weak, missing}, findings [{id, area, name,
state, value, reason, remedy, essential, measured}], nvml {driver, cuda, gpus, readings,
processes, ms_per_s, reason, hanging}."""

_COLOURS = {"ok": "green", "weak": "yellow", "missing": "red"}


@click.command("doctor", epilog=_EXAMPLES)
@as_json
@with_schema
def command(as_json: bool) -> int:
    """Say what works on this machine, what does not, and why.

    Every source and prerequisite is tried, with the remedy for what is weak or missing, and
    the cost of each reading of the GPU is measured here. It takes less than three seconds,
    also where the GPU's driver hangs. Exit code 1: nothing can be recorded here, since pipes
    or sessions cannot be written. No GPU is no failure.
    """
    from mgtop.record.health import examine_machine

    examined = examine_machine()
    if as_json:
        from mgtop.report.json_text import json_text

        click.echo(json_text(examined), nl=False)
    else:
        from mgtop.record.health.text import render

        plain = bool(os.environ.get("NO_COLOR"))

        def paint(state: str, text: str) -> str:
            return text if plain else click.style(text, fg=_COLOURS[state])

        click.echo(render(examined, shutil.get_terminal_size((80, 24)).columns, paint))
    return OK if examined.works else NOT_MET
