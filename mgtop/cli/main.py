"""The ``mgtop`` command: finds the subcommand, runs it, and turns its outcome into an exit code.

A subcommand is a module of this package with a ``command`` (a :class:`click.Command`); it is
imported only when it is used. A command ends by returning (None, or its exit code as an
``int``), or by raising :class:`mgtop.cli.errors.UserError`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import click

from mgtop.cli.errors import (
    INTERRUPTED,
    OK,
    exit_code_of,
    message_of,
    report_unexpected,
    say,
)

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Run the bundled streaming generator under the monitor."),
    "run": ("run", "Launch a program and monitor it."),
    "attach": ("attach", "Monitor a running process and its descendants; leave them running."),
    "stop": ("stop", "End the recording of a live session."),
    "view": ("view", "Open a live or recorded session on the screen."),
    "ls": ("ls", "List sessions, live ones first, then the newest first."),
    "report": ("report", "Say what a session shows: verdict, figures, tails and causes."),
    "compare": ("compare", "Put sessions side by side and name what differs."),
    "sweep": ("sweep", "Run rounds that differ in one parameter, or a matrix of two."),
    "fallback": ("fallback", "Step down one notch at a time until the tails are gone."),
    "check": ("check", "Hold a repository's requirements against this machine."),
    "smoke": ("smoke", "Do the smallest run and check that it really produced a frame."),
    "init": ("init", "Write a starting mgtop.yaml for a model repository."),
    "import": ("import_", "Turn a text log of frame events into a session."),
    "compact": ("compact", "Make the logs of ended sessions smaller."),
    "prune": ("prune", "Drop the oldest of long logs, or the oldest sessions."),
    "export": ("export", "Write a session in another tool's format."),
    "pack": ("pack", "Put a session into one file to send."),
    "metrics": ("metrics", "Offer live sessions to Prometheus."),
    "serve": ("serve", "Show the dashboard in a browser."),
    "doctor": ("doctor", "Say what works on this machine, what does not, and why."),
}
"""Command → (module in this package, summary), in the order of the help page.

The summary equals the command's own short help; it stands here so that the help page needs
no imports."""


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are used, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands whose modules are there, in the order of the table."""
        return [name for name, (module, _) in COMMANDS.items() if _is_there(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None or not _is_there(entry[0]):
            return None
        command = importlib.import_module(f"mgtop.cli.{entry[0]}").command
        assert isinstance(command, click.Command), f"mgtop.cli.{entry[0]}.command"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows = [(name, COMMANDS[name][1]) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a name that is none, name the nearest ones."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"There is no command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


def _is_there(module: str) -> bool:
    return find_spec(f"mgtop.cli.{module}") is not None


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from mgtop import __version__

        click.echo(f"mgtop {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: mgtop demo    Then: mgtop run -- python infer.py",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """Why did that frame come late?

    mgtop monitors a streaming frame generator, live in the terminal, and names the cause of
    each late frame with its evidence.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _invoke(args: list[str]) -> object:
    """What :meth:`click.Command.main` does, but for its exits: those are ours to decide."""
    instruction = os.environ.get("_MGTOP_COMPLETE")
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "mgtop", "_MGTOP_COMPLETE", instruction)
    try:
        with group.make_context("mgtop", args) as context:
            return group.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


def run(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing but SystemExit gets out.

    Set ``MGTOP_DEBUG=1`` to see tracebacks of unexpected errors.
    """
    _never_fail_on_encoding()
    try:
        result = _invoke(sys.argv[1:] if args is None else list(args))
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        say("interrupted.")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        return _leave_quietly()
    except Exception as error:
        code = exit_code_of(error)
        if code is not None:
            say(message_of(error))
            return code
        if os.environ.get("MGTOP_DEBUG", "") not in ("", "0"):
            raise
        return report_unexpected(error)
    return result if isinstance(result, int) and not isinstance(result, bool) else OK


def _leave_quietly() -> int:
    """The reader of our output went away (``mgtop report … | head``): that is no failure."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return OK


def _never_fail_on_encoding() -> None:
    """Where the terminal is not UTF-8, print a replacement instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and (stream.encoding or "").lower() not in ("utf-8", "utf8"):
            reconfigure(errors="replace")


def _open_standard_streams() -> None:
    """Where a standard stream was closed, put nothing in its place.

    Otherwise the next file that is opened gets its number, and is written to by mistake.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode))


def main() -> None:
    """Entry point of the ``mgtop`` script."""
    _open_standard_streams()
    sys.exit(run())
