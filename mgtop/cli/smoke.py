"""``mgtop smoke``: the smallest run, with criteria that show whether a program works at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mgtop.cli.errors import NOT_MET, OK, UserError, say
from mgtop.cli.options import as_json, out, seconds, with_schema

if TYPE_CHECKING:
    from mgtop.config import RunConfig

PROJECT_FILE = "mgtop.yaml"

_EXAMPLES = """\b
Examples:
  mgtop smoke steps24.yaml
  mgtop smoke ~/src/Matrix-Game-3.5            uses mgtop.yaml there
  mgtop smoke steps24.yaml --json | jq '{passed, failure, failure_text, cold, warm}'

\b
In the configuration, the smallest run that writes a picture:
  smoke: {command: [python, infer.py, --steps, "1"], output: out/frame.png}"""


@click.command("smoke", epilog=_EXAMPLES)
@click.argument("config", metavar="CONFIG", type=click.Path(path_type=Path))
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a configuration key."
)
@click.option(
    "--profile",
    metavar="NAME[:ENTRY]",
    help="Known project whose command and hooks fill in what is not given (mgtop init --list).",
)
@seconds
@out
@as_json
@with_schema
def command(
    config: Path,
    overrides: tuple[str, ...],
    profile: str | None,
    seconds: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Do the smallest run and check that it really produced a frame.

    It passes only if a sign of loaded weights was seen, an output path was reported, that
    file is new, opens, has the right size and is not of one colour, the exit code is 0, and
    no error was printed. The first, cold frame and the second, warm one are timed apart, with
    the GPU waited for at the borders. Without "smoke:" in CONFIG its own command is run, with
    the smallest values that its "fallback:" lists. With --seconds it has failed after that
    time (default: 1800). Exit code 1: it failed; the report names why: no CUDA, out of memory,
    a bad weights path, or other.
    """
    from mgtop.config.load import ConfigError, located
    from mgtop.preflight.smoke import run
    from mgtop.preflight.smoke.whole_run import LIMIT_S
    from mgtop.record.launch import LaunchError

    settings, path = _configuration(config, overrides, profile)
    try:
        result = run(
            settings,
            path,
            out=out,
            seconds=LIMIT_S if seconds is None else seconds,
            on_start=lambda folder: say(f"running; its output is in {folder / 'stdout.log'}"),
        )
    except ConfigError as error:
        raise located(error, path, overrides) from None
    except LaunchError as error:
        raise UserError(str(error), error.code) from None
    if as_json:
        from mgtop.report.json_text import json_text

        click.echo(json_text(result), nl=False)
    else:
        from mgtop.preflight.smoke.text import render

        plain = bool(os.environ.get("NO_COLOR"))

        def paint(good: bool, text: str) -> str:
            return text if plain else click.style(text, fg="green" if good else "red")

        click.echo(render(result, shutil.get_terminal_size((80, 24)).columns, paint))
    return OK if result.passed else NOT_MET


def _configuration(
    config: Path, overrides: tuple[str, ...], profile: str | None
) -> tuple[RunConfig, Path]:
    """The configuration that was named, or that a profile gives, and its file."""
    from mgtop.cli.profiles import filled_in, in_repository, unknown_folder
    from mgtop.config.load import load_config

    path = config / PROJECT_FILE if config.is_dir() else config
    if path.exists():
        return load_config(path, list(overrides), filled_in(profile, config=path)), path
    if not config.is_dir():
        raise UserError(f"There is no configuration {str(path)!r}.")
    if profile is None:
        raise unknown_folder(config)
    return in_repository(profile, config, overrides), path
