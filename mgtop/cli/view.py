"""``mgtop view``: open a live or recorded session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mgtop.cli.errors import USAGE, UserError
from mgtop.cli.options import FROM_PACK, SessionType, fps
from mgtop.cli.terminal import need_terminal


class ViewedType(SessionType):
    """A session as elsewhere, or the folder (or its name) of a sweep or fallback."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Find it; a folder of rounds before a session of that name."""
        from mgtop.rounds.state import find_rounds

        rounds = find_rounds(str(value))
        return rounds if rounds is not None else super().convert(value, param, ctx)


def newest_unless(session: Path | None) -> Path:
    """The session, or where none was named the live one that was started last.

    Raises:
        UserError: none was named, and none is live.
    """
    if session is not None:
        return session
    from mgtop.session.folder import newest_live

    entry = newest_live()
    if entry is None:
        command = click.get_current_context().info_name
        raise UserError(
            "No session is live. mgtop ls lists the recorded ones; "
            f"mgtop {command} NAME opens one.",
            USAGE,
        )
    return entry.path


@click.command(
    "view",
    epilog="\b\nExamples:\n  mgtop view\n  mgtop view stormlight --fps 1\n",
)
@click.argument("session", metavar="[SESSION]", type=ViewedType(), required=False)
@fps
@click.option("--readonly", is_flag=True, help="No marks, no snapshots, no stopping.")
def command(session: Path | None, fps: float | None, readonly: bool) -> None:
    """Open a live or recorded session on the screen.

    Without SESSION, the live session that was started last. Leaving the view leaves target
    and recording alone, unless you say otherwise; several views of a session may be open.
    The folder of a sweep or fallback in place of SESSION shows its rounds.
    """
    from mgtop.rounds.state import holds_rounds

    readonly = readonly or bool(click.get_current_context().meta.get(FROM_PACK))
    need_terminal("mgtop report prints what a session shows")
    folder = newest_unless(session)
    if holds_rounds(folder):
        from mgtop.view.rounds_app import run_rounds_view

        run_rounds_view(folder)
        return
    from mgtop.view.app import run_view

    run_view(folder, fps=fps, readonly=readonly)
