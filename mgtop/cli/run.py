"""``mgtop run``: launch a program and monitor it."""

from __future__ import annotations

import os
import shlex
import shutil
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mgtop.cli.errors import UserError, say
from mgtop.cli.options import fps, recording_options

if TYPE_CHECKING:
    from mgtop.config import RunConfig

_COMMAND = "mgtop.command"
PROJECT_FILE = "mgtop.yaml"
_YAML = (".yaml", ".yml")

_EXAMPLES = """\b
Examples:
  mgtop run -- python infer.py --steps 24
  mgtop run steps24.yaml --set params.steps=16
  mgtop run ~/src/Matrix-Game-3.5              uses mgtop.yaml there
  mgtop run steps24.yaml --headless --seconds 120 --gate 'interval_ms.p95 < 80'"""


class RunCommand(click.Command):
    """Keeps what follows ``--`` apart: it is the program's, not ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--``."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(
    "run",
    cls=RunCommand,
    epilog=_EXAMPLES,
    options_metavar="[OPTIONS]",
    short_help="Launch a program and monitor it.",
)
@click.argument("config", metavar="CONFIG | -- COMMAND...", nargs=-1, required=False)
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a configuration key."
)
@click.option(
    "--gate",
    "gates",
    metavar="EXPR",
    multiple=True,
    help="Condition on the report, as 'interval_ms.p95 < 80'; exit code 1 if not met.",
)
@click.option("--name", metavar="NAME", help="Name of the session.")
@click.option(
    "--profile",
    metavar="NAME[:ENTRY]",
    help="Known project whose hooks and settings fill in what is not given (mgtop init --list).",
)
@fps
@recording_options
@click.pass_context
def command(
    ctx: click.Context,
    config: tuple[str, ...],
    overrides: tuple[str, ...],
    gates: tuple[str, ...],
    name: str | None,
    profile: str | None,
    fps: float | None,
    headless: bool,
    seconds: float | None,
    out: Path | None,
) -> int:
    """Launch a program and monitor it.

    CONFIG is a configuration file, or a folder with an mgtop.yaml ("mgtop init" writes one);
    without one, give the command itself after "--". The session goes on when the screen is
    closed or its terminal is lost. With --seconds the program, too, is stopped after that
    time; with --headless its output appears on stderr, and its standard input and signals are
    passed through.
    """
    from mgtop.cli.conduct import conduct
    from mgtop.config.load import ConfigError, located
    from mgtop.record.from_config import config_yaml, plan_from

    settings, path = _configuration(ctx.meta.get(_COMMAND), config, overrides, profile)
    _check_text(name or "", "" if ctx.meta.get(_COMMAND) else str(path))
    stdin: Literal["null", "inherit"] = "inherit" if headless else "null"
    try:
        plan = plan_from(settings, path, name=name, seconds=seconds, stdin=stdin)
        kept = config_yaml(settings, path, plan)
        _check_gates(settings, path)
    except ConfigError as error:
        raise located(error, path, overrides) from None
    return conduct(
        plan,
        headless=headless,
        out=out,
        fps=fps,
        varied=_varied(settings, path),
        config_yaml=kept,
        gates=[*settings.gate, *gates],
    )


def _check_text(*texts: str) -> None:
    """A session is kept as text, so what cannot be text cannot be run under it."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(f"{text!r} is not UTF-8 text; mgtop cannot record that.") from None


def _check_gates(settings: RunConfig, path: Path) -> None:
    from mgtop.config.load import ConfigError
    from mgtop.report.gates import GateError, parse_gate

    for number, text in enumerate(settings.gate):
        try:
            parse_gate(text)
        except GateError as error:
            raise ConfigError(str(error), str(path), key=f"gate[{number}]") from None


