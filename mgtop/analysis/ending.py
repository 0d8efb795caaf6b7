"""How the program ended, and what tells whether the kernel killed it for lack of memory."""

from __future__ import annotations

from mgtop.analysis import reasons
from mgtop.analysis.summary import Summary, TargetInfo, Verdict
from mgtop.analysis.wording import plural

KILL = 9
KILLED_BELOW = 128 + KILL
"""How a shell tells that its command was killed."""
NEXT = [
    "Give it more main memory: a higher limit (docker run --memory, Slurm's --mem, memory.max).",
    "Or have it hold less: fewer data workers, shorter queues, weights straight to the GPU.",
    "The kernel names what it killed: journalctl -k, or dmesg.",
    "Measure again after the change: the curve of its RAM.",
]


def ending(target: TargetInfo) -> str | None:
    """How it ended, after "The program"; None: it has not, or nobody knows how."""
    if target.exit_signal is not None:
        how = f"ended by signal {target.exit_signal}"
    elif target.exit_code is not None:
        how = f"exit code {target.exit_code}"
    elif target.oom_kills:
        how = "ended, nobody knows how"
    else:
        return None
    kernel = killer(target.exit_signal, target.oom_kills)
    return f"{how}; {kernel}" if kernel else how


def killer(signal: int | None, kills: int | None) -> str:
    """What the kernel's count says of an end by ``signal``; empty: it has nothing to say."""
    if kills:
        more = "one more kill" if kills == 1 else f"{kills} more kills"
        return f"the kernel's OOM killer counted {more} in its control group"
    if signal != KILL:
        return ""
    if kills is None:
        return "whether the kernel's OOM killer sent it cannot be told"
    return "the kernel's OOM killer counted no kill in its control group"


def killed(summary: Summary) -> Verdict | None:
    """The program was killed, and the kernel counted a kill for lack of memory."""
    target = summary.target
    if not target.oom_kills or summary.session.live:
        return None
    if target.exit_signal is not None:
        how = f"was killed by signal {target.exit_signal}"
    else:
        how = f"ended with exit code {target.exit_code}"
    if target.exit_signal is None and target.exit_code is None:
        how = "ended"
    elif target.exit_signal != KILL and target.exit_code != KILLED_BELOW:
        return None
    frames = sum(request.frames for request in summary.requests)
    return Verdict(
        code="memory",
        text=f"The program {how} after {plural(frames, 'frame')}, and "
        f"{killer(None, target.oom_kills)}: most likely main memory ran out, not the GPU's.",
        because=reasons.memory(summary),
        next=NEXT,
    )
