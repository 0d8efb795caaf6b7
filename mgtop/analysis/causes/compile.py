"""A compilation, a graph capture or an autotuning ran inside the interval.

Torch tells when each begins and ends. Where only its counter of compilations rose, or a
line of output said so, the time is that of the compute spans around it: an upper bound.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow
from mgtop.analysis.profile import Profile
from mgtop.analysis.timed import timed

NAME = "compile"
LETTER = "K"
SUMMARY = "recompilation by torch"
REMEDY = (
    "Keep shapes, dtypes and step counts the same from frame to frame (or mark them dynamic), "
    "and run every shape once before the first request."
)
ORDER = 20

CALLBACKS = "torch compile callbacks"


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time in compilations; else their count."""
    profile = channels.profile(window)
    compilations = profile.split.compilations
    # A counter that stepped for compilations whose times are told says nothing more.
    told = profile.log.compilations.between(window.begin_ns, window.end_ns)
    if compilations or told:
        began_ns = min((begin for begin, _ in compilations), default=None)
        return timed(window, profile, "compile", source=CALLBACKS, began_ns=began_ns)
    started = profile.beyond("compiles")
    if started:
        return _counted(window, profile, started, "torch compile counter", None)
    for line in channels.lines.between(window.begin_ns, window.end_ns):
        if line.kind == "compile":
            return _counted(window, profile, 1, "output", line.t_ns)
    if window.frame.compiles is None and not len(profile.log.compilations):
        return Finding(state="not_resolved")
    return Finding(state="absent", value=0.0, unit="ms", source=CALLBACKS)


def _counted(
    window: TailWindow, profile: Profile, count: float, source: str, began_ns: int | None
) -> Finding:
    claim = Claim(profile.around_ns(), "upper", ("compute",))
    return Finding(
        state="present",
        value=count,
        unit="compilations",
        source=source,
        began_ns=began_ns,
        claims=(claim,),
    )
