"""What happened, request by request: as mgtop recorded it, and as the driver witnessed it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from mgtop.session.reader import read_all
from mgtop.wire.records import FrameEmit, RequestReceived, Wait


@dataclass
class Request:
    """One request: times in ns of the one monotonic clock."""

    received_ns: int | None
    emits: list[tuple[int, int]] = field(default_factory=list)
    """(time, frames)"""

    @property
    def blocks(self) -> list[int]:
        """Frames of each emit."""
        return [count for _, count in self.emits]

    @property
    def frames(self) -> int:
        """Of all emits."""
        return sum(self.blocks)

    @property
    def first_frame_ms(self) -> float | None:
        """From the request to its first emit, waiting for a person included."""
        if self.received_ns is None or not self.emits:
            return None
        return (self.emits[0][0] - self.received_ns) / 1e6


@dataclass
class Seen:
    """Requests with frames, and how long a person was waited for."""

    requests: list[Request]
    waited_ms: float


def by_mgtop(session: Path) -> Seen:
    """From the session's log: the route that hooks tell on."""
    requests: dict[tuple[int, int], Request] = {}
    waited = 0
    for record in read_all(session):
        if isinstance(record, RequestReceived) and record.route == HOOKS:
            requests[record.proc, record.request] = Request(record.t_ns)
        elif isinstance(record, FrameEmit) and record.route == HOOKS:
            key = (record.proc, record.request)
            found = requests.setdefault(key, Request(None))
            found.emits.append((record.t_ns, record.count))
        elif isinstance(record, Wait):
            waited += record.duration_ns
    return Seen([one for one in requests.values() if one.emits], waited / 1e6)


HOOKS = 1


def by_driver(truth: Path) -> Seen:
    """From what the driver wrote down."""
    requests: list[Request] = []
    waited = 0
    events: list[dict[str, Any]] = json.loads(truth.read_text("utf-8"))["events"]
    for event in events:
        if event["what"] == "request":
            requests.append(Request(event["t_ns"]))
        elif event["what"] == "emit":
            if not requests:
                requests.append(Request(None))
            requests[-1].emits.append((event["t_ns"], event["count"]))
        elif event["what"] == "wait":
            waited += event["until_ns"] - event["t_ns"]
    return Seen([one for one in requests if one.emits], waited / 1e6)


def differences(mgtop: Seen, truth: Seen, limits: tuple[float, float, float]) -> list[str]:
    """Every way in which mgtop was wrong; empty: in none.

    Args:
        mgtop: what it recorded.
        truth: what happened.
        limits: of first-frame latencies (ms, share) and of the median emit's time (ms).
    """
    most_ms, most_share, emit_ms = limits
    if len(mgtop.requests) != len(truth.requests):
        return [f"{len(mgtop.requests)} requests with frames, truly {len(truth.requests)}"]
    wrong = []
    for number, (said, was) in enumerate(zip(mgtop.requests, truth.requests, strict=True), 1):
        if said.blocks != was.blocks:
            wrong.append(f"request {number}: blocks {said.blocks}, truly {was.blocks}")
            continue
        late = median(
            abs(a - b) / 1e6 for (a, _), (b, _) in zip(said.emits, was.emits, strict=True)
        )
        if late > emit_ms:
            wrong.append(f"request {number}: half of its emits are {late:.1f} ms off or more")
        first, truly = said.first_frame_ms, was.first_frame_ms
        if first is None or truly is None:
            if first is not truly:
                wrong.append(f"request {number}: first frame {first}, truly {truly}")
        elif abs(first - truly) > max(most_ms, most_share * truly):
            wrong.append(f"request {number}: first frame {first:.1f} ms, truly {truly:.1f}")
    if abs(mgtop.waited_ms - truth.waited_ms) > max(most_ms, most_share * truth.waited_ms):
        wrong.append(f"waited {mgtop.waited_ms:.0f} ms for a person, truly {truth.waited_ms:.0f}")
    return wrong
