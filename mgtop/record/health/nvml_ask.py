"""Has NVML examined by another process, and waits for it no longer than a moment."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec

from mgtop.record.health.nvml_answer import NvmlAnswer

COMMAND = (sys.executable, "-m", "mgtop.record.health.nvml_measure")
PATIENCE_S = 2.4


class Question:
    """An examination under way.

    Args:
        command: prints an answer as one line of JSON.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._began = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        self._failed: str | None = None
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._failed = f"a process to ask the driver cannot be started: {error.strerror}"

    def answer(self, patience_s: float = PATIENCE_S) -> NvmlAnswer:
        """The answer, ``patience_s`` after the question at the latest.

        A process that does not answer is told to end and left alone: inside a driver that
        hangs, it ends when the driver lets it.
        """
        if self._process is None:
            return NvmlAnswer(reason=self._failed)
        try:
            line = self._read_line(self._began + patience_s)
            if line is not None:
                with contextlib.suppress(msgspec.DecodeError):
                    return msgspec.json.decode(line, type=NvmlAnswer)
            number = self._process.poll()
        finally:
            self._end()
        if number is None:
            return NvmlAnswer(hanging="NVML")
        if number < 0:
            name = signal.Signals(-number).name if -number in signal.valid_signals() else number
            return NvmlAnswer(reason=f"the driver's library crashed ({name})")
        return NvmlAnswer(reason=f"the examination ended without an answer (exit code {number})")

    def _read_line(self, deadline: float) -> bytes | None:
        """One line; None if it does not come: the pipe of a process that hangs stays open."""
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as pipe, selectors.DefaultSelector() as selector:
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ)
            data = b""
            while not data.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                piece = os.read(pipe.fileno(), 1 << 16)
                if not piece:
                    break
                data += piece
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        return data or None  # without its end, too: the process has ended

    def _end(self) -> None:
        """Tell the process to end; one that cannot is left behind."""
        assert self._process is not None
        if self._process.poll() is not None:
            return
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)
        # Else Popen warns that it still runs, and looks for it at exit.
        self._process.returncode = self._process.returncode or 0