def _varied(settings: RunConfig, path: Path) -> dict[str, Any]:
    """What differs from the baseline, for the session's name; more than one thing is said."""
    from mgtop.config.differences import from_baseline, varied
    from mgtop.session.secrets import mask

    found = from_baseline(settings, path) or {}
    before, after = (mask({key: both[n] for key, both in found.items()}) for n in (0, 1))
    if len(found) > 1:
        named = ", ".join(_change(key, before[key], after[key]) for key in found)
        say(
            f"{path} differs from its baseline {settings.baseline} in {len(found)} things, so "
            f"what is seen cannot be put down to one of them: {named}"
        )
    return {
        key: after if _is_plain(after) else "changed" for key, after in mask(varied(found)).items()
    }


def _change(key: str, before: Any, after: Any) -> str:
    if not (_is_plain(before) and _is_plain(after)):
        return key
    return f"{key} ({'n/a' if before is None else before} → {'n/a' if after is None else after})"


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= 4 and all(map(_is_plain, value))
    return not isinstance(value, dict) and len(str(value)) <= 40


def _configuration(
    given: list[str] | None,
    config: tuple[str, ...],
    overrides: tuple[str, ...],
    profile: str | None,
) -> tuple[RunConfig, Path]:
    """What to run, and the file that relative paths start from."""
    from mgtop.cli.profiles import filled_in, in_repository, unknown_folder
    from mgtop.config.load import build_config, load_config
    from mgtop.record.from_config import config_for_command

    if given is not None:
        if config:
            raise UserError(
                f"Give a configuration or a command, not both: {config[0]!r} stands before --."
            )
        if not given:
            raise UserError("There is no command after --, as in: mgtop run -- python infer.py")
        try:
            here = Path.cwd()
        except FileNotFoundError:
            message = "The folder that you are in was deleted; go to another one first."
            raise UserError(message) from None
        under = filled_in(profile, has_command=True)
        return build_config(config_for_command(given), overrides, under), here / "command"
    if not config:
        raise UserError(
            "Say what to run: a configuration file, a folder with an mgtop.yaml, "
            "or a command after --, as in: mgtop run -- python infer.py"
        )
    path = Path(config[0])
    there = os.path.exists(path)  # unlike Path.exists, takes a name of any length
    if len(config) > 1 and there and path.suffix in _YAML:
        raise UserError(
            f"{config[1]!r} is too much: there is one CONFIG, whose command holds the program's "
            "own arguments (--set params.NAME=VALUE changes one that it is filled with)."
        )
    if len(config) > 1 or (not there and shutil.which(config[0])):
        raise UserError(f"Put -- before a command: mgtop run -- {shlex.join(config)}")
    if os.path.isdir(path):
        path = path / PROJECT_FILE
        there = os.path.exists(path)
        if not there and profile is not None:
            return in_repository(profile, path.parent, overrides), path
        if not there:
            raise unknown_folder(path.parent)
    if not there and os.path.islink(path):
        raise UserError(f"The configuration {str(path)!r} is a link that leads nowhere.")
    if not there:
        raise UserError(f"There is no configuration {str(path)!r}{_near(path)}")
    if program := _program(path):
        raise UserError(f"{path} is a program; put its command after --: mgtop run -- {program}")
    return load_config(path, list(overrides), filled_in(profile, config=path)), path


def _near(path: Path) -> str:
    """The end of the sentence: a configuration of nearly that name, as a question."""
    try:
        names = [name for name in os.listdir(path.parent) if name.endswith(_YAML)]
    except OSError:
        return "."
    by_stem = {Path(name).stem: path.with_name(name) for name in names}
    close = get_close_matches(path.stem, by_stem, 1)
    return f"; did you mean {str(by_stem[close[0]])!r}?" if close else "."


def _program(path: Path) -> str | None:
    """How to start what was named instead of a configuration; None where it may be one."""
    if path.suffix == ".py":
        return shlex.join(["python", str(path)])
    if path.suffix == ".sh" or (
        path.suffix not in _YAML and path.is_file() and os.access(path, os.X_OK)
    ):
        return shlex.quote(str(path) if "/" in str(path) else f"./{path}")
    return None
