"""The loop: look for sessions, read their logs, publish."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mgtop.metrics.families import Family
from mgtop.metrics.fleet import Fleet
from mgtop.session.folder import sessions_root
from mgtop.session.lock import is_live

TURN_S, LOOK_NS = 1.0, 2_000_000_000
"""How often logs are read, and new sessions are looked for."""


def live_folders(root: Path | None = None) -> Iterator[Path]:
    """The folders of the sessions that are recorded now, the newest first."""
    root = sessions_root() if root is None else root
    try:
        names = sorted(os.listdir(root), reverse=True)  # they begin with the time of the start
    except OSError:
        return
    for name in names:
        if is_live(root / name):
            yield root / name


def follow(
    session: Path | None,
    publish: Sequence[Callable[[Sequence[Family]], None]],
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Follow one session, or all that are live now or later.

    Args:
        session: its folder; None: all.
        publish: who is told of each turn; must not wait.
        until: asked at each turn; True ends it.
    """
    fleet = Fleet(live_folders) if session is None else Fleet(tuple, [session])
    looked_ns: int | None = None
    while not until():
        now_ns = time.monotonic_ns()
        if looked_ns is None or now_ns - looked_ns >= LOOK_NS:
            looked_ns = now_ns
            fleet.look(now_ns)
        done = fleet.poll(now_ns)
        families = fleet.families(time.monotonic_ns())
        for tell in publish:
            tell(families)
        if done:
            time.sleep(TURN_S)
