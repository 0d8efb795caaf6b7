"""From a person's input to the first frame that could show it.

A frame could show an input if its work began after it. Work on a frame begins with its first
compute span, where the program has spans; else no earlier than the emit before it, the arrival of
its request, and the end of a wait for a person, whichever was last. The emit that is on its way
when the input comes does not count: it may have been computed already.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from mgtop.analysis.requests import Request
from mgtop.analysis.spans import role_of
from mgtop.analysis.statistics import Samples
from mgtop.analysis.summary import ActionToFrame
from mgtop.wire.records import Action, FrameEmit, Span, Wait

MOST_OPEN = 256
SLACK_NS = 1_000_000
"""The end of a wait is told a little before the input that ended it."""

Rule = Literal["spans", "emits"]


class Actions:
    """Takes inputs, and what tells when work began; answers with latencies."""

    def __init__(self, warmup_emits: int) -> None:
        self._warmup_emits = warmup_emits
        self._open: deque[Action] = deque()
        self._seen = self._warmup = 0
        self._found: list[tuple[Request, int, Rule]] = []
        self._emitting: set[int] = set()
        self._last_ns: dict[Request, int] = {}
        self._waited_ns: dict[int, int] = {}
        """End of the newest wait, by process."""
        self._began_ns: dict[tuple[int, int], dict[int, int]] = {}
        """Begin of the first compute span by process and request, and in there by frame."""

    def acted(self, record: Action) -> None:
        """An input is there."""
        self._seen += 1
        if len(self._open) == MOST_OPEN:
            self._open.popleft()
        self._open.append(record)

    def waited(self, record: Wait) -> None:
        """A wait for a person is over."""
        self._waited_ns[record.proc] = record.t_ns

    def worked(self, record: Span, name: str) -> None:
        """A span has ended."""
        if not self._open or record.index < 0 or role_of(name) != "compute":
            return
        begun = self._began_ns.setdefault((record.proc, record.request), {})
        begin_ns = record.t_ns - record.duration_ns
        if record.index not in begun and len(begun) < MOST_OPEN:
            begun[record.index] = begin_ns

    def emitted(self, request: Request, frame: FrameEmit) -> None:
        """An emit that counts: it answers the inputs that its work began after."""
        self._emitting.add(frame.proc)
        if self._open:
            begin_ns, rule = self._begin_of(request, frame)
            if begin_ns is not None:
                self._answer(request, frame, begin_ns, rule)
            if not self._open:
                self._began_ns.clear()
        self._last_ns[request] = frame.t_ns

    def summary(self) -> ActionToFrame:
        """Latencies of what has been answered, without warm-up."""
        counted = [
            (ns, rule)
            for request, ns, rule in self._found
            if not (request.left_out or request.dropped)
        ]
        found = Samples(ns / 1e6 for ns, _ in counted).quantiles()
        rules = {rule for _, rule in counted}
        return ActionToFrame(
            count=found.count,
            p50=found.p50,
            p95=found.p95,
            p99=found.p99,
            max=found.max,
            actions=self._seen,
            unanswered=self._seen - len(self._found) - self._warmup,
            rule="emits" if "emits" in rules else "spans" if rules else None,
        )

    def _answer(self, request: Request, frame: FrameEmit, begin_ns: int, rule: Rule) -> None:
        left: deque[Action] = deque()
        for action in self._open:
            elsewhere = action.proc != frame.proc and action.proc in self._emitting
            if elsewhere or action.t_ns > min(begin_ns + SLACK_NS, frame.t_ns):
                left.append(action)
            elif frame.emit < self._warmup_emits:
                self._warmup += 1
            else:
                self._found.append((request, frame.t_ns - action.t_ns, rule))
        self._open = left

    def _begin_of(self, request: Request, frame: FrameEmit) -> tuple[int | None, Rule]:
        """When work on the frame began, at the earliest; None: that cannot be said."""
        begun = self._began_ns.get((frame.proc, frame.request))
        if begun:
            mine = [ns for index, ns in begun.items() if index >= frame.index]
            for index in [index for index in begun if index < frame.index + frame.count]:
                del begun[index]
            inside = [ns for ns in mine if ns <= frame.t_ns]
            if inside:
                return min(inside), "spans"
        known = (
            self._last_ns.get(request),
            request.received_ns,
            self._waited_ns.get(frame.proc),
        )
        times = [ns for ns in known if ns is not None and ns <= frame.t_ns]
        return (max(times) if times else None), "emits"
