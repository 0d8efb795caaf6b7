"""The outputs that frames of route ``sinks`` leave through: what each call held, live or batch.

Programs hand over single frames, though the model makes them in blocks. Where the calls of an
output come in regular blocks, a block's calls become one emit, timed by its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from mgtop.analysis.landing import FEW, Kind, Landing, block_limit_ns
from mgtop.analysis.spans import role_of
from mgtop.analysis.summary import SinkSummary
from mgtop.wire import records as r

FROM_SINKS = r.ROUTES.index("sinks")
LOOKED_AT = (16, 32, 64, 128, 256, 512)
"""After so many calls it is looked whether they come in blocks; later ones are not held."""
WAIT_LIMITS = 2
WAIT_NS = 100_000_000
"""A block is over when so many limits, and so long, have passed since its last call."""
TICKS_NS = 10_000_000
"""One clock tick of ``/proc``, in which a process's start is told."""
MOST = 256

Key = tuple[int, int]
"""Process and request."""


class Output:
    """One output and its calls.

    Attributes:
        key: process and request.
        sink: its name; empty where it was not told.
        kind: what its calls are.
        frames: that left through it.
        landing: its calls, added up.
    """

    def __init__(self, key: Key, about: r.Sink | None, origin_ns: int, computed: int) -> None:
        self.key = key
        self.sink = about.sink if about is not None else ""
        self.params = dict(about.params) if about is not None else {}
        whole = about is not None and about.whole
        self.landing = Landing(self.sink, whole, self.params, origin_ns, computed)
        self.kind: Kind = self.landing.judge()
        self.frames = 0
        self.limit_ns: int | None = None
        self.regrouped = False
        self._held: list[tuple[r.FrameEmit, int]] | None = []
        self._block: list[r.FrameEmit] = []
        self._blocks = 0
        self._last: r.FrameEmit | None = None
        self._next_look = FEW

    def add(self, frame: r.FrameEmit, begin_ns: int, computed: int) -> list[r.FrameEmit]:
        """The emits that are complete with this call."""
        gap = self.landing.add(begin_ns, frame.t_ns, computed)
        self.frames += frame.count
        if self._held is not None:
            self._held.append((frame, gap or 0))
            if self.landing.calls in LOOKED_AT and self._is_in_blocks():
                ready = list(self._regroup())
            else:
                ready = [frame]
            if self.landing.calls >= LOOKED_AT[-1]:
                self._held = None
        elif self.limit_ns is None:
            ready = [frame]
        else:
            ready = self._join(frame, gap or 0)
        if self.landing.calls >= self._next_look or self.regrouped:
            self._next_look = self.landing.calls + max(1, self.landing.calls // 8)
            self.kind = self.landing.judge()
        return ready

    def close(self) -> list[r.FrameEmit]:
        """The block that is open: nothing more comes of it."""
        if not self._block:
            return []
        first, last = self._block[0], self._block[-1]
        count = sum(frame.count for frame in self._block)
        lost = self._last is not None and first.emit != self._last.emit + 1
        self._blocks += lost  # an interval with lost calls in it is not known
        block = replace(last, index=first.index, emit=self._blocks, count=count)
        self._blocks += 1
        self._last, self._block = last, []
        return [block]

    def passed(self, t_ns: int) -> list[r.FrameEmit]:
        """The open block, where its time is over."""
        if not self._block or self.limit_ns is None:
            return []
        wait_ns = max(WAIT_NS, WAIT_LIMITS * self.limit_ns)
        return self.close() if t_ns - self._block[-1].t_ns > wait_ns else []

    def finish(self) -> list[r.FrameEmit]:
        """It takes no more frames."""
        self.kind = self.landing.judge()
        return self.close()

    def _is_in_blocks(self) -> bool:
        assert self._held is not None
        gaps = [gap for _, gap in self._held[1:]]
        self.limit_ns = block_limit_ns(gaps, self.landing.conversion)
        self.landing.blocks = self.limit_ns is not None
        return self.landing.blocks

    def _regroup(self) -> Iterator[r.FrameEmit]:
        """All calls so far once more, as blocks."""
        held, self._held = self._held or [], None
        self.regrouped = True
        for frame, gap in held:
            yield from self._join(frame, gap)

    def _join(self, frame: r.FrameEmit, gap: int) -> list[r.FrameEmit]:
        assert self.limit_ns is not None
        ready = self.close() if gap >= self.limit_ns else []
        self._block.append(frame)
        return ready


class Outputs:
    """All outputs of a session.

    Args:
        begin_ns: when the session began.
    """

    def __init__(self, begin_ns: int = 0) -> None:
        self._begin_ns = begin_ns
        self.all: dict[Key, Output] = {}
        self._told: dict[Key, r.Sink] = {}
        self._calls: dict[tuple[int, int], tuple[int, int]] = {}
        """By process and thread: when its last call of a sink began and ended."""
        self._computed: dict[int, int] = {}
        self._open: set[Key] = set()

    def told(self, record: r.Sink) -> None:
        """What an output is."""
        if len(self._told) < MOST * 16:
            self._told[record.proc, record.request] = record

    def worked(self, record: r.Span, name: str) -> None:
        """Work of the model, or a call of a sink."""
        role = role_of(name)
        if role == "compute":
            self._computed[record.proc] = self._computed.get(record.proc, 0) + 1
        elif role == "output":
            call = (record.t_ns - record.duration_ns, record.t_ns)
            self._calls[record.proc, record.tid] = call

    def emitted(self, frame: r.FrameEmit) -> tuple[Output, list[r.FrameEmit]]:
        """A call took frames: its output, and the emits that are complete now."""
        key = (frame.proc, frame.request)
        output = self.all.get(key)
        begin_ns = self._begin_of(frame)
        computed = self._computed.get(frame.proc, 0)
        if output is None:
            origin_ns = self._origin_of(frame.proc, begin_ns)
            output = self.all[key] = Output(key, self._told.pop(key, None), origin_ns, computed)
        ready = output.add(frame, begin_ns, computed)
        if output.limit_ns is not None:
            self._open.add(key)
        return output, ready

    def passed(self, t_ns: int) -> list[tuple[Output, list[r.FrameEmit]]]:
        """Blocks that are over by that time."""
        if not self._open:
            return []
        over = []
        for key in sorted(self._open):
            ready = self.all[key].passed(t_ns)
            if ready:
                self._open.discard(key)
                over.append((self.all[key], ready))
        return over

    def ended(self, proc: int, request: int) -> tuple[Output, list[r.FrameEmit]] | None:
        """A request is over: what was left of its output."""
        output = self.all.get((proc, request))
        if output is None:
            return None
        self._open.discard((proc, request))
        return output, output.finish()

    def finish(self) -> list[tuple[Output, list[r.FrameEmit]]]:
        """Nothing more comes."""
        self._open.clear()
        return [(output, output.finish()) for output in self.all.values()]

    def summary(self, counts: Callable[[int], bool]) -> list[SinkSummary]:
        """Outputs by name and by how they landed, those with most frames first.

        Args:
            counts: whether frames of a process count (of several ranks, one tells of them).
        """
        found: dict[tuple[str, Kind], list[Output]] = {}
        for output in self.all.values():
            if not counts(output.key[0]):
                continue
            found.setdefault((output.sink or "?", output.kind), []).append(output)
        sums = [
            SinkSummary(
                name=name,
                landed=kind,
                outputs=len(outputs),
                frames=sum(output.frames for output in outputs),
                inside_ms=sum(output.landing.inside_ns for output in outputs) / 1e6,
            )
            for (name, kind), outputs in found.items()
        ]
        return sorted(sums, key=lambda one: (-one.frames, one.name, one.landed))

    def of(self, proc: int, request: int) -> Output | None:
        """The output of a request."""
        return self.all.get((proc, request))

    def _begin_of(self, frame: r.FrameEmit) -> int:
        """When the call began that took the frame: its span ended right before, if it has one."""
        begin_ns, end_ns = self._calls.get((frame.proc, frame.tid), (frame.t_ns, frame.t_ns))
        before = self.all.get((frame.proc, frame.request))
        last_ns = before.landing.last_ns if before is not None else 0
        return begin_ns if last_ns <= begin_ns and end_ns <= frame.t_ns else frame.t_ns

    def _origin_of(self, proc: int, begin_ns: int) -> int:
        """Since when the frames of a new output can have been made.

        Since the process has begun: also what left it live may be kept, and written once more.
        """
        started_ns = (proc >> 22) * TICKS_NS
        return started_ns if started_ns <= begin_ns else min(self._begin_ns, begin_ns)
