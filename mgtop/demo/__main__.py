"""``python -m mgtop.demo``: the generator on its own.

Exit codes: 0 done, or stopped by SIGINT or SIGTERM; 2 wrong usage, or something is missing.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import warnings
from collections.abc import Callable
from types import FrameType

from mgtop import probe
from mgtop.demo.errors import DemoError
from mgtop.demo.needs import check_packages
from mgtop.demo.options import parse


def main(arguments: list[str] | None = None) -> int:
    """Run the generator; return its exit code."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        check_packages()
        stopping = _StopSignals()
        # torch runs without NumPy, and warns of it; nothing here needs it.
        warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
        probe.load_begin()  # importing torch is part of it
        from mgtop.demo.run import Run

        run = Run(options, _say)
        stopping.call(run.stop)
        run()
    except DemoError as error:
        print(f"mgtop.demo: {error}", file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # whoever read it is gone
        print(line, flush=True)


class _StopSignals:
    """SIGTERM and SIGINT ask for an orderly end; a second one ends at once."""

    def __init__(self) -> None:
        self._asked = False
        self._stop: Callable[[], None] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def call(self, stop: Callable[[], None]) -> None:
        """Call this when the first signal comes, or now if it came already."""
        self._stop = stop
        if self._asked:
            stop()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        if self._stop is not None:
            self._stop()


if __name__ == "__main__":
    sys.exit(main())
