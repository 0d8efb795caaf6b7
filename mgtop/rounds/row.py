"""What is recorded of a round: one row of ``mgtop sweep --json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mgtop.analysis.reasons import stopped_ms
from mgtop.analysis.summary import Placement, Summary

FEWEST_COUNTED = 10
"""Counted intervals that a round should have at least."""
MEMORY_CAUSES = ("alloc_retry", "oom", "spill")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one round; what is not known is None.

    Times are per frame: the interval between emits of the commonest block size, divided by that
    size, so that rounds with blocks of different sizes compare.

    Attributes:
        params: the varied parameters.
        run_id, session: name and folder of the session.
        placement: where the late frames stand.
        peak_stage: the stage of the memory peak.
        oom_stage, oom_frame: where memory ran out first.
        note: what else is to be known of this round.
        differs: in what else than its variable it differs from the other rounds.
        repeat: which repeat of its setting, from 1.
        status: ``done``; ``failed`` (no figures), ``skipped``.
        counted: intervals that the figures rest on.
        block: frames of an emit.
        stopped_ms: how long no more frames had come when it was made to end; None: they came.
        late_share: late frames among them; ``lost_share``: the time that they lost, of all time.
        stall_ms_per_s: time for which the viewer's picture stood still.
        target_fps: rate at which the frames are to be played.
        retries: times the allocator gave its cache back and asked again.
        memory_share: peak as a share of the GPU's memory.
        memory_signs: signs of memory trouble, in words.
        verdict: the report's own.
        took_s: how long the round took.
        gates: gates that it did not meet, with the figure.
    """

    params: dict[str, Any]
    run_id: str | None = None
    session: str | None = None
    first_frame_ms: float | None = None
    p50_frame_ms: float | None = None
    p95_frame_ms: float | None = None
    max_frame_ms: float | None = None
    tails: int | None = None
    placement: Placement = Placement()
    peak_mem_mib: float | None = None
    peak_stage: str | None = None
    oom: bool = False
    oom_stage: str | None = None
    oom_frame: int | None = None
    note: str = ""
    repeat: int = 1
    status: str = "done"
    counted: int = 0
    block: int | None = None
    stopped_ms: float | None = None
    late_share: float | None = None
    lost_share: float | None = None
    stall_ms_per_s: float | None = None
    target_fps: float | None = None
    retries: int | None = None
    memory_share: float | None = None
    memory_signs: list[str] = []
    verdict: str | None = None
    took_s: float | None = None
    gates: list[str] = []
    differs: list[str] = []

    @property
    def has_figures(self) -> bool:
        """Whether frames were made whose rhythm is known."""
        return self.p50_frame_ms is not None

    @property
    def cannot_load(self) -> bool:
        """Memory ran out before there was any frame."""
        return self.oom and self.oom_stage == "load" and not self.has_figures

    @property
    def oom_place(self) -> str | None:
        """Where memory ran out, in words: ``load``, ``first frame``, ``frame 12``."""
        if not self.oom:
            return None
        if self.oom_stage == "load":
            return "load"
        if self.oom_stage == "first_frame" or (self.oom_stage is None and self.oom_frame == 0):
            return "first frame"
        if self.oom_frame is not None:
            return f"frame {self.oom_frame}"
        return (self.oom_stage or "unknown place").replace("_", " ")


def row_of(
    summary: Summary,
    setting: Mapping[str, Any],
    repeat: int,
    *,
    session: str | None,
    memory_limit: float,
    took_s: float | None = None,
) -> Row:
    """The row of a recorded round.

    Args:
        summary: of its session.
        setting: the varied parameters.
        repeat: which repeat.
        session: its folder.
        memory_limit: share of the GPU's memory from which on it is full.
        took_s: how long it took.
    """
    quantiles = summary.interval_ms
    block = _block(summary)
    per = float(block or 1)
    memory = summary.memory
    oom = memory.ooms[0] if memory.ooms else None
    counted = quantiles.count
    share = None
    if memory.peak.mib is not None and memory.total_mib:
        share = memory.peak.mib / memory.total_mib
    return Row(
        params=dict(setting),
        run_id=session.rstrip("/").rpartition("/")[2] if session else None,
        session=session,
        first_frame_ms=summary.first_frame_ms.p50,
        p50_frame_ms=_over(quantiles.p50, per),
        p95_frame_ms=_over(quantiles.p95, per),
        max_frame_ms=_over(quantiles.max, per),
        tails=summary.tails.count if counted else None,
        placement=summary.tails.placement,
        peak_mem_mib=memory.peak.mib,
        peak_stage=memory.peak.stage,
        oom=oom is not None,
        oom_stage=oom.stage if oom is not None else None,
        oom_frame=oom.frame if oom is not None else None,
        repeat=repeat,
        status="done" if counted or oom is not None else "failed",
        counted=counted,
        block=block,
        stopped_ms=stopped_ms(summary),
        late_share=summary.tails.count / counted if counted else None,
        lost_share=summary.tails.share_of_time if counted else None,
        stall_ms_per_s=summary.playout.stall_ms_per_s,
        target_fps=summary.playout.target_fps,
        retries=memory.retries,
        memory_share=share,
        memory_signs=_memory_signs(summary, share, memory_limit),
        verdict=summary.verdict.code,
        took_s=took_s,
    )


def _block(summary: Summary) -> int | None:
    """The commonest block size, as the report chooses it."""
    sizes = summary.interval_ms_by_count
    return int(max(sizes, key=lambda size: (sizes[size].count, int(size)))) if sizes else None


def _over(value: float | None, per: float) -> float | None:
    return None if value is None else value / per


def _memory_signs(summary: Summary, share: float | None, limit: float) -> list[str]:
    signs = []
    if summary.memory.ooms:
        signs.append("memory ran out")
    if summary.memory.retries:
        signs.append(f"the allocator had to give its cache back {summary.memory.retries} times")
    if share is not None and share >= limit:
        signs.append(f"the peak is {100 * share:.0f} % of the GPU's memory")
    for cause in MEMORY_CAUSES:
        found = summary.causes.get(cause)
        if found is not None and found.frames and cause != "oom":
            signs.append(f"{found.frames} late frames were put down to {cause}")
    if summary.memory.shape in ("rising", "sawtooth") and summary.verdict.code == "memory":
        signs.append(f"memory is {summary.memory.shape} through the session")
    return signs
