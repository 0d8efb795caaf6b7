"""The faults there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One fault.

    Args:
        cause: what a monitor should name for the frames it makes late; None: none are late.
        does: what it does, for people.
        keys: what may be ordered beside ``every``, ``at`` and ``seed``.
        needs_cuda: it is about GPU memory.
    """

    cause: str | None
    does: str
    keys: tuple[str, ...] = ("ms",)
    needs_cuda: bool = False


KINDS: dict[str, Kind] = {
    "stall": Kind("blocked", "the generator's thread sleeps between two blocks"),
    "cpu": Kind("supply", "resizing the input takes more CPU work"),
    "gc": Kind("gc", "Python collects garbage in a large heap"),
    "output": Kind("output", "the output channel takes the block slowly"),
    "compute": Kind("compute", "the model takes more sampling steps"),
    "queue": Kind("queue", "decoding pauses and the prefetch queue runs empty"),
    "leak": Kind(None, "a tensor is kept for ever, at every emit", ("mib",)),
    "vram": Kind(
        "alloc_retry", "the allocator has to give back a fragmented cache", needs_cuda=True
    ),
    "compile": Kind("compile", "a function is compiled again for a new shape"),
}

COMMON_KEYS = ("every", "at", "seed")
