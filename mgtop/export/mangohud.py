"""MangoHud's CSV log, for flightlessmango.com, FlightlessSomething, mangoplot and CapFrameX.

Its rows are frames on a screen. Frames that leave in blocks have gaps of nothing and one long one
between, which such tools would call endless frame rates and 99 % stutter: so rows are playout
gaps, frame by frame, in which a stall is one long frame. ``raw`` writes one row per emit instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from mgtop.export.frames import Told, shown
from mgtop.export.machine_at import Machine

SYSTEM = ("os", "cpu", "gpu", "ram", "kernel", "driver", "cpuscheduler")
COLUMNS = (
    "fps", "frametime", "cpu_load", "cpu_power", "gpu_load", "cpu_temp", "gpu_temp",
    "gpu_core_clock", "gpu_mem_clock", "gpu_vram_used", "gpu_power", "ram_used", "swap_used",
    "process_rss", "cpu_mhz", "elapsed",
)  # fmt: skip
GIB = 1 << 30


def write(session: Told, out: TextIO, machine: Machine, raw: bool = False) -> None:
    """Write the log. What is not known is 0, as MangoHud itself writes it."""
    about, gpus = session.summary.environment, session.summary.target.gpus
    ram_kib = "" if about.ram_mib is None else str(int(about.ram_mib * 1024))
    values = (
        about.os, about.cpu, gpus[0].name if gpus else None, ram_kib, about.kernel, about.driver,
        None,
    )  # fmt: skip
    out.write(",".join(SYSTEM) + "\n")
    out.write(",".join(_plain(value) for value in values) + "\n")
    out.write(",".join(COLUMNS) + "\n")
    for t_ns, ms in _rows(session, raw):
        at = t_ns + session.begin_ns

        def value(name: str, divisor: float = 1.0, at: int = at) -> float:
            found = machine.at(name, at)
            return 0.0 if found is None else found / divisor

        row = (
            f"{1000 / ms:.3f}", f"{ms:.4f}", f"{value('cpu_load'):.0f}", "0",
            f"{value('gpu_load'):.0f}", "0", f"{value('gpu_temperature_c'):.0f}",
            f"{value('gpu_mhz'):.0f}", f"{value('gpu_memory_mhz'):.0f}",
            f"{value('vram_bytes', GIB):.4f}", f"{value('gpu_power_w'):.0f}",
            f"{value('ram_used_bytes', GIB):.4f}", f"{value('swap_used_bytes', GIB):.4f}",
            f"{value('rss_bytes', GIB):.4f}", "0", str(t_ns),
        )  # fmt: skip
        out.write(",".join(row) + "\n")


def _rows(session: Told, raw: bool) -> Iterator[tuple[int, float]]:
    """End of each frame since the session's start, in ns, and its length in ms."""
    if raw:
        for frame in session.frames:
            if frame.interval_ms is not None and frame.interval_ms > 0:
                yield frame.t_ns - session.begin_ns, frame.interval_ms
        return
    for seen in shown(session):
        if seen.ms > 0:
            yield int((seen.at_ms + seen.ms) * 1e6), seen.ms


def _plain(value: str | None) -> str:
    """A field without what the format has no quoting for."""
    return "" if value is None else " ".join(value.replace(",", " ").split())
