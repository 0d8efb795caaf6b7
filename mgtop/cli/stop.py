"""``mgtop stop``: end a recording, or its target too."""

from __future__ import annotations

import time
from pathlib import Path

import click

from mgtop.cli.errors import INTERNAL, OK, say
from mgtop.cli.options import session_argument

_EXAMPLES = """\b
Examples:
  mgtop stop stormlight            the program goes on, unrecorded
  mgtop stop stormlight --target   the program is stopped, too"""

_PATIENCE_S = 20.0  # TERM, ten seconds, KILL, and what the kernel needs to clear up


@click.command("stop", epilog=_EXAMPLES, short_help="End a recording, or its target too.")
@session_argument()
@click.option(
    "--target",
    is_flag=True,
    help="Stop the program as well: TERM, and KILL for what is still there after 10 s.",
)
def command(session: Path, target: bool) -> int:
    """End the recording of a live session.

    The program that was being recorded goes on, unless --target is given. Where its recorder
    has died, --target still stops the program.
    """
    from mgtop.session.lock import is_live
    from mgtop.session.stop import NotLive, request_stop

    try:
        request_stop(session, target)
    except NotLive as error:
        if target:
            return _stop_orphan(session)
        click.echo(f"{error}; nothing to stop.")
        return OK
    deadline = time.monotonic() + _PATIENCE_S
    while is_live(session):
        if time.monotonic() > deadline:
            say(f"{session.name} has not ended after {_PATIENCE_S:.0f} s; see its recorder.log.")
            return INTERNAL
        time.sleep(0.05)
    if target:
        click.echo(f"{session.name}: the program was stopped, the recording has ended.")
    else:
        click.echo(f"{session.name}: the recording has ended; the program goes on.")
    return OK


def _stop_orphan(session: Path) -> int:
    """Stop a program whose recorder has gone."""
    from mgtop.record.orphan import stop_orphan

    stopped = stop_orphan(session)
    if stopped is None:
        click.echo(f"{session.name} is not being recorded, and its program has ended.")
        return OK
    if not stopped:
        say(f"the program of {session.name} could not be stopped.")
        return INTERNAL
    click.echo(f"{session.name}: the program was stopped; its recorder had ended before.")
    return OK
