"""The records of an even stream, each frame like the one before: for measuring what exports.

Single frames at 16 frames/s with nine spans and the allocator's counters each, GPU memory ten
times a second, utilisation, host CPU and heartbeats, a chunk of them every 20 ms.
"""

from __future__ import annotations

from collections.abc import Iterator

from mgtop.wire.records import (
    FrameEmit,
    GpuMemory,
    GpuUtilisation,
    HostCpu,
    Observer,
    Record,
    SourceState,
    Span,
    TorchMemory,
)

FPS = 16
PROC = 123_456_789 << 22 | 4242
TICK_NS = 20_000_000
FRAME_NS = 1_000_000_000 // FPS
START_NS = 5_000_000_000_000


def frame(n: int, at_ns: int, seq: int) -> list[Record]:
    """What the probe sends for one frame."""
    events: list[Record] = [
        Span(
            t_ns=at_ns - (9 - name) * 5_000_000, seq=seq + name, proc=PROC, tid=4242, request=1,
            index=n, name=name, duration_ns=4_000_000 + n % 1000, cpu_ns=3_900_000,
            run_delay_ns=20_000 if name == 4 else None,
        )
        for name in range(1, 10)
    ]  # fmt: skip
    events.append(
        TorchMemory(
            t_ns=at_ns, seq=seq + 10, proc=PROC, tid=4242, request=1, emit=n, device=0,
            allocated_bytes=21 << 30, reserved_bytes=23 << 30, peak_bytes=22 << 30, retries=0,
            ooms=0, driver_allocs=210, driver_frees=0, segments=180, inactive_bytes=300 << 20,
        )
    )  # fmt: skip
    events.append(
        FrameEmit(
            t_ns=at_ns, seq=seq + 11, proc=PROC, tid=4242, request=1, index=n, emit=n, count=1,
            cpu_ns=n * 40_000_000, run_delay_ns=n * 90_000, major_faults=12, voluntary=n * 3,
            involuntary=n // 7, gc_ns=n * 1000, compiles=4,
        )
    )  # fmt: skip
    return events


def samples(tick: int, at_ns: int) -> list[Record]:
    """What the samplers give in one tick: each at its own rate."""
    records: list[Record] = []
    if tick % 5 == 0:  # device memory changes some ten times a second
        records.append(GpuMemory(t_ns=at_ns, gpu=0, used_bytes=(24 << 30) + tick % 64 * 2097152))
    if tick % 10 == 0:
        records.append(
            GpuUtilisation(
                t_ns=at_ns, gpu=0, percent=90.0, memory_percent=40.0, period_ns=200_000_000,
                source="poll",
            )
        )  # fmt: skip
        records.append(
            HostCpu(
                t_ns=at_ns, cores=64, busy_ns=tick * 9_000_000, idle_ns=tick * 99_000_000,
                tree_cpu_ns=tick * 8_000_000, processes=3, threads=140,
            )
        )  # fmt: skip
    if tick % 50 == 0:
        records += [
            SourceState(t_ns=at_ns, source=source, state="ok", period_ns=TICK_NS, covered_ns=at_ns)
            for source in ("probe", "nvml.memory", "nvml.utilisation", "nvml.processes", "host")
        ]
        records.append(Observer(t_ns=at_ns, cpu_ns=tick * 300_000, rss_bytes=40 << 20))
    return records


def chunks(frames: int) -> Iterator[list[Record]]:
    """The records of every tick that has some."""
    done = tick = 0
    while done < frames:
        at_ns = START_NS + tick * TICK_NS
        records = samples(tick, at_ns)
        while done < frames and START_NS + done * FRAME_NS < at_ns:
            records += frame(done, START_NS + done * FRAME_NS, done * 11)
            done += 1
        tick += 1
        if records:
            yield records
