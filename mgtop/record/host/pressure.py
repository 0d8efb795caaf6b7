"""Pressure stall information: for how long something waited for CPU, memory or a disk."""

from __future__ import annotations

from pathlib import Path

from mgtop.record.schedule import MetricGone, Unchanged
from mgtop.wire.records import Pressure as PressureRecord
from mgtop.wire.records import Record


class Pressure:
    """Totals of ``/proc/pressure``; kernels without PSI, or with it switched off, have none."""

    def __init__(self, folder: Path = Path("/proc/pressure")) -> None:
        self._folder = folder
        self._news = Unchanged()

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; written when it changes, and once a second."""
        totals = {
            f"{what}_{kind}_ns": total
            for what in ("cpu", "memory", "io")
            for kind, total in read_totals_ns(self._folder / what).items()
            if not (what == "cpu" and kind == "full")  # always zero for the whole machine
        }
        if not totals:
            raise MetricGone("this kernel has no pressure stall information (psi=1 switches it on)")
        if not self._news.is_news("totals", totals, now_ns):
            return []
        return [
            PressureRecord(
                t_ns=now_ns,
                cpu_some_ns=totals.get("cpu_some_ns"),
                memory_some_ns=totals.get("memory_some_ns"),
                memory_full_ns=totals.get("memory_full_ns"),
                io_some_ns=totals.get("io_some_ns"),
                io_full_ns=totals.get("io_full_ns"),
            )
        ]


def read_totals_ns(path: Path) -> dict[str, int]:
    """``some`` and ``full`` stall time of one file, ns; empty where there is none."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    totals: dict[str, int] = {}
    for line in lines:
        kind, *pairs = line.split()
        for pair in pairs:
            name, _, value = pair.partition("=")
            if name == "total" and value.isdigit():
                totals[kind] = int(value) * 1000
    return totals
