"""The emits of each request stream, and what is usual in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from mgtop.wire.records import FrameEmit, GpuWork, TorchMemory

HISTORY = 240
"""Emits that make what is usual."""
ENOUGH = 8
"""With fewer emits of the same size, emits of all sizes serve, scaled by their frames."""
FEW = 4
"""With fewer emits of the stream itself, the process's other streams serve too."""
MOST_STREAMS = 48
WHOLE_ENDED = 2
"""Of the streams of a process that have ended, so many are kept with all their emits."""
ENDED_NS = 30_000_000_000
"""Nothing of a stream is judged any more so long after its last emit."""

Quantities = dict[str, int]
"""Nanoseconds (or counts) of one emit, by name; what is not known is missing."""


class Emit:
    """One emit with all that was read for it."""

    __slots__ = ("begin_ns", "frame", "gpu", "memory", "previous", "quantities")

    def __init__(self, frame: FrameEmit, previous: FrameEmit | None) -> None:
        self.frame = frame
        self.previous = previous
        """The emit right before it, or None: its interval is not known from neighbours."""
        self.begin_ns: int | None = None
        if previous is not None:
            self.begin_ns = previous.t_ns
        if frame.interval_ns is not None:
            self.begin_ns = frame.t_ns - frame.interval_ns
        self.gpu: GpuWork | None = None
        self.memory: dict[int, TorchMemory] = {}
        self.quantities: Quantities | None = None


class Stream:
    """Emits of one request of one process, the newest :data:`HISTORY` and a few more."""

    def __init__(self, proc: int, request: int) -> None:
        self.proc, self.request = proc, request
        self.emits: deque[Emit] = deque(maxlen=HISTORY + 8)
        self.by_number: dict[int, Emit] = {}
        self.added = 0
        self.ended = False
        self.next_index = 0
        """Index of the frame that comes next."""

    def add(self, frame: FrameEmit) -> Emit:
        """Add the next emit."""
        before = self.emits[-1].frame if self.emits else None
        follows = before is not None and frame.emit == before.emit + 1 and frame.t_ns >= before.t_ns
        emit = Emit(frame, before if follows else None)
        self.added += 1
        if len(self.emits) == self.emits.maxlen:
            self.by_number.pop(self.emits[0].frame.emit, None)
        self.emits.append(emit)
        self.by_number[frame.emit] = emit
        self.next_index = frame.index + frame.count
        return emit


class Streams:
    """All streams; the ones silent for longest are forgotten beyond :data:`MOST_STREAMS`."""

    def __init__(self) -> None:
        self._streams: dict[tuple[int, int, int], Stream] = {}
        self._latest: dict[tuple[int, int], Stream] = {}

    def add(self, frame: FrameEmit) -> tuple[Stream, Emit]:
        """Add an emit to its stream. Routes do not mix: each is a stream of its own."""
        key = (frame.proc, frame.request, frame.route)
        stream = self._streams.pop(key, None)
        if stream is None:
            stream = Stream(frame.proc, frame.request)
            self._forget_ended(frame)
        self._streams[key] = stream  # now the youngest
        self._latest[frame.proc, frame.request] = stream
        if len(self._streams) > MOST_STREAMS:
            self._drop(next(iter(self._streams)))
        return stream, stream.add(frame)

    def forget(self, proc: int, request: int, route: int) -> None:
        """A stream's emits are told anew."""
        if (proc, request, route) in self._streams:
            self._drop((proc, request, route))

    def _forget_ended(self, frame: FrameEmit) -> None:
        """A process begins a stream: of those that have ended, the newest tell what is usual."""
        known = 0
        ended = [(k, s) for k, s in self._streams.items() if k[0] == frame.proc and s.ended]
        for number, (key, stream) in enumerate(reversed(ended)):
            over = stream.emits[-1].frame.t_ns < frame.t_ns - ENDED_NS
            if over and number >= WHOLE_ENDED and known > FEW:
                self._drop(key)
            else:
                known += len(stream.emits)

    def _drop(self, key: tuple[int, int, int]) -> None:
        stream = self._streams.pop(key)
        if self._latest.get((stream.proc, stream.request)) is stream:
            del self._latest[stream.proc, stream.request]

    def of(self, proc: int) -> list[Stream]:
        """The streams of a process, the one that emitted last first."""
        return [stream for stream in reversed(self._streams.values()) if stream.proc == proc]

    def find(self, frame: FrameEmit) -> Stream | None:
        """The stream of an emit."""
        return self._streams.get((frame.proc, frame.request, frame.route))

    def latest(self, proc: int, request: int) -> Stream | None:
        """The stream of a request that spoke last, whatever its route."""
        return self._latest.get((proc, request))


def usual(emits: Iterable[tuple[int, Quantities]], name: str, count: int) -> float | None:
    """The median of a quantity over other emits, for an emit of ``count`` frames.

    ``emits`` are (frames, quantities). Emits of the same size are compared as they are;
    with fewer than :data:`ENOUGH` of them, the median of quantity / frames, times
    ``count`` (method: intervals of emits of different size compare per frame).
    """
    known = _comparable(emits, name, count)
    return median(known) if known else None


def scatter(emits: Iterable[tuple[int, Quantities]], name: str, count: int) -> float:
    """How far the quantity usually is from its median: the median of the distances."""
    known = _comparable(emits, name, count)
    if not known:
        return 0.0
    middle = median(known)
    return median(abs(value - middle) for value in known)


def _comparable(
    emits: Iterable[tuple[int, Quantities]], name: str, count: int
) -> list[float] | list[int]:
    known = [(n, found[name]) for n, found in emits if name in found]
    same = [value for n, value in known if n == count]
    if len(same) >= ENOUGH or len(same) == len(known):
        return same
    return [value / n * count for n, value in known if n > 0]
