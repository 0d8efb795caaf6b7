"""What the probe reads from torch, where the program uses it. Never imports it.

Found through ``sys.modules`` alone, looked at again when the number of modules has changed.
Anything that fails three times here is left alone from then on.
"""

# ruff: noqa: SLF001 (torch offers it in no other way)

from __future__ import annotations

import sys
from time import monotonic_ns

from . import gpu_work, outlet, segment_map, torch_compile, torch_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from .context import ThreadContext
    from .gpu_work import Token
    from .outlet import Outlet
    from .requests import Request

modules: Dict[str, Any] = sys.modules
seen: int = 0
"""How many modules there were when last looked."""

_torch: Any = None
"""The module, where it was built for GPUs; else None."""
_cuda_runs = False
_errors = 0
_MOST_ERRORS = 3
_usual_span_ns: Dict[int, float] = {}
_MOST_NAMES = 64
_LATE_NS = 5_000_000
_span_not_before_ns = 0


def look() -> None:
    """Look again at what the program has imported."""
    global seen, _torch
    seen = len(modules)
    torch_compile.register(modules)
    torch = modules.get("torch")
    core = getattr(torch, "_C", None)
    if core is not None and hasattr(core, "_cuda_memoryStats") and hasattr(torch, "cuda"):
        _torch = torch


def _ready() -> bool:
    """Whether CUDA is in use, and the current stream is not being captured into a graph."""
    global _cuda_runs
    if _errors >= _MOST_ERRORS:
        return False
    cuda = _torch.cuda
    if not _cuda_runs:
        if not cuda.is_initialized():
            return False
        _cuda_runs = True
    return not cuda.is_current_stream_capturing()


def _failed() -> None:
    global _errors
    _errors += 1
    outlet.swallowed()


def at_emit(out: Outlet, request: Request, emit: int, t_ns: int) -> None:
    """Read what is due at a frame: allocator counters, and GPU times of frames before."""
    if len(modules) != seen:
        look()
    if _torch is None:
        return
    try:
        if _ready():
            began_ns = monotonic_ns()
            device = _torch._C._cuda_getDevice()
            torch_memory.read(out, _torch, device, request.number, emit, t_ns)
            gpu_work.at_emit(out, request, emit, t_ns)
            out.cost_ns += monotonic_ns() - began_ns
            if t_ns >= segment_map.next_look_ns:
                segment_map.look(out, _torch, request.number, request.next_index - 1, t_ns)
    except Exception:
        _failed()


def between(out: Outlet, t_ns: int, at_once: bool = False) -> None:
    """Read the allocator's counters between frames: loaded, a request has come or is over."""
    if len(modules) != seen:
        look()
    if _torch is None:
        return
    try:
        if _ready():
            began_ns = monotonic_ns()
            device = _torch._C._cuda_getDevice()
            torch_memory.read(out, _torch, device, 0, 0, t_ns, at_once)
            out.cost_ns += monotonic_ns() - began_ns
    except Exception:
        _failed()


def at_end(out: Outlet, request: Request) -> None:
    """Read what is left of a request that is over, and what its last frames took."""
    between(out, monotonic_ns(), at_once=True)
    if request.gpu is not None:
        try:
            work = out.thread().gpu
            if work is not None and _ready():
                gpu_work.collect(out, work)
        except Exception:
            _failed()


def begin_pair(out: Outlet, thread: ThreadContext, request: Request) -> Optional[Token]:
    """Put a CUDA event before a span's work; the token is for :func:`end_pair`."""
    if _torch is None:
        return None
    try:
        if _ready():
            began_ns = monotonic_ns()
            token = gpu_work.begin(out, _torch, thread, request)
            out.cost_ns += monotonic_ns() - began_ns
            return token
    except Exception:
        _failed()
    return None


def end_pair(out: Outlet, token: Token) -> None:
    """Put a CUDA event after a span's work."""
    try:
        began_ns = monotonic_ns()
        gpu_work.end(token, _ready())
        out.cost_ns += monotonic_ns() - began_ns
    except Exception:
        _failed()


def after_span(out: Outlet, request: Request, name: int, duration_ns: int, t_ns: int) -> None:
    """Read the allocator's counters where a span took long: did it wait for memory?

    Long: twice what spans of that name took lately, and 5 ms more. So the spans between two
    readings tell where in a frame a counter stepped.
    """
    global _span_not_before_ns
    if _torch is None:
        return
    usual_ns = _usual_span_ns.get(name)
    if usual_ns is None:
        if len(_usual_span_ns) < _MOST_NAMES:
            _usual_span_ns[name] = float(duration_ns)
        return
    if duration_ns < 2 * usual_ns or duration_ns < usual_ns + _LATE_NS:
        _usual_span_ns[name] = usual_ns + 0.125 * (duration_ns - usual_ns)
        return
    # A lasting change becomes usual in time.
    _usual_span_ns[name] = 1.05 * usual_ns + 1
    if t_ns < _span_not_before_ns:
        return
    try:
        if _ready():
            began_ns = monotonic_ns()
            device = _torch._C._cuda_getDevice()
            torch_memory.read(out, _torch, device, request.number, request.emits, t_ns, True)
            took_ns = monotonic_ns() - began_ns
            _span_not_before_ns = t_ns + int(took_ns / torch_memory.COST_SHARE)
            out.cost_ns += took_ns
    except Exception:
        _failed()


def _forget() -> None:
    """In a forked child: CUDA does not survive a fork."""
    global _cuda_runs, _errors
    _cuda_runs = False
    _errors = 0
    gpu_work.forget()
    torch_memory.forget()
    segment_map.forget()


outlet.on_fork.append(_forget)
