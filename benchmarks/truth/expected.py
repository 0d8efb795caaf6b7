"""What a right answer is, by fault, character and evidence level."""

from __future__ import annotations

UNEXPLAINED = "unexplained"

LEVELS = ("spans", "no_spans", "hooks", "log", "observe")
"""The evidence that a program gives: probe with spans and queues; probe with frames alone; hooks
on its functions, which tell frames and spans but no queue; a text log; nothing, so that nothing
can be named."""

CAUSES = {
    "stall": "blocked",
    "stall_in_step": "blocked",
    "lock": "blocked",
    "supply": "supply",
    "late_decode": "supply",
    "gc": "gc",
    "compute": "compute",
    "output": "output",
    "output_wait": "output",
    "queue": "queue",
    "compile": "compile",
    "untold": UNEXPLAINED,
    "other_span": UNEXPLAINED,
    "cpu": "supply",  # the demo's name
    "hog": "cpu_contention",
    "quota": "cpu_contention",
    "stopped": "blocked",
    "slow_reader": "output",
    "memory": "cpu_contention",
    "gpu_stall": "blocked",
    "gpu_stall_mid": "blocked",
    "gpu_supply": "supply",
    "gpu_compute": "compute",
    "reclaim": "alloc_retry",
    "small_reclaim": "blocked",
    "recompile": "compile",
    "regraph": "compile",
    "oom": "oom",
    "neighbour": "neighbour",
}
"""The one right cause of each fault where a program has spans. ``untold`` and ``other_span`` are
work in no span, and in one whose name says nothing: no channel sees it. A stopped process is
blocked: it neither runs nor wants to."""

WHOLE_PROCESS = frozenset({"gc", "compile"})
"""Faults that hold up every thread of the process, not only the one that they struck: both keep
the interpreter."""

_WAITING = frozenset({"stall", "stall_in_step", "lock", "late_decode", "output_wait", "queue"})
_TOLD_ANYWAY = frozenset({"gc", "compile"})
_WHOLE_THREAD = frozenset({"hog", "quota", "stopped"})


def right_answers(fault: str, level: str, character: str) -> frozenset[str]:
    """The causes that are right to name for a fault; the first choice is in all of them.

    Without spans nobody can say what a thread was at while it ran, so that ``unexplained`` is
    the only right answer for work. A thread that waited is ``blocked``, whatever it waited
    for, and a cautious ``unexplained`` is not wrong either. Where another thread emits than
    computes, the emitting one always waits, and its waiting says nothing.
    """
    if level in ("log", "observe"):
        return frozenset({UNEXPLAINED})
    cause = CAUSES[fault]
    if level == "hooks":
        # Nobody tells of the queue: its consumer waits, for whatever.
        return frozenset({"blocked", UNEXPLAINED} if fault == "queue" else {cause})
    if level == "spans" or fault in _TOLD_ANYWAY:
        return frozenset({cause})
    if fault in _WHOLE_THREAD:
        return frozenset({cause, UNEXPLAINED} if character == "worker" else {cause})
    if fault in _WAITING or fault == "slow_reader":
        return frozenset({"blocked", UNEXPLAINED})
    return frozenset({UNEXPLAINED})


def is_seen(fault: str, level: str, character: str) -> bool:
    """Whether any channel can see the fault, so that it has a name to find."""
    return right_answers(fault, level, character) != {UNEXPLAINED}
