"""``mgtop prune``: drops what is old, as told."""

from __future__ import annotations

from pathlib import Path

import click

from mgtop.cli.errors import NOT_WRITTEN, OK, USAGE, UserError
from mgtop.cli.options import FROM_PACK, Number, session_argument

_EXAMPLES = """\b
Examples:
  mgtop prune stormlight --size-mib 500
  mgtop prune --all --age-hours 720 --dry-run"""


@click.command("prune", epilog=_EXAMPLES)
@session_argument(required=False, many=True)
@click.option("--all", "of_all", is_flag=True, help="Of all sessions: delete whole ones.")
@click.option(
    "--size-mib",
    type=Number(min=0, min_open=True),
    metavar="N",
    help="What is left is at most so large: each session's log; with --all, all together.",
)
@click.option(
    "--age-hours",
    type=Number(min=0, min_open=True),
    metavar="N",
    help="What ended longer ago goes: files of a log; with --all, sessions.",
)
@click.option("--dry-run", is_flag=True, help="Say what would go; drop nothing.")
def command(
    sessions: tuple[Path, ...],
    of_all: bool,
    size_mib: float | None,
    age_hours: float | None,
    dry_run: bool,
) -> int:
    """Drop the oldest of long logs, or the oldest sessions.

    The log of a long session lies in several files. Of each SESSION the oldest finished ones are
    dropped; the newest stays, and so does everything else in the folder. The report and the view
    say what was dropped. With --all, whole sessions that have ended are deleted, the oldest first;
    live ones never.

    The configuration's retention does the same by itself.
    """
    from mgtop.session.folder import sessions_root
    from mgtop.session.retention import drop_oldest, drop_sessions

    if size_mib is None and age_hours is None:
        raise UserError("Say what may stay: --size-mib N, --age-hours N, or both.", USAGE)
    if of_all == bool(sessions):
        raise UserError("Name sessions, or say --all for whole sessions.", USAGE)
    if click.get_current_context().meta.get(FROM_PACK):
        raise UserError("A pack stays as it is; name a session's folder.", USAGE)
    would = "would drop" if dry_run else "dropped"
    try:
        if of_all:
            gone = drop_sessions(sessions_root(), size_mib, age_hours, dry_run)
            for path, size in gone:
                click.echo(f"{path.name}: {would} all of it, {_mib(size)}")
            if not gone:
                click.echo("Nothing is to be dropped.")
        for session in sessions:
            done = drop_oldest(session, size_mib, age_hours, dry_run)
            what = f"{done.files} of the log's files, {_mib(done.bytes)}, {_time(done.time_ns)}"
            nothing = "nothing is to be dropped: what is finished is small and young enough"
            click.echo(f"{session.name}: {f'{would} {what}' if done.files else nothing}")
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise UserError(f"Cannot drop{where}: {error.strerror}.", NOT_WRITTEN) from None
    return OK


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def _time(time_ns: int) -> str:
    minutes, seconds = divmod(round(time_ns / 1e9), 60)
    return (
        f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"
    )
