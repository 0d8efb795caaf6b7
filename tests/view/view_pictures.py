"""Hand-made pictures of a session: what a screen draws, without an analysis."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from mgtop.analysis.live import LiveView, Series, TailMark
from mgtop.analysis.summary import (
    CauseShare,
    Evidence,
    FirstFrame,
    Losses,
    ObserverSummary,
    PlayoutSummary,
    Quantiles,
    SessionInfo,
    Summary,
    Tail,
    Tails,
    TargetInfo,
    Verdict,
)
from mgtop.view.feed import Feed

MS = 1_000_000
S = 1_000 * MS
START = 100 * S
NOW = START + 47 * S
TOTAL_MIB = 81_559.0

CAUSES = ("gc", "unexplained", "supply", None)
LATE_AT_S = (11.2, 24.7, 38.4, 46.3)


def tail(number: int) -> Tail:
    """One of four late frames: by garbage collection, by nothing known, …"""
    cause = CAUSES[number]
    shares = [CauseShare(name=cause, explained_ms=140.0)] if cause in ("gc", "supply") else []
    evidence = [
        Evidence(channel="gc", state="present", value=140.0, unit="ms", source="gc", lead_ms=150.0),
        Evidence(channel="vram_drop", state="absent", source="nvml", period_ms=16.0),
        Evidence(channel="gpu_idle", state="not_resolved"),
    ]
    return Tail(
        request="7f3a",
        index=160 * (number + 1),
        emit=160 * (number + 1),
        t_ms=LATE_AT_S[number] * 1000,
        interval_ms=212.5,
        excess_ms=150.0,
        visible=number % 2 == 0,
        cause=cause,
        causes=shares,
        evidence=evidence,
        final=cause is not None,
    )


SUMMARY = Summary(
    session=SessionInfo(name="stormlight", params={"steps": 16, "width": 1280}, live=True),
    target=TargetInfo(pid=4242, command=["python", "infer.py", "--steps", "16"], route="probe"),
    first_frame_ms=FirstFrame(
        count=1, p50=1120.0, p95=1120.0, p99=1120.0, max=1120.0,
        preprocess_p50=38.0, sampling_p50=1082.0,
    ),
    interval_ms=Quantiles(count=740, p50=62.5, p95=66.0, p99=210.0, max=212.5),
    interval_ms_by_count={"1": Quantiles(count=740, p50=62.5)},
    fps=15.8,
    playout=PlayoutSummary(
        target_fps=16.0, buffer_frames=1, keeps_up=True, underruns=2, stall_ms=300.0,
        stall_ms_per_s=6.4,
    ),
    tails=Tails(count=4, lost_ms=600.0, frames=[tail(n) for n in range(4)]),
    losses=Losses(),
    observer=ObserverSummary(cpu_percent=1.4),
    verdict=Verdict(
        code="stalls", cause="gc", text="Steady rhythm with occasional stalls: mostly gc."
    ),
)  # fmt: skip


def live_view(
    now_ns: int = NOW,
    begin_ns: int = START,
    end_ns: int = START + 60 * S,
    columns: int = 120,
    **changes: Any,
) -> LiveView:
    """A session of 47 s at 16 frames/s on one GPU, with four late frames."""
    width_ns = (end_ns - begin_ns) // columns
    times = [begin_ns + n * width_ns for n in range(columns)]
    alive = [START + S <= t < NOW for t in times]
    late = [round(START + at * S) for at in LATE_AT_S]

    def values(of: Any) -> list[float | None]:
        return [of(t) if there else None for t, there in zip(times, alive, strict=True)]

    def interval(t: int) -> float:
        hit = any(at - 212 * MS < t + width_ns and t < at for at in late)
        return 212.5 if hit else 62.5 + t // width_ns % 3

    def slack(t: int) -> float:
        hit = any(at - 212 * MS < t + width_ns and t < at for at in late[:2])
        return 0.0 if hit else 820.0 + 40.0 * (t // width_ns % 2)

    def series(name: str, unit: str, last: float, period_ms: int | None, high: Any) -> Series:
        return Series(
            name=name,
            unit=unit,
            high=values(high),
            low=values(lambda t: high(t) * 0.9),
            last=last,
            age_ns=120 * MS,
            period_ns=None if period_ms is None else period_ms * MS,
            limit=TOTAL_MIB if unit == "MiB" else None,
        )

    tails = [
        TailMark(t_ns=at, begin_ns=at - 212 * MS, tail=tail(n))
        for n, at in enumerate(late)
        if begin_ns <= at < end_ns
    ]
    view = LiveView(
        now_ns=now_ns,
        start_ns=START,
        state="steady",
        elapsed_ns=now_ns - START,
        last_frame_age_ns=40 * MS,
        slack_ms=850.0,
        recording=True,
        summary=SUMMARY,
        series={
            "interval": series("interval", "ms", 62.5, None, interval),
            "slack": series("slack", "ms", 850.0, None, slack),
            "vram:0": series("vram:0", "MiB", 24_600.0, 16, lambda t: 24_600.0),
            "vram_process:0": series("vram_process:0", "MiB", 21_400.0, 1000, lambda t: 21_400.0),
            "gpu:0": series("gpu:0", "%", 97.0, 200, lambda t: 88.0 + t // width_ns % 12),
            "cpu_process": series("cpu_process", "% of a core", 112.0, 100, lambda t: 112.0),
            "cpu_system": series("cpu_system", "%", 12.0, 100, lambda t: 11.0 + t // width_ns % 4),
        },
        tails=tails,
        marks_ns=[t for t in (START + 30 * S,) if begin_ns <= t < end_ns],
        begin_ns=begin_ns,
        end_ns=end_ns,
        cores=16,
    )
    return msgspec.structs.replace(view, **changes)


class StillFeed(Feed):
    """A feed that stands at :data:`NOW` of the hand-made session."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        super().__init__(folder, clock=lambda: NOW)
        self._live = True
        self.caught_up = True
        self._shown.model = SimpleNamespace(  # type: ignore[assignment]
            about=SimpleNamespace(start_ns=START, last_ns=NOW),
            view=lambda now, begin, end, columns: live_view(now, begin, end, columns, **changes),
            summary=lambda: SUMMARY,
        )

    @property
    def live(self) -> bool:
        return self._live

    def poll(self, budget_ns: int = 0) -> int:
        return 0
