"""The caching allocator's counters, read at emits, after loading and when a request comes.

``torch._C._cuda_memoryStats`` is called directly (18 µs; ``torch.cuda.memory_stats`` takes 126),
on the emitting thread, and no oftener than its own measured cost allows. Other devices that the
process holds memory on are read in turn, one at a time. Peaks are never reset.
"""

# ruff: noqa: SLF001 (torch offers it in no other way)

from __future__ import annotations

import os
from time import monotonic_ns

from . import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from .outlet import Outlet

COST_SHARE = 0.003
"""The reading may take this share of the time."""
TELL_NS = 10_000_000_000
"""What the allocator is, is told again this often: a reader may come late."""
LOOK_NS = 2_000_000_000
"""Other devices are looked through for memory this often."""
SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

_not_before_ns = 0
_usual_ns = 0.0
_tell_ns: Dict[int, int] = {}
_look_ns = 0
_others: List[int] = []
_turn = 0


def read(
    out: Outlet, torch: Any, device: int, request: int, emit: int, t_ns: int, at_once: bool = False
) -> None:
    """Send the counters of ``device``, and of one of the others, if a reading is due.

    ``at_once``: due or not.
    """
    global _not_before_ns, _usual_ns, _turn
    if t_ns < _not_before_ns and not at_once:
        return
    began_ns = monotonic_ns()
    stats = torch._C._cuda_memoryStats(device)
    took_ns = monotonic_ns() - began_ns
    _usual_ns = took_ns if not _usual_ns else 0.75 * _usual_ns + 0.25 * took_ns
    calls = 1
    _send(out, stats, device, request, emit, t_ns)
    if t_ns >= _look_ns:
        calls += _look_through(torch, device, t_ns)
    if _others:
        _turn += 1
        other = _others[_turn % len(_others)]
        if other != device:
            _send(out, torch._C._cuda_memoryStats(other), other, request, emit, t_ns)
            calls += 1
    if not at_once:  # what is due at emits stays due
        _not_before_ns = t_ns + int(calls * _usual_ns / COST_SHARE)
    if t_ns >= _tell_ns.get(device, 0):
        _tell_ns[device] = t_ns + TELL_NS
        _tell(out, torch, device, t_ns)


def _send(out: Outlet, stats: Any, device: int, request: int, emit: int, t_ns: int) -> None:
    allocated = stats["allocated_bytes"]["all"]
    reserved = stats["reserved_bytes"]["all"]
    out.event(
        pack.TORCH_MEMORY_LAYOUT,
        t_ns,
        request,
        emit,
        device,
        allocated["current"],
        reserved["current"],
        allocated["peak"],
        stats["num_alloc_retries"],
        stats["num_ooms"],
        stats["num_device_alloc"],
        stats["num_device_free"],
        stats["segment"]["all"]["current"],
        stats["inactive_split_bytes"]["all"]["current"],
        reserved["peak"],
    )


def _look_through(torch: Any, device: int, t_ns: int) -> int:
    """Find the other devices that this process holds memory on; how many were asked."""
    global _look_ns, _others
    _look_ns = t_ns + LOOK_NS
    count = getattr(torch._C, "_cuda_getDeviceCount", None)
    total = int(count()) if count is not None else 1
    if total <= 1:
        return 0
    found = []
    for other in range(total):
        if other != device:
            stats = torch._C._cuda_memoryStats(other)
            if stats["reserved_bytes"]["all"]["peak"]:
                found.append(other)
    _others = found
    return total - 1


def _tell(out: Outlet, torch: Any, device: int, t_ns: int) -> None:
    """Say what the allocator is; whatever this torch cannot tell is left out."""
    core = torch._C
    backend = total = limit = None
    try:
        backend = str(core._cuda_getAllocatorBackend())
    except Exception:
        pass
    try:
        total = int(torch.cuda.get_device_properties(device).total_memory)
        fraction = float(core._cuda_getMemoryFraction(device))
        if 0.0 < fraction < 1.0:
            limit = int(fraction * total)
    except Exception:
        pass
    given = [os.environ[name] for name in SETTINGS if os.environ.get(name)]
    settings = pack.clip(given[0], 400) if given else ""
    expandable = "expandable_segments:true" in settings.replace(" ", "").lower()
    out.message(pack.TORCH_ALLOCATOR, t_ns, device, backend, settings, expandable, limit, total)


def forget() -> None:
    """In a forked child: nothing was read or told yet."""
    global _not_before_ns, _usual_ns, _look_ns, _others
    _not_before_ns = _look_ns = 0
    _usual_ns = 0.0
    _others = []
    _tell_ns.clear()
