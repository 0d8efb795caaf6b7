"""Stands in for ``pynvml`` where this folder is on PYTHONPATH: a machine with 8 replayed H200.

Not a package of the benchmarks: a recorder that is started with this folder on its path takes
it for NVIDIA's bindings, so that everything above them is the real thing.
"""

from __future__ import annotations

import os
from typing import Any

from benchmarks.gpu.replayed_machine import Machine

_machine = Machine(gpus=int(os.environ.get("MGTOP_REPLAYED_GPUS", "8")))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_machine, name)
