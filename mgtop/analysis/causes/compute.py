"""The model's own step, decoder or postprocessing took longer, at work.

At work means: the GPU was busy for longer (CUDA events in the process), or, where no GPU is
used, the thread was on a core. Time of host-side spans in which the thread merely waited is
not computing; with CUDA in use and no word from the GPU it stays unresolved.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Bound, Claim, Finding, Part, TailWindow, matters
from mgtop.analysis.profile import Profile
from mgtop.analysis.symptoms import gpu_idle

NAME = "compute"
LETTER = "C"
SUMMARY = "longer steps of the model itself"
REMEDY = (
    "Find what grows: the context or cache length, the number of steps, the size of the "
    "input. Fix it, or let it start at its full size."
)
ORDER = 80

HOST_SIDE = "spans (host side)"


def measure(window: TailWindow, channels: Channels) -> Finding:
    """GPU-busy time, or compute spans with the thread on a core, beyond the usual."""
    profile = channels.profile(window)
    busy, busy_beyond = profile.get("gpu_busy"), profile.beyond("gpu_busy")
    over = profile.over("compute") if profile.has_spans("compute") else None
    spans_ns = profile.get("compute") or 0
    working = _working(profile, over)
    if busy is not None and busy_beyond is not None:
        # What something else has already claimed of the model's time is not left for it.
        part: tuple[Part, ...] = ("compute",)
        claims = [Claim(busy_beyond, within=part)] if matters(busy_beyond, window) else []
        # The host's side of a step can be what takes long while the GPU starves.
        on_cpu = min(working or 0.0, profile.beyond("compute_cpu") or 0.0)
        if not claims and matters(on_cpu, window):
            claims = [Claim(on_cpu, within=part)]
        return _finding(bool(claims), busy, "CUDA events", profile, tuple(claims))
    if over is None:
        return Finding(state="not_resolved")
    if not matters(over, window):
        return _finding(False, spans_ns, HOST_SIDE, profile)
    bound: Bound = "exact"
    claim: float | None = working
    if channels.uses_gpu(window.proc):
        if gpu_idle(window, channels).state == "absent":
            claim, bound = over, "upper"
        elif working is not None:
            claim = min(working, profile.beyond("compute_cpu") or 0.0)
    if claim is None or not matters(claim, window):
        # Without a GPU the thread waited, of which `blocked` speaks; with one, who knows.
        waited = claim is not None and not channels.uses_gpu(window.proc)
        return Finding(
            state="absent" if waited else "not_resolved",
            value=spans_ns / 1e6,
            unit="ms",
            source=HOST_SIDE,
        )
    return _finding(True, spans_ns, HOST_SIDE, profile, (Claim(claim, bound, ("compute",)),))


def _working(profile: Profile, over: float | None) -> float | None:
    """What of the compute spans' excess was work; None: the system did not tell."""
    if over is None or (profile.get("compute_cpu") is None and profile.get("off") is None):
        return None
    return max(0.0, over - profile.off_compute_beyond())


def _finding(
    present: bool, ns: int, source: str, profile: Profile, claims: tuple[Claim, ...] = ()
) -> Finding:
    longest = profile.longest("compute")
    return Finding(
        state="present" if present else "absent",
        value=ns / 1e6,
        unit="ms",
        source=source,
        began_ns=longest[1] if longest is not None and present else None,
        claims=claims,
    )
