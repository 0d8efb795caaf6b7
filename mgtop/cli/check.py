"""``mgtop check``: a repository's stated requirements against this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from mgtop.cli.errors import NOT_MET, OK, UserError
from mgtop.cli.options import as_json, with_schema

_EXAMPLES = """\b
Examples:
  mgtop check ~/src/Matrix-Game-3.5
  mgtop check ~/src/Wan2.2 --python ~/miniconda3/envs/wan/bin/python
  mgtop check . --json | jq -r '.unmet[] | "\\(.file):\\(.line) \\(.quote)"'"""

_COLOURS = {"met": "green", "marginal": "yellow", "unmet": "red", "unknown": "cyan"}


@click.command("check", epilog=_EXAMPLES)
@click.argument("repository", metavar="REPO", type=click.Path(path_type=Path))
@click.option(
    "--python",
    metavar="PATH",
    help="The model's Python: its version, torch and packages are checked, and whether CUDA "
    "is available to it.",
)
@as_json
@with_schema
@click.option("--markdown", is_flag=True, help="A Markdown table.")
@click.option("--all", "full", is_flag=True, help="Show packages that are met, too.")
def command(repository: Path, python: str | None, as_json: bool, markdown: bool, full: bool) -> int:
    """Hold a repository's requirements against this machine.

    Its README, requirement, environment and project files and Dockerfiles are read (nothing of
    it is run), and every sentence about GPU memory, CUDA, driver, PyTorch, Python, system, RAM
    and disk is quoted with this machine's value beside it: met, marginal, unmet or unknown.
    Exit code 1: something that is required is unmet.
    """
    if as_json and markdown:
        raise UserError("Give --json or --markdown, not both.")
    from mgtop.preflight.check import CannotCheck, check

    try:
        checked = check(repository, python)
    except CannotCheck as error:
        raise UserError(str(error)) from None
    if as_json:
        from mgtop.report.json_text import json_text

        click.echo(json_text(checked), nl=False)
    elif markdown:
        from mgtop.preflight.check.markdown import render as render_markdown

        click.echo(render_markdown(checked))
    else:
        from mgtop.preflight.check.text import render

        plain = bool(os.environ.get("NO_COLOR"))

        def paint(verdict: str, text: str) -> str:
            return text if plain else click.style(text, fg=_COLOURS[verdict])

        click.echo(render(checked, shutil.get_terminal_size((80, 24)).columns, paint, full=full))
    return OK if checked.passed else NOT_MET
