"""Small builders of record streams: what a program serves, written down as its records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary, Tail
from mgtop.wire import records as r

MS = 1_000_000
START = 1_000 * 1_000_000_000
PROC = r.proc_of(4242, 1000)
TID = 11
NO_WARMUP: dict[str, Any] = {"requests": 0, "emits": 0}
SPANS = {name: number for number, name in enumerate(r.SPAN_NAMES)}

METHOD_LOG: list[r.AnyRecord] = [
    r.SessionStart(0, 0, 1, "", "log", {}, {"target_fps": 16.0, "warmup": NO_WARMUP}),
    r.RequestReceived(
        0, 0, 0, 0, 1, "7f3a", {"w": 1280, "h": 720, "steps": 24, "fps": 16}, 3
    ),
    r.Span(22 * MS, 1, 0, 0, 1, -1, SPANS["decode"], 14 * MS),
    r.Span(32 * MS, 2, 0, 0, 1, -1, SPANS["resize"], 10 * MS),
    r.Span(38 * MS, 3, 0, 0, 1, -1, SPANS["h2d"], 6 * MS),
    r.PreprocessDone(38 * MS, 4, 0, 0, 1),
    r.FrameEmit(1120 * MS, 5, 0, 0, 1, 0, 0, 1, 3),
    r.FrameEmit(1168 * MS, 6, 0, 0, 1, 1, 1, 1, 3, interval_ns=48 * MS),
    r.FrameEmit(1219 * MS, 7, 0, 0, 1, 2, 2, 1, 3, interval_ns=51 * MS),
    r.FrameEmit(1690 * MS, 8, 0, 0, 1, 11, 11, 1, 3, interval_ns=214 * MS),
    r.FrameEmit(1732 * MS, 9, 0, 0, 1, 12, 12, 1, 3, interval_ns=42 * MS),
    r.StreamEnd(2601 * MS, 10, 0, 0, 1, 30),
    r.SessionEnd(2601 * MS, "imported"),
]  # fmt: skip
"""The log of a request with missing lines: indices 3 to 10 are not in it."""


class Program:
    """A program that serves requests; its clock goes on by what each call says.

    Nothing is warm-up unless the settings say so.
    """

    def __init__(self, proc: int = PROC, tid: int = TID, **settings: Any) -> None:
        self.proc, self.tid = proc, tid
        self.now = START
        self.request = 0
        self.seq = 0
        self.next: dict[int, tuple[int, int]] = {}
        """Request → its next emit and index."""
        settings.setdefault("warmup", NO_WARMUP)
        self.records: list[r.AnyRecord] = [
            r.SessionStart(START, START, 1, "test", "test", {}, settings)
        ]

    def add(self, kind: Any, *fields: Any, **named: Any) -> Any:
        """An event of the program, now."""
        self.seq += 1
        tid = named.pop("tid", self.tid)
        record = kind(self.now, self.seq, named.pop("proc", self.proc), tid, *fields, **named)
        self.records.append(record)
        return record

    def pass_ms(self, ms: float) -> Program:
        self.now += round(ms * MS)
        return self

    def receive(self, *, number: int | None = None, route: int = 0, **params: Any) -> Program:
        """The next request arrives."""
        self.request = number if number is not None else self.request + 1
        self.next[self.request] = (0, 0)
        self.add(r.RequestReceived, self.request, f"r{self.request}", params, route)
        return self

    def prepared(self, after_ms: float) -> Program:
        self.pass_ms(after_ms).add(r.PreprocessDone, self.request)
        return self

    def emit(self, after_ms: float, count: int = 1, **named: Any) -> r.FrameEmit:
        """Frames of the present request (or of ``request``), so many ms later."""
        self.pass_ms(after_ms)
        request = named.pop("request", self.request)
        emit, index = self.next.get(request, (0, 0))
        emit, index = named.pop("emit", emit), named.pop("index", index)
        self.next[request] = (emit + 1, index + count)
        return self.add(r.FrameEmit, request, index, emit, count, **named)

    def emits(self, intervals: Iterable[float], count: int = 1) -> Program:
        for after_ms in intervals:
            self.emit(after_ms, count)
        return self

    def lose(self, emits: int = 1, count: int = 1, after_ms: float = 0) -> Program:
        """Emits that do not arrive in the log."""
        emit, index = self.next[self.request]
        self.next[self.request] = (emit + emits, index + emits * count)
        return self.pass_ms(after_ms)

    def span(self, name: str, ms: float) -> Program:
        self.pass_ms(ms)
        index = self.next.get(self.request, (0, 0))[1]
        self.add(r.Span, self.request, index, SPANS[name], round(ms * MS))
        return self

    def wait(self, ms: float, tid: int | None = None) -> Program:
        """The program waited for a person."""
        self.pass_ms(ms).add(r.Wait, round(ms * MS), tid=self.tid if tid is None else tid)
        return self

    def beat(self, source: str = "probe", behind_ms: float = 0) -> Program:
        """A source says that everything up to a while ago is written."""
        covered = self.now - round(behind_ms * MS)
        self.records.append(r.SourceState(self.now, source, "ok", "", None, covered))
        return self

    def end(self, frames: int | None = None) -> Program:
        self.add(r.StreamEnd, self.request, frames)
        return self

    def model(self, finish: bool = True) -> Model:
        """A model of all that was written."""
        model = Model()
        model.feed_all(self.records)
        if finish:
            model.finish()
        return model

    def summary(self) -> Summary:
        return self.model().summary()

    def tails(self) -> list[Tail]:
        return self.summary().tails.frames


def emits_of(tails: Iterable[Tail]) -> list[int]:
    """The emit numbers of tails."""
    return [tail.emit for tail in tails]
