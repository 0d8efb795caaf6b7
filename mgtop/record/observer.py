"""What the recorder itself costs, once a second: the monitor is a suspect too."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from mgtop.record.sampler import Sampler
from mgtop.wire.records import Observer

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def observe(
    now_ns: int, log_bytes: int, samplers: Sequence[Sampler], beside_ns: int = 0
) -> Observer:
    """The recorder's CPU time, memory, calls into NVML and bytes written so far.

    ``beside_ns``: CPU time of what it has started to work for it.
    """
    calls = spent_ns = None
    for sampler in samplers:
        cost = getattr(sampler, "cost", None)
        spent = cost() if cost is not None else None
        if spent is not None:
            calls, spent_ns = spent
    return Observer(
        t_ns=now_ns,
        cpu_ns=time.process_time_ns() + beside_ns,
        rss_bytes=_rss_bytes(),
        nvml_calls=calls,
        nvml_ns=spent_ns,
        log_bytes=log_bytes,
        samples_missed=sum(sampler.missed for sampler in samplers),
    )


def _rss_bytes() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None
