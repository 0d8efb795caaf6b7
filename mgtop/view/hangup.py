"""A terminal that goes away: leave at once, and cleanly.

Textual dies of SIGHUP without cleaning up, and where SIGHUP is ignored (``nohup``) its input
thread spins on the closed terminal at 100 % of a core. So SIGHUP ends the app in order, and a
thread looks whether the terminal is still there. It is a thread, since the app's loop may be
what the lost terminal holds up: on a slow line it waits for room in Textual's output queue, and
nobody makes room any more.

Textual's output thread dies of the error that a write to a closed terminal gives, and
leaving then waits for it for ever. So the terminal is replaced by nothing before leaving,
and a process that still has not left after some seconds is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable

GRACE_S = 3.0
LOOK_EVERY_S = 1.0


def leave_on_hangup(leave: Callable[[], object]) -> None:
    """Call ``leave`` when the terminal hangs up or somebody asks the process to end."""
    loop = asyncio.get_running_loop()

    def hung_up() -> None:
        if terminal_is_gone():  # a signal alone can be sent by anybody
            let_the_terminal_go()
        leave()

    for number, act in ((signal.SIGHUP, hung_up), (signal.SIGTERM, leave)):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, act)
    watch = threading.Thread(target=_watch, args=(loop, leave), name="hangup", daemon=True)
    watch.start()


def _watch(loop: asyncio.AbstractEventLoop, leave: Callable[[], object]) -> None:
    while not loop.is_closed():
        if terminal_is_gone():
            let_the_terminal_go()
            with contextlib.suppress(RuntimeError):  # it has left by itself meanwhile
                loop.call_soon_threadsafe(leave)
            return
        time.sleep(LOOK_EVERY_S)


def let_the_terminal_go() -> None:
    """Write to nothing from now on, and be gone in :data:`GRACE_S` at the latest."""
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        os.close(nothing)
    last_resort = threading.Timer(GRACE_S, os._exit, [0])
    last_resort.daemon = True
    last_resort.start()


def terminal_is_gone() -> bool:
    """Whether the terminal behind standard input has hung up."""
    try:
        poll = select.poll()
        poll.register(sys.__stdin__.fileno(), 0)  # type: ignore[union-attr]
        events = poll.poll(0)
    except (AttributeError, OSError, ValueError):
        return False
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in events)
