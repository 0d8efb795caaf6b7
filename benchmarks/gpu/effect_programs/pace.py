"""What the three generators have in common: work of a known length, and their own stop-watch."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

FRAME_S = 0.018
"""A little above the 16 ms that a frame has at least."""
WARM_UP = 20
"""Frames that are left out."""


@dataclass
class Pace:
    """Matrix work on a device, calibrated to take one frame's time.

    Attributes:
        times: seconds of each frame, by the program's own clock.
    """

    device: str
    n: int = 1
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        on_gpu = self.device == "cuda"
        size, kind = (4096, torch.bfloat16) if on_gpu else (192, torch.float32)
        self.x = torch.randn(size, size, device=self.device, dtype=kind)
        self._timed(20)
        each = sorted(self._timed(20) for _ in range(15))[7] / 20
        self.n = max(1, round(FRAME_S / each))

    def work(self, n: int | None = None) -> torch.Tensor:
        """One frame's computation; on a GPU it is only begun."""
        y = self.x
        for _ in range(self.n if n is None else n):
            y = torch.tanh(y @ self.x)
        return y

    def wait(self) -> None:
        """Until the device has done its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def _timed(self, n: int) -> float:
        self.wait()
        began = time.perf_counter()
        self.work(n)
        self.wait()
        return time.perf_counter() - began


def measure(frame: Callable[[], int], pace: Pace, seconds: float, out: str) -> None:
    """Call ``frame`` for so long; write the time of each of the frames that it made."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(pace.times) <= WARM_UP:
        began = time.perf_counter()
        made = frame()
        pace.times.append((time.perf_counter() - began) / made)
    with open(out, "w") as file:
        json.dump(pace.times[WARM_UP // made :], file)


def arguments() -> tuple[str, float, str]:
    """Device, seconds and the file for the times."""
    return sys.argv[1], float(sys.argv[2]), sys.argv[3]
