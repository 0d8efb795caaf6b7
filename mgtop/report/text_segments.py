"""A map of the allocator's segments as text."""

from __future__ import annotations

from mgtop.analysis.segments import DeviceSegments, SegmentFile, by_device
from mgtop.report.numbers import number
from mgtop.report.page import Page


def render(found: SegmentFile, width: int = 80) -> str:
    """What a segment map says, for a person."""
    page = Page(width)
    devices = by_device(found)
    page.heading("SEGMENTS", f"pid {found.pid}, torch {found.torch}, {found.backend}")
    if not devices:
        page.text("The allocator holds no segment.")
    for device in devices:
        _device(page, device)
    return page.render()


def _device(page: Page, found: DeviceSegments) -> None:
    name = "GPU" if found.device is None else f"cuda:{found.device}"
    expandable = f", {found.expandable:,} expandable" if found.expandable else ""
    page.pair(name, f"{found.segments:,} segments{expandable}")
    page.pair("reserved", f"{number(found.reserved_mib)} MiB from the driver")
    page.pair("allocated", f"{number(found.allocated_mib)} MiB in use")
    if found.fragmentation is not None:
        page.pair(
            "free",
            f"{number(found.free_mib)} MiB kept, the largest piece {number(found.largest_free_mib)}"
            f"; fragmentation {100 * found.fragmentation:.0f} %",
        )
        page.pair(
            "stranded",
            f"{number(found.stranded_mib)} MiB lie in segments with something in use: no reclaim "
            "frees them",
        )
    page.pair("a reclaim", _reclaim(found))
    if found.largest:
        rows = [(number(block.mib), number(block.segment_mib)) for block in found.largest]
        page.table(("largest blocks, MiB", "in a segment of"), rows)


def _reclaim(found: DeviceSegments) -> str:
    if not found.releasable:
        if found.expandable:
            return "is seldom needed: expandable segments are reused in place, and grow"
        return "has nothing to give back"
    low, high = found.reclaim_low_ms, found.reclaim_high_ms
    cost = f"about {low:,.1f} ms" if high - low < 0.1 else f"about {low:,.1f} to {high:,.1f} ms"
    return (
        f"would give back {found.releasable:,} segments with {number(found.releasable_mib)} MiB: "
        f"{cost} (by what each took on an H200)"
    )
