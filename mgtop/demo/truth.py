"""What faults really did, as they measured it: the answer that a monitor's finding is held to."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from mgtop.demo.errors import DemoError


@dataclass(frozen=True)
class Strike:
    """One strike of a fault: a line of the truth file.

    Args:
        fault: its name.
        cause: what a monitor should name; None: the fault makes no frame late.
        request: the request's id.
        emit: number of the emit that it held up, from 0 within the request.
        index: index of that emit's first frame, from 0 within the request.
        run_emit: number of the emit, from 0 over the run; what ``at=`` means.
        t_begin_ns: when it began, ns of ``CLOCK_MONOTONIC``.
        t_end_ns: when it was over.
        injected_ms: how long it took, measured.
        bytes: what it kept, where it keeps something.
    """

    fault: str
    cause: str | None
    request: str
    emit: int
    index: int
    run_emit: int
    t_begin_ns: int
    t_end_ns: int
    injected_ms: float
    bytes: int | None = None


class Truth:
    """Appends strikes to a file, one JSON object a line; without a path it keeps nothing.

    Raises:
        DemoError: the file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._file: int | None = None
        if path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            try:
                self._file = os.open(path, flags, 0o644)
            except OSError as error:
                raise DemoError(
                    f"--truth {path}: it cannot be written ({error.strerror})."
                ) from None

    def write(self, strike: Strike) -> None:
        """Add a strike.

        Raises:
            DemoError: the file cannot take it.
        """
        if self._file is not None:
            line = json.dumps(asdict(strike)).encode() + b"\n"
            try:
                os.write(self._file, line)
            except OSError as error:
                raise DemoError(f"The truth file cannot be written: {error.strerror}.") from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
