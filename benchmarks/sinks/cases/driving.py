"""What the cases share. They are programs of their own: nothing here knows of mgtop."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from time import perf_counter

FRAMES = 24
WIDTH, HEIGHT = 64, 48
BATCHES, CALLS = 30, 20


def folder():
    """A folder for what the case writes, removed with the process's temporary files."""
    return tempfile.mkdtemp(prefix="sink-case-")


def picture(i=0):
    """One frame, height x width x 3, of bytes."""
    import numpy as np

    return np.full((HEIGHT, WIDTH, 3), i % 256, np.uint8)


def done(expected, version, cost_us=None):
    """Tell the driver how many frames went out, of which release, and what a call cost."""
    print(json.dumps({"expected": expected, "version": version, "cost_us": cost_us}))
    sys.stdout.flush()


def cost_us(owner, attribute, *args, result=None):
    """What seeing to ``owner.attribute`` adds to a call, in microseconds, and calls that counted.

    The very callbacks of the wrapper, around a function that does nothing: the fastest of some
    batches, less the function alone. None where it is not asked for, or there is no wrapper.
    """
    made = getattr(owner.__dict__.get(attribute), "__mgtop__", None)
    if made is None or os.environ.get("SINK_CASE_MEASURES") != "1":
        return None, 0
    wrap = sys.modules[type(made).__module__].wrap

    class Empty:
        """Takes a call's arguments."""

        def call(*given):
            return result

    def fastest(call):
        best = float("inf")
        for _ in range(BATCHES):
            began = perf_counter()
            for _ in range(CALLS):
                call(*args)
            best = min(best, (perf_counter() - began) / CALLS)
        return best

    alone = fastest(Empty.call)
    wrap(Empty, "call", *made.callbacks)
    seen = fastest(Empty.call)
    return round((seen - alone) * 1e6, 1), BATCHES * CALLS
