"""The section of the text report about memory."""

from __future__ import annotations

from mgtop.analysis.memory_figures import MemorySummary, OomSummary
from mgtop.analysis.memory_text import rate, until
from mgtop.analysis.summary import Summary
from mgtop.report.numbers import NOT_KNOWN, number, text_or, whole
from mgtop.report.page import Page
from mgtop.report.paths import STAGES

_SHAPES = {
    "load_only": "peak while loading, then flat",
    "first_frame": "peak at the first frame, then lower",
    "rising": "rising",
    "sawtooth": "sawtooth near the limit",
    "flat": "flat",
    "unknown": NOT_KNOWN,
}
_READINGS = ("before_load", "resident", "first_frame", "steady")
_MOST_RETRIES = 5


def memory(page: Page, summary: Summary) -> None:
    """GPU memory by stage, its peak, shape and growth; RAM apart."""
    seen = summary.memory
    page.heading("GPU MEMORY", "MiB")
    if seen.peak.mib is None and not seen.stages:
        page.pair("peak", NOT_KNOWN)
        for reason in dict.fromkeys(seen.unavailable.values()):
            page.text(reason, indent=4)
    else:
        _gpu(page, seen)
    if seen.ooms or seen.retries is not None:
        _trouble(page, seen)
    _host(page, seen)


def _gpu(page: Page, seen: MemorySummary) -> None:
    rows = []
    for stage in STAGES:
        of = seen.stages.get(stage)
        if of is not None:
            values = (of.process_mib, of.device_mib, of.allocated_mib, of.reserved_mib)
            at = NOT_KNOWN if of.t_ms is None else f"{of.t_ms / 1000:.1f} s"
            name = f"{stage} (inferred)" if of.inferred else stage
            rows.append((name, *(number(value) for value in values), at))
    head = ("peak in", "process", "device", "allocated", "reserved", "at")
    page.table(head, rows, left=("peak in",))
    peak = seen.peak
    if peak.mib is None:
        page.pair("peak", NOT_KNOWN)
    else:
        of_total = "" if seen.total_mib is None else f" of {number(seen.total_mib)}"
        whose = {"process": "driver's figure", "framework": "framework's figure"}
        source = f"the {whose[peak.source]}" if peak.source is not None else NOT_KNOWN
        page.pair("peak", f"{number(peak.mib)}{of_total}, in {text_or(peak.stage)}, {source}")
    _readings(page, seen)
    page.pair("shape", _SHAPES[seen.shape])
    if seen.text:
        page.text(seen.text, indent=4)
    if seen.growth is not None and not seen.growth.rising:
        page.pair("growth", f"{rate(seen.growth)}, {seen.growth.of}: no lasting rise")
    for one in seen.differ:
        page.text(one.text, indent=4, bullet="- ")
    about = seen.allocator
    if about.backend is not None:
        cap = "" if about.limit_mib is None else f", capped at {number(about.limit_mib)}"
        settings = f" ({about.settings})" if about.settings else ""
        page.pair("allocator", f"{about.backend}{settings}{cap}")
    if len(seen.gpus) > 1:
        rows = [
            (
                gpu.name or f"cuda:{-1 - gpu.gpu}",
                number(gpu.process_mib),
                number(gpu.device_mib),
                number(gpu.allocated_mib),
                number(gpu.reserved_mib),
            )
            for gpu in seen.gpus
        ]
        page.table(("GPU", "process", "device", "allocated", "reserved"), rows, left=("GPU",))
    for what, reason in seen.unavailable.items():
        page.pair(what, f"{NOT_KNOWN}: {reason}")


def _readings(page: Page, seen: MemorySummary) -> None:
    rows = []
    for name in _READINGS:
        of = seen.readings.get(name)
        if of is not None:
            values = (of.process_mib, of.allocated_mib, of.reserved_mib)
            rows.append((name.replace("_", " "), *(number(value) for value in values)))
    if rows:
        page.table(("reading", "process", "allocated", "reserved"), rows, left=("reading",))


def _trouble(page: Page, seen: MemorySummary) -> None:
    page.pair("retries", whole(seen.retries))
    for mark in seen.retry_marks[:_MOST_RETRIES]:
        frame = "" if mark.frame is None else f", frame {mark.frame:,}"
        page.text(f"{mark.t_ms / 1000:.2f} s, in {mark.stage}{frame}", indent=4, bullet="- ")
    if len(seen.retry_marks) > _MOST_RETRIES:
        page.text(
            f"and {len(seen.retry_marks) - _MOST_RETRIES:,} more (--json lists all)", indent=4
        )
    for oom in seen.ooms:
        _oom(page, oom)


def _oom(page: Page, oom: OomSummary) -> None:
    frame = "" if oom.frame is None else f", frame {oom.frame}"
    page.pair("out of memory", f"in {text_or(oom.stage)}{frame}: {oom.message}")
    if oom.amounts_mib:
        stated = ", ".join(f"{name} {number(value)}" for name, value in oom.amounts_mib.items())
        page.text(f"by its message: {stated}", indent=4)
    in_use = {
        "process": oom.process_mib,
        "device": oom.device_mib,
        "allocated": oom.allocated_mib,
        "reserved": oom.reserved_mib,
    }
    if any(value is not None for value in in_use.values()):
        read = ", ".join(f"{name} {number(value)}" for name, value in in_use.items())
        page.text(f"last read before: {read}", indent=4)


def _host(page: Page, seen: MemorySummary) -> None:
    host = seen.host
    if host.peak_mib is None:
        return
    page.heading("RAM", "MiB, of the program's processes; no GPU memory")
    of_limit = "" if host.limit_mib is None else f" of {number(host.limit_mib)}"
    page.pair("peak", f"{number(host.peak_mib)}{of_limit}, in {text_or(host.stage)}")
    page.pair("shape", NOT_KNOWN if host.shape == "unknown" else host.shape)
    if host.growth is not None and host.shape == "rising":
        left = until(host.frames_to_limit, host.minutes_to_limit)
        page.pair("growth", f"{rate(host.growth)}{left}")
