"""A terminal that goes away: leave at once, and cleanly.

Textual dies of SIGHUP without cleaning up, and where SIGHUP is ignored (``nohup``) its input
thread spins on the closed terminal at 100 % of a core. So SIGHUP ends the app in order, and
each tick looks whether the terminal is still there.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import sys
from collections.abc import Callable


def leave_on_hangup(leave: Callable[[], object]) -> None:
    """Call ``leave`` when the terminal hangs up or somebody asks the process to end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGHUP, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, leave)


def terminal_is_gone() -> bool:
    """Whether the terminal behind standard input has hung up."""
    try:
        poll = select.poll()
        poll.register(sys.__stdin__.fileno(), 0)  # type: ignore[union-attr]
        events = poll.poll(0)
    except (AttributeError, OSError, ValueError):
        return False
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in events)
