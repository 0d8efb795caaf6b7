"""The demo, with a note of its own at each emit: when it was, whatever the probe says.

python -m benchmarks.truth.demo_clock --emits FILE [--nice N] -- DEMO OPTIONS…
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.truth.generators import set_priority
from benchmarks.truth.truth import Emit, TruthFile
from mgtop.demo.__main__ import main as demo
from mgtop.probe import Request


def note_emits(truth: TruthFile) -> None:
    """Have every ``request.frame`` noted before the probe hears of it.

    Those that mgtop finds at the program's outputs are not the demo's own.
    """
    told = Request.frame
    state: dict[str, tuple[int, int]] = {}

    def frame(self: Request, count: int = 1, index: int | None = None) -> None:
        if self._route:
            told(self, count, index)
            return
        t_ns = time.monotonic_ns()
        emit, at = state.get(self.id, (0, 0))
        if not emit:
            truth.start(os.getpid(), t_ns)
        truth.emit(Emit(self.id, emit, at, count, t_ns))
        state[self.id] = (emit + 1, at + count)
        told(self, count, index)

    setattr(Request, "frame", frame)  # noqa: B010 - a method cannot be assigned to otherwise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--emits", type=Path, required=True)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("demo", nargs=argparse.REMAINDER)
    options: Any = parser.parse_args()
    set_priority(options.nice)
    note_emits(TruthFile(options.emits))
    return demo([word for word in options.demo if word != "--"])


if __name__ == "__main__":
    sys.exit(main())
