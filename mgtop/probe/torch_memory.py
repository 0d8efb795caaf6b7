"""The caching allocator's counters, read at emits.

``torch._C._cuda_memoryStats`` is called directly (18 µs; ``torch.cuda.memory_stats`` takes 126),
on the emitting thread, and no oftener than its own measured cost allows.
"""

# ruff: noqa: SLF001 (torch offers it in no other way)

from __future__ import annotations

from time import monotonic_ns

from . import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .outlet import Outlet

COST_SHARE = 0.003
"""The reading may take this share of the time."""

_not_before_ns = 0
_usual_ns = 0.0


def read(out: Outlet, torch: Any, device: int, request: int, emit: int, t_ns: int) -> None:
    """Send the counters of ``device``, if a reading is due."""
    global _not_before_ns, _usual_ns
    if t_ns < _not_before_ns:
        return
    began_ns = monotonic_ns()
    stats = torch._C._cuda_memoryStats(device)
    took_ns = monotonic_ns() - began_ns
    _usual_ns = took_ns if not _usual_ns else 0.75 * _usual_ns + 0.25 * took_ns
    _not_before_ns = t_ns + int(_usual_ns / COST_SHARE)
    allocated = stats["allocated_bytes"]["all"]
    out.event(
        pack.TORCH_MEMORY_LAYOUT,
        t_ns,
        request,
        emit,
        device,
        allocated["current"],
        stats["reserved_bytes"]["all"]["current"],
        allocated["peak"],
        stats["num_alloc_retries"],
        stats["num_ooms"],
        stats["num_device_alloc"],
        stats["num_device_free"],
        stats["segment"]["all"]["current"],
        stats["inactive_split_bytes"]["all"]["current"],
        stats["reserved_bytes"]["all"]["peak"],
    )
