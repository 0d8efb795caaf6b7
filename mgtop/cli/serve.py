"""``mgtop serve``: the screen of a session in a browser."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from mgtop.cli.errors import USAGE, UserError, say
from mgtop.cli.options import Address, fps, listen
from mgtop.cli.view import ViewedType, newest_unless

DEFAULT = Address("127.0.0.1", 8642)


@click.command(
    "serve",
    epilog="\b\nExamples:\n  mgtop serve\n  mgtop serve stormlight --readonly --listen :9000\n"
    "  ssh -L 8642:localhost:8642 gpu-box mgtop serve    then open http://localhost:8642/\n",
)
@click.argument("session", metavar="[SESSION]", type=ViewedType(), required=False)
@listen(DEFAULT)
@fps
@click.option("--readonly", is_flag=True, help="No marks, no snapshots, no stopping.")
def command(session: Path | None, listen: Address, fps: float | None, readonly: bool) -> None:
    """Show the dashboard in a browser.

    Without SESSION, the live session that was started last. Each tab has a view of its own and
    ends it; leaving them all leaves target and recording alone. There is no password: the page
    is offered to this machine alone, unless --listen says otherwise. Needs the extra `serve`.
    """
    try:
        from mgtop.report.loopback import is_loopback
        from mgtop.view.browser.server import ViewServer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mgtop", "textual"):
            raise
        raise UserError(
            "mgtop serve needs textual-serve: pip install 'mgtop[serve]'.", USAGE
        ) from None
    from mgtop.session.folder import word_for

    folder = newest_unless(session)
    listener = listen.bind()
    host, port = listener.getsockname()[:2]
    only_here = is_loopback(host)
    if not only_here:
        may = "see this session" if readonly else "see this session and stop its program"
        ending = "." if readonly else "; with --readonly they can only look."
        say(f"warning: whoever reaches {Address(host, port)} can {may}: no password{ending}")
    name = word_for(folder)
    os.environ["TERM"] = "xterm-256color"  # the browser's, whatever this terminal is
    server = ViewServer(
        _view(folder, fps, readonly), f"mgtop {name}", listener, only_here=only_here
    )
    shown = Address(host, port)
    click.echo(f"{name} is at http://{shown}/   Ctrl-C ends that; target and recording go on.")
    sys.stdout.flush()
    server.serve()


def _view(folder: Path, fps: float | None, readonly: bool) -> str:
    """What each tab starts, as a shell command."""
    words = [sys.executable, "-m", "mgtop", "view", str(folder.resolve())]
    words += ["--fps", f"{fps:g}"] if fps is not None else []
    words += ["--readonly"] if readonly else []
    return f"exec {shlex.join(words)}"
