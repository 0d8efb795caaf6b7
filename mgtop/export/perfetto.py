"""Chrome's trace format as JSON, which ui.perfetto.dev opens.

Spans are slices on the threads that did them, emits are instants on a track of their request (with
interval and cause), an arrow leads from an emit to the moment at which its first frame is shown,
readings are counters, marks are instants across everything. Times are µs since the session's
start. Slices of one track must nest, so spans that overlap otherwise get a track of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from mgtop.analysis.log_gaps import told
from mgtop.export.frames import Told, shown
from mgtop.export.machine_at import Machine
from mgtop.export.spans import Span, spans_of
from mgtop.session.reader import read_all

MACHINE = 4_194_304
"""The process number of the machine's counters: none that Linux gives."""
FRAMES, VIEWER = 4_194_305, 4_194_306
"""Thread numbers of the tracks of emits and of what is shown; requests follow on."""
COUNTERS = {
    "gpu_load": ("GPU utilisation, %", 1.0),
    "vram_bytes": ("GPU memory of the device, MiB", 1 << 20),
    "gpu_mhz": ("GPU clock, MHz", 1.0),
    "gpu_power_w": ("GPU power, W", 1.0),
    "cpu_load": ("CPU of the machine, %", 1.0),
    "rss_bytes": ("RAM of the program, MiB", 1 << 20),
}
Event = dict[str, Any]


def write(session: Told, out: TextIO, folder: Path, machine: Machine) -> None:
    """Write the trace; an event a line."""
    encode = msgspec.json.Encoder().encode
    out.write('{"displayTimeUnit":"ms","traceEvents":[\n')
    for i, event in enumerate(_events(session, folder, machine)):
        out.write((",\n" if i else "") + encode(event).decode())
    out.write("\n]}\n")


def _events(session: Told, folder: Path, machine: Machine) -> Iterator[Event]:
    yield from _spans(session, folder)
    yield from _frames(session)
    yield _named("process_name", MACHINE, 0, "machine")
    for name, (title, divisor) in COUNTERS.items():
        for t_ns, value in machine.series.get(name, ()):
            yield {
                "ph": "C", "name": title, "pid": MACHINE, "ts": _us(t_ns, session.begin_ns),
                "args": {"value": round(value / divisor, 3)},
            }  # fmt: skip
    for mark in session.summary.marks:
        yield {
            "ph": "i", "s": "g", "name": mark.note or "mark", "cat": "mark", "pid": MACHINE,
            "tid": 0, "ts": mark.t_ms * 1e3,
        }  # fmt: skip
    for gap in session.summary.losses.log_gaps:
        yield {
            "ph": "X", "name": f"not in the log: {told(gap)}", "cat": "gap", "pid": MACHINE,
            "tid": 0, "ts": gap.begin_ms * 1e3, "dur": (gap.end_ms - gap.begin_ms) * 1e3,
        }  # fmt: skip


def _spans(session: Told, folder: Path) -> Iterator[Event]:
    threads: dict[tuple[int, int], list[Span]] = {}
    for span in spans_of(read_all(folder), session.traffic, session.begin_ns):
        threads.setdefault((span.pid, span.tid), []).append(span)
    for pid in dict.fromkeys(pid for pid, _ in threads):
        yield _named("process_name", pid, 0, "program")  # pages add the numbers
    for (pid, tid), mine in threads.items():
        lanes: list[list[int]] = []
        named: set[int] = set()
        for span in sorted(mine, key=lambda span: (span.begin_ms, -span.duration_ms)):
            begin_ns, lasted_ns = round(span.begin_ms * 1e6), round(span.duration_ms * 1e6)
            lane = _lane(lanes, begin_ns, begin_ns + lasted_ns)
            track = tid + lane * MACHINE
            if lane not in named:
                named.add(lane)
                name = f"thread {tid} +{lane}" if lane else "thread"
                yield _named("thread_name", pid, track, name)
            yield {
                "ph": "X", "name": span.name, "cat": "span", "pid": pid, "tid": track,
                "ts": begin_ns / 1e3, "dur": lasted_ns / 1e3,
                "args": {"request": span.request, "frame": span.index},
            }  # fmt: skip


def _lane(lanes: list[list[int]], begin_ns: int, end_ns: int) -> int:
    """The first lane in which the span nests: ``lanes`` holds the ends of what is open there."""
    for number, ends in enumerate(lanes):
        while ends and ends[-1] <= begin_ns:
            ends.pop()
        if not ends or end_ns <= ends[-1]:
            ends.append(end_ns)
            return number
    lanes.append([end_ns])
    return len(lanes) - 1


def _frames(session: Told) -> Iterator[Event]:
    tracks: dict[tuple[int, str], int] = {}
    first = {(s.pid, s.request, s.index): s for s in shown(session)}
    arrow = 0
    for frame in session.frames:
        key = (frame.pid, frame.request)
        if key not in tracks:
            tracks[key] = len(tracks)
            yield _named("thread_name", frame.pid, _track(FRAMES, tracks[key]),
                         f"emits of {frame.request}")  # fmt: skip
            yield _named("thread_name", frame.pid, _track(VIEWER, tracks[key]),
                         f"shown of {frame.request}")  # fmt: skip
        ts = _us(frame.t_ns, session.begin_ns)
        late = f" late: {frame.cause}" if frame.excess_ms is not None else ""
        yield {
            "ph": "i", "s": "t", "name": f"emit {frame.emit}{late}", "cat": "frame",
            "pid": frame.pid, "tid": _track(FRAMES, tracks[key]), "ts": ts,
            "args": {
                "frames": frame.count, "index": frame.index, "interval_ms": frame.interval_ms,
                "excess_ms": frame.excess_ms, "cause": frame.cause, "warmup": frame.warmup,
            },
        }  # fmt: skip
        seen = first.get((frame.pid, frame.request, frame.index))
        if seen is None:
            continue
        arrow += 1
        shared = {"name": "to the viewer", "cat": "playout", "id": arrow, "pid": frame.pid}
        yield {**shared, "ph": "s", "tid": _track(FRAMES, tracks[key]), "ts": ts}
        yield {
            "ph": "X", "name": f"frame {seen.index}", "cat": "shown", "pid": frame.pid,
            "tid": _track(VIEWER, tracks[key]), "ts": seen.at_ms * 1e3, "dur": seen.ms * 1e3,
        }  # fmt: skip
        yield {**shared, "ph": "f", "bp": "e", "tid": _track(VIEWER, tracks[key]),
               "ts": seen.at_ms * 1e3}  # fmt: skip


def _track(base: int, number: int) -> int:
    return base + 2 * number


def _us(t_ns: int, begin_ns: int) -> float:
    return (t_ns - begin_ns) / 1e3


def _named(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}
