"""Sending a signal to a process of the target, and to no other that has taken its number."""

from __future__ import annotations

import errno
import os
import signal
from typing import NamedTuple

from mgtop.session.lock import proc_number


class CannotSignal(Exception):
    """It was not sent; ``str()`` says why."""


class Choice(NamedTuple):
    """A signal that can be sent."""

    key: str
    number: signal.Signals
    does: str


CHOICES: tuple[Choice, ...] = (
    Choice("t", signal.SIGTERM, "asks it to end"),
    Choice("i", signal.SIGINT, "as Ctrl-C"),
    Choice("h", signal.SIGHUP, "as a closed terminal; some read their configuration again"),
    Choice("u", signal.SIGUSR1, "whatever it does with it"),
    Choice("s", signal.SIGSTOP, "it stands still"),
    Choice("c", signal.SIGCONT, "it goes on"),
    Choice("k", signal.SIGKILL, "ends it at once; it can save nothing"),
)


class Receiver(NamedTuple):
    """A process: its number, its number for good (:func:`proc_number`), and its name."""

    pid: int
    proc: int
    name: str


def send(receiver: Receiver, number: signal.Signals) -> None:
    """Send a signal.

    Raises:
        CannotSignal: the process is gone, its number is another's by now, or it is not ours.
    """
    name = f"process {receiver.pid}"
    fd = None
    try:
        try:
            # While the descriptor is open, the number stays the one of the process it is for.
            fd = os.pidfd_open(receiver.pid)
        except OSError as error:
            if error.errno != errno.ENOSYS:  # else the kernel is older than that
                raise
        found = proc_number(receiver.pid)
        if found != receiver.proc:
            also = "" if found is None else "; another one has its number now"
            raise CannotSignal(f"{name} is gone{also}")
        if fd is None:
            os.kill(receiver.pid, number)
        else:
            signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        raise CannotSignal(f"{name} is gone") from None
    except PermissionError:
        raise CannotSignal(f"{name} belongs to another user") from None
    except OSError as error:
        raise CannotSignal(f"{name} cannot be signalled: {error.strerror}") from None
    finally:
        if fd is not None:
            os.close(fd)
