"""Writes a made-up session, as the recorder would: for measuring what reads sessions.

    python benchmarks/synthetic.py FOLDER [--history 60] [--live 30] [--fps 16] [--block 1]

``--history`` seconds are there at once and end now; then the session grows for ``--live``
seconds under the recorder's lock, one append every 20 ms. The same seed gives the same frames.
Nothing in it was measured: it says so in its name, its command and its GPU's name.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mgtop.session.lock import SessionLock
from mgtop.session.writer import LogWriter
from mgtop.wire import records as r

MS = 1_000_000
S = 1_000 * MS
POLL_NS = 20 * MS
MIB = 1 << 20
PID = 4_194_000
PROC = r.proc_of(PID, 1)
TOTAL_MIB, RESIDENT_MIB = 81_559, 21_400
SPANS = {"decode": 0.06, "h2d": 0.02, "forward": 0.6, "vae_decode": 0.2, "encode": 0.08}
"""Span names and their shares of an ordinary interval."""
LATE = ("gc", "decode", "alloc_retry", "plain")
"""What makes late emits, in turn; the last one leaves no trace."""


@dataclass(frozen=True)
class Options:
    """What the session is like.

    Attributes:
        fps: frames per second.
        block: frames per emit.
        late_every: one emit in so many is late, at random places (0: none).
        request_s: a new request begins after this long.
        gpu: whether there is a GPU.
    """

    fps: float = 16.0
    block: int = 1
    late_every: int = 120
    request_s: float = 600.0
    gpu: bool = True
    seed: int = 0


class Session:
    """The records of a session in the order in which they arrive."""

    def __init__(self, options: Options, start_ns: int, wall_ns: int) -> None:
        self._options = options
        self._random = random.Random(options.seed)
        self._start_ns = start_ns
        self._wall_ns = wall_ns
        self._records: list[r.Record] = []
        self._seq = 0
        self._request, self._emit, self._late = 0, 0, 0
        self._request_ends_ns = 0
        self._gc_ns, self._cpu_ns, self._busy_ns, self._idle_ns = 0, 0, 0, 0
        self._retries, self._memory_mib = 0, RESIDENT_MIB
        self._load = 0.0
        self._cause_of_this: str | None = None  # of the emit that comes next
        self._extra_ns = 0
        self._repeat: list[tuple[int, int, Callable[[int], None]]] = []
        for period_ms, make in (
            (16, self._memory),
            (100, self._host),
            (200, self._utilisation),
            (1000, self._heartbeat),
        ):
            self._repeat.append((start_ns, period_ms * MS, make))
        self._next_emit_ns = start_ns + 1_500 * MS
        self._begin()

    def until(self, t_ns: int) -> list[r.Record]:
        """What came up to a time and was not given before."""
        while True:
            due = min(self._repeat, key=lambda item: item[0])
            if min(due[0], self._next_emit_ns) > t_ns:
                break
            if self._next_emit_ns <= due[0]:
                self._frame(self._next_emit_ns)
                continue
            at_ns, period_ns, make = due
            make(at_ns)
            self._repeat[self._repeat.index(due)] = (at_ns + period_ns, period_ns, make)
        records, self._records = self._records, []
        return records

    def end(self, t_ns: int) -> list[r.Record]:
        """The last records."""
        self._event(r.StreamEnd, t_ns, self._request)
        self._records += [
            r.TargetExit(t_ns=t_ns, code=0, signal=None),
            r.SessionEnd(t_ns=t_ns, reason="target_exit"),
        ]
        records, self._records = self._records, []
        return records

    def _event(self, kind: Callable[..., r.Record], t_ns: int, *rest: object) -> None:
        self._records.append(kind(t_ns, self._seq, PROC, PID, *rest))
        self._seq += 1

    def _begin(self) -> None:
        t_ns, options = self._start_ns, self._options
        params = {"width": 1280, "height": 720, "steps": 4, "fps": options.fps}
        self._records += [
            r.SessionStart(
                t_ns=t_ns,
                wall_ns=self._wall_ns,
                schema=1,
                mgtop="0",
                name="synthetic",
                params=params,
                settings={"target_fps": options.fps},
            ),
            r.TargetStart(t_ns=t_ns, pid=PID, proc=PROC, command=["synthetic", "session"]),
        ]
        if options.gpu:
            name, total = "synthetic GPU", TOTAL_MIB * MIB
            self._records.append(
                r.GpuDevice(
                    t_ns=t_ns, gpu=0, uuid="synthetic", name=name, total_bytes=total, ordinals=[0]
                )
            )
        else:
            self._records.append(
                r.SourceState(t_ns=t_ns, source="nvml", state="absent", reason="no NVIDIA driver")
            )
        self._event(r.Hello, t_ns, "0", "3.11.0")
        self._event(r.Load, t_ns, False)
        self._event(r.Load, t_ns + 900 * MS, True)

    # ---------------------------------------------------------------------------- frames

    def _frame(self, t_ns: int) -> None:
        options, usual_ns = self._options, round(self._options.block / self._options.fps * S)
        if t_ns >= self._request_ends_ns:
            if self._request:
                self._event(r.StreamEnd, t_ns, self._request)
            self._request += 1
            self._emit = 0
            self._request_ends_ns = t_ns + round(options.request_s * S)
            received_ns = t_ns - 400 * MS
            self._event(r.RequestReceived, received_ns, self._request, f"r{self._request}", {})
            self._event(r.PreprocessDone, received_ns + 60 * MS, self._request)
            self._emitted(t_ns, usual_ns, None)
        else:
            self._emitted(t_ns, usual_ns, self._cause_of_this)
        chance = 1 / options.late_every if options.late_every else 0.0
        self._cause_of_this = None
        extra_ns = 0
        if self._emit > 8 and self._random.random() < chance:
            self._cause_of_this = LATE[self._late % len(LATE)]
            self._late += 1
            extra_ns = round(usual_ns * self._random.uniform(1.5, 6.0))
        self._extra_ns = extra_ns
        jitter_ns = round(self._random.gauss(0.0, 0.04) * usual_ns)
        self._next_emit_ns = t_ns + max(MS, usual_ns * 97 // 100 + jitter_ns + extra_ns)

    def _emitted(self, t_ns: int, usual_ns: int, late: str | None) -> None:
        index = self._emit * self._options.block
        at_ns = t_ns - usual_ns
        for name, share in SPANS.items():
            duration_ns = round(share * usual_ns * self._random.uniform(0.9, 1.1))
            if (late, name) in (("decode", "decode"), ("alloc_retry", "forward")):
                duration_ns += self._extra_ns
            at_ns = min(t_ns, at_ns + duration_ns)
            number = r.SPAN_NAMES.index(name)
            self._event(r.Span, at_ns, self._request, index, number, duration_ns)
        if late == "gc":
            self._gc_ns += self._extra_ns
            self._event(r.GarbageCollection, t_ns - MS, self._extra_ns, 2)
        if late == "alloc_retry":
            self._retries += 1
            self._memory_mib = RESIDENT_MIB - 400
        self._cpu_ns += usual_ns // 3
        self._event(
            r.FrameEmit, t_ns, self._request, index, self._emit, self._options.block, 0,
            self._cpu_ns, 0, 0, self._emit, 0, self._gc_ns, 0,
        )  # fmt: skip
        if self._options.gpu:
            allocated, reserved = 18_000 * MIB, self._memory_mib * MIB
            self._event(
                r.TorchMemory, t_ns, self._request, self._emit, 0,
                allocated, reserved, allocated, self._retries, 0, 40 + self._retries, self._retries,
            )  # fmt: skip
        self._emit += 1

    # --------------------------------------------------------------------------- samples

    def _memory(self, t_ns: int) -> None:
        if not self._options.gpu:
            return
        self._memory_mib = min(RESIDENT_MIB, self._memory_mib + 20)
        wave = (t_ns // (250 * MS)) % 4 * 32
        used = (self._memory_mib + 3_200 + wave) * MIB
        self._records.append(r.GpuMemory(t_ns=t_ns, gpu=0, used_bytes=used))

    def _utilisation(self, t_ns: int) -> None:
        if not self._options.gpu:
            return
        percent = float(self._random.choice((93, 95, 97, 97, 98)))
        self._records.append(
            r.GpuUtilisation(
                t_ns=t_ns, gpu=0, percent=percent, memory_percent=40.0,
                period_ns=200 * MS, source="ring",
            )
        )  # fmt: skip
        used = self._memory_mib * MIB
        self._records.append(
            r.GpuProcess(
                t_ns=t_ns, gpu=0, pid=PID, used_bytes=used, relation="target", how="pid"
            )
        )  # fmt: skip

    def _host(self, t_ns: int) -> None:
        self._load = 0.8 * self._load + 0.2 * self._random.uniform(0.2, 0.9)
        self._busy_ns += round(16 * 100 * MS * self._load * 0.2)
        self._idle_ns += round(16 * 100 * MS * (1 - self._load * 0.2))
        self._records.append(
            r.HostCpu(
                t_ns=t_ns, cores=16, busy_ns=self._busy_ns, idle_ns=self._idle_ns,
                tree_cpu_ns=round((t_ns - self._start_ns) * 1.1), processes=1, threads=40,
            )
        )  # fmt: skip

    def _heartbeat(self, t_ns: int) -> None:
        periods = {"probe": 20 * MS, "host": 100 * MS}
        if self._options.gpu:
            periods["nvml"] = 16 * MS
        self._records += [
            r.SourceState(t_ns=t_ns, source=name, state="ok", period_ns=period, covered_ns=t_ns)
            for name, period in periods.items()
        ]
        age_ns = t_ns - self._start_ns
        self._records.append(r.Observer(t_ns=t_ns, cpu_ns=age_ns // 70, rss_bytes=30 * MIB))
        self._event(r.Pulse, t_ns, 0, age_ns // 10_000, self._seq)


def appends(session: Session, begin_ns: int, end_ns: int) -> Iterator[list[r.Record]]:
    """The records from one time to another, as the recorder appends them."""
    for t_ns in range(begin_ns, end_ns, POLL_NS):
        yield session.until(t_ns)


def write(folder: Path, history_s: float, live_s: float, options: Options) -> int:
    """Write a session; return how many records. A live one grows in real time."""
    folder.mkdir(parents=True, exist_ok=True)
    # A recorded session may have been made on a machine that was up for longer than this one.
    now_ns = max(time.monotonic_ns(), 1 + round(history_s * S))
    start_ns = now_ns - round(history_s * S)
    session = Session(options, start_ns, time.time_ns() - (now_ns - start_ns))
    writer = LogWriter(folder)
    count = 0
    with SessionLock(folder):
        for records in appends(session, start_ns, now_ns):
            writer.append(records)
            count += len(records)
        print(f"{count} records of {history_s:.0f} s", flush=True)
        due_ns = now_ns
        while due_ns < now_ns + live_s * S:
            due_ns += POLL_NS
            time.sleep(max(0.0, (due_ns - time.monotonic_ns()) / S))
            records = session.until(due_ns)
            writer.append(records)
            count += len(records)
        writer.append(session.end(due_ns))
    writer.close()
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--history", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--live", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--fps", type=float, default=16)
    parser.add_argument("--block", type=int, default=1, help="frames per emit")
    parser.add_argument("--late-every", type=int, default=120, metavar="EMITS")
    parser.add_argument("--request-s", type=float, default=600)
    parser.add_argument("--no-gpu", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    options = Options(
        fps=args.fps,
        block=args.block,
        late_every=args.late_every,
        request_s=args.request_s,
        gpu=not args.no_gpu,
        seed=args.seed,
    )
    if args.live and args.history > time.monotonic():
        parser.error(
            f"a live session began at most {time.monotonic():.0f} s ago, when this machine did; "
            "take a shorter --history, or no --live"
        )
    if (args.folder / "session.log").exists():
        parser.error(f"{args.folder} already holds a session")
    write(args.folder, args.history, args.live, options)
    print(os.fspath(args.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
