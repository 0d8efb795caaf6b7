"""``mgtop ls``: which sessions there are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from mgtop.cli.options import as_json

if TYPE_CHECKING:
    from mgtop.session.folder import SessionEntry

_EXAMPLES = """\b
Examples:
  mgtop ls
  mgtop ls --json | jq -r '.sessions[] | select(.live) | .name'"""


@click.command("ls", epilog=_EXAMPLES, short_help="List sessions, live ones first.")
@as_json
def command(as_json: bool) -> None:
    """List sessions, live ones first, then the newest first.

    State: "live" is being recorded; "ended" is complete; "cut" lost its recorder. With --json,
    sessions is a list of {path, name, state, live, started, duration_ms, recorder_pid,
    target_pid}; what is not known is null.
    """
    from mgtop.session.folder import list_sessions, sessions_root

    entries = list_sessions()
    if as_json:
        click.echo(_json(entries))
        return
    if not entries:
        click.echo(f"No sessions yet in {sessions_root()}.  Start one: mgtop demo")
        return
    click.echo("STATE  STARTED           DURATION  NAME")
    for entry in entries:
        started = "n/a"
        if entry.started_wall_ns is not None:
            local = time.localtime(entry.started_wall_ns / 1e9)
            started = time.strftime("%Y-%m-%d %H:%M", local)
        duration = _duration(entry.duration_ns)
        click.echo(f"{entry.state:<5}  {started:<16}  {duration:>8}  {entry.name}")


def _duration(duration_ns: int | None) -> str:
    if duration_ns is None:
        return "n/a"
    minutes, whole = divmod(duration_ns // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def _json(entries: list[SessionEntry]) -> str:
    import json
    from datetime import datetime, timezone

    def started(entry: SessionEntry) -> str | None:
        if entry.started_wall_ns is None:
            return None
        return datetime.fromtimestamp(entry.started_wall_ns / 1e9, timezone.utc).isoformat()

    def duration_ms(entry: SessionEntry) -> float | None:
        return None if entry.duration_ns is None else round(entry.duration_ns / 1e6, 1)

    sessions = [
        {
            "path": str(entry.path),
            "name": entry.name,
            "state": entry.state,
            "live": entry.live,
            "started": started(entry),
            "duration_ms": duration_ms(entry),
            "recorder_pid": entry.recorder_pid,
            "target_pid": entry.target_pid,
        }
        for entry in entries
    ]
    return json.dumps({"sessions": sessions}, indent=2)
