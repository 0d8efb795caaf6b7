"""``mgtop view``: open a live or recorded session."""

from __future__ import annotations

from pathlib import Path

import click

from mgtop.cli.errors import USAGE, UserError
from mgtop.cli.options import fps, session_argument
from mgtop.cli.terminal import need_terminal


@click.command(
    "view",
    epilog="\b\nExamples:\n  mgtop view\n  mgtop view stormlight --fps 1\n",
)
@session_argument(required=False)
@fps
@click.option("--readonly", is_flag=True, help="No marks, no snapshots, no stopping.")
def command(session: Path | None, fps: float | None, readonly: bool) -> None:
    """Open a live or recorded session on the screen.

    Without SESSION, the live session that was started last. Leaving the view leaves target
    and recording alone, unless you say otherwise; several views of a session may be open.
    """
    need_terminal("mgtop report prints what a session shows")
    if session is None:
        from mgtop.session.folder import newest_live

        entry = newest_live()
        if entry is None:
            raise UserError(
                "No session is live. mgtop ls lists the recorded ones; mgtop view NAME opens one.",
                USAGE,
            )
        session = entry.path
    from mgtop.view.app import run_view

    run_view(session, fps=fps, readonly=readonly)
