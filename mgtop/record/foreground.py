"""Standing in for the target in the foreground: ``mgtop run --headless``.

The command behaves as the target would: its output appears, signals reach it, and as PID 1
of a container it reaps what is orphaned. It stays as long as the target runs, even where the
recording ends earlier.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from mgtop.record.launch import Outcome, Recording
from mgtop.record.output import OUTPUT_FILE
from mgtop.record.tree import is_running, proc_number

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_POLL_S = 0.05


class OutputCopy:
    """Copies what is appended to a file to a file descriptor, until that is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._file: int | None = None

    def copy(self) -> None:
        """Copy all that is new."""
        if self._descriptor is None:
            return
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return
        while data := os.read(self._file, 65536):
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError:  # the reader of our stderr went away; the target goes on
                self._descriptor = None
                return

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)


class Foreground:
    """Follows one recording to its end, and the target beyond that.

    The process should have become a subreaper before it started the recording.

    Args:
        recording: what was started.
        copy_to: descriptor for the target's output.
        say: called with sentences for the user.
    """

    def __init__(self, recording: Recording, copy_to: int, say: Callable[[str], object]) -> None:
        self.interrupted: int | None = None
        """The first signal that asked for an end, if one came."""
        self._recording = recording
        self._target_pid = recording.target_pid
        self._target_proc = proc_number(recording.target_pid)
        self._target_status: int | None = None
        self._copy = OutputCopy(recording.folder / OUTPUT_FILE, copy_to)
        self._say = say

    def follow(self) -> Outcome:
        """Copy output and forward signals until recording and target have ended.

        Returns:
            How it ended; its message is empty where the user was told already.
        """
        with self._forwarding():
            while (outcome := self._recording.poll()) is None:
                self._step()
            self._reap()
            if not outcome.target_ended and self._target_lives():
                self._say(outcome.message or "The recording has ended; the program goes on.")
                while self._target_lives():
                    self._step()
                outcome = dataclasses.replace(outcome, message="")  # it has been said
            outcome = self._with_target_end(outcome)
        self._copy.copy()
        self._copy.close()
        return outcome

    def _step(self) -> None:
        self._copy.copy()
        time.sleep(_POLL_S)
        self._reap()

    def _reap(self) -> None:
        """Collect orphans that came to this process: where the recorder is gone, the target.

        The recorder itself is left to its :class:`Recording`.
        """
        while True:
            self._recording.poll()
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid == self._recording.recorder.pid:
                continue
            _pid, status = os.waitpid(ended.si_pid, 0)
            if ended.si_pid == self._target_pid:
                self._target_status = os.waitstatus_to_exitcode(status)

    def _target_lives(self) -> bool:
        return (
            self._target_status is None
            and self._target_proc is not None
            and is_running(self._target_pid, self._target_proc)
        )

    def _with_target_end(self, outcome: Outcome) -> Outcome:
        status = self._target_status
        if outcome.target_ended or status is None:
            return outcome
        return dataclasses.replace(
            outcome,
            target_ended=True,
            target_code=status if status >= 0 else None,
            target_signal=-status if status < 0 else None,
        )

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        """Hand signals on to the target's group, as a terminal would; ignored ones stay so."""
        before = {}
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, self._forward)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if number in ENDING and self.interrupted is None:
            self.interrupted = number
        if self._target_lives():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._target_pid, number)
