"""How fast is the analysis, and how much does it hold? One long session, fed record by record.

    python benchmarks/analysis.py [--frames 1000000] [--requests 1] [--spans 2]

A stream of 16 frames a second with late frames in it goes through three passes: the requests
alone (intervals, player, tails: the core), the channels alone (what is recorded beside the
frames, as far as these records fill it), and the whole model, which also asks every late
frame for its cause. Then a summary is made, and a picture as the screen asks for one four times
a second. Memory is what each pass added to the process. Figures: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator
from itertools import islice

from mgtop.analysis.channels import Channels
from mgtop.analysis.model import Model
from mgtop.analysis.tails import Passed
from mgtop.analysis.traffic import Traffic
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

FPS = 16.0
LATE_SHARE = 20 / (60 * FPS)
"""Twenty late frames a minute."""
CHUNK = 20_000
START = 1_000_000_000_000
PROC = r.proc_of(4242, 1000)
TID = 4242


def session(frames: int, requests: int, spans: int) -> Iterator[r.AnyRecord]:
    """The records of a session: counters, ``spans`` spans a frame, one heartbeat a second."""
    rnd = random.Random(1)
    settings = {"target_fps": FPS}
    yield r.SessionStart(START, 0, 1, "benchmark", "benchmark", {}, settings)
    now, cpu, seq, beat = START, 0, 0, START
    for number in range(1, requests + 1):
        yield r.RequestReceived(now, seq, PROC, TID, number, f"r{number}", {"fps": FPS})
        now += 1_000_000_000
        for index in range(frames // requests):
            lasted = int(rnd.gauss(60e6, 1.5e6)) + (rnd.random() < LATE_SHARE) * 150_000_000
            begin, now = now, now + lasted
            cpu += lasted // 2
            for span in range(spans):
                seq += 1
                ended = begin + lasted * (span + 1) // (spans + 1)
                yield r.Span(
                    ended, seq, PROC, TID, number, index, 4 + span % 4, lasted // (spans + 1),
                    lasted // 4, 1_000,
                )  # fmt: skip
            seq += 1
            yield r.FrameEmit(
                now, seq, PROC, TID, number, index, index, 1, 0, cpu, index * 1_000, 0, index,
                0, 0, 0,
            )  # fmt: skip
            if now > beat:
                beat = now + 1_000_000_000
                yield r.SourceState(now, "probe", "ok", "", 20_000_000, now - 40_000_000)
        yield r.StreamEnd(now, seq, PROC, TID, number, None)


def resident_mib() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / (1 << 20)


def feed(take: Callable[[r.AnyRecord], None], source: Iterator[r.AnyRecord]) -> tuple[float, float]:
    """CPU seconds spent in ``take``, and MiB that the process grew by; records are made outside."""
    gc.collect()
    before, spent = resident_mib(), 0.0
    while chunk := list(islice(source, CHUNK)):
        began = time.process_time()
        for record in chunk:
            take(record)
        spent += time.process_time() - began
    del chunk
    gc.collect()
    return spent, resident_mib() - before


def took_ms(call: Callable[..., object], *arguments: object) -> float:
    began = time.process_time()
    call(*arguments)
    return (time.process_time() - began) * 1e3


def core(settings: AnalysisSettings) -> tuple[Callable[[r.AnyRecord], None], Traffic]:
    """The requests alone: what takes a record, and the requests."""
    traffic = Traffic(settings)

    def emitted(frame: r.FrameEmit) -> None:
        taken = traffic.emitted(frame)
        if taken is not None and taken[0].detector.open:
            passed = Passed.of(frame.t_ns, {"probe": frame.t_ns - 40_000_000})
            taken[0].detector.take_final(passed)

    takes = {
        r.FrameEmit: emitted,
        r.RequestReceived: traffic.received,
        r.StreamEnd: traffic.ended,
        r.Span: traffic.span,
    }

    def take(record: r.AnyRecord) -> None:
        mine = takes.get(type(record))
        if mine is not None:
            mine(record)

    return take, traffic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=1)
    parser.add_argument("--spans", type=int, default=2)
    args = parser.parse_args()
    shape = (args.frames, args.requests, args.spans)
    per = 1e6 / args.frames
    print(f"{args.frames:,} frames, {args.requests:,} requests, {args.spans} spans a frame")

    list(session(1_000, 1, args.spans))
    take, traffic = core(AnalysisSettings(target_fps=FPS))
    seconds, mib = feed(take, session(*shape))
    first = took_ms(traffic.totals.intervals) + took_ms(traffic.totals.lost_ns)
    print(
        f"core: feed {seconds:.2f} s ({seconds * per:.2f} µs a frame), {mib:.0f} MiB "
        f"({mib * (1 << 20) / args.frames:.0f} bytes a frame), first figures {first:.0f} ms"
    )
    del take, traffic
    seconds, mib = feed(Channels().feed, session(*shape))
    print(f"channels: feed {seconds:.2f} s ({seconds * per:.2f} µs a frame), {mib:.0f} MiB")
    model = Model()
    seconds, mib = feed(model.feed, session(*shape))
    print(f"model: feed {seconds:.2f} s ({seconds * per:.2f} µs a frame), {mib:.0f} MiB")
    first = took_ms(model.summary)
    summary = model.summary()
    late, requests = summary.tails.count, summary.requests
    print(f"first summary {first:.1f} ms: {late:,} late frames, {len(requests):,} requests")
    live(model)


def live(model: Model) -> None:
    """The session goes on: four frames, then a picture of the last minute, again and again."""
    now, last = model.about.last_ns, model.traffic.newest.last
    summaries, views = [], []
    for i in range(40):
        for j in range(4):
            now += 60_000_000
            number = last.emit + 1 + 4 * i + j
            model.feed(r.FrameEmit(now, 0, PROC, TID, last.request, number, number, 1))
        summaries.append(took_ms(model.summary))
        views.append(took_ms(model.view, now, now - 60_000_000_000, now, 120))
    for name, found in (("summary", summaries), ("picture with it made", views)):
        found.sort()
        print(f"live {name}: P50 {found[20]:.2f} ms, max {found[-1]:.2f} ms")


if __name__ == "__main__":
    main()
