"""Hand-made summaries that several tests of the report use."""

from __future__ import annotations

from mgtop.analysis.memory_figures import (
    AllocatorSummary,
    CurvesDiffer,
    Growth,
    HostMemorySummary,
    MemoryReading,
    RetryMark,
)
from mgtop.analysis.summary import (
    CauseShare,
    CauseTotal,
    Coincide,
    CpuSummary,
    Environment,
    Evidence,
    FirstFrame,
    FrameInterval,
    GpuInfo,
    GpuSummary,
    Losses,
    MarkSummary,
    MemorySummary,
    ObserverSummary,
    OomSummary,
    PeakMemory,
    Placement,
    PlayoutSummary,
    Quantiles,
    RequestSummary,
    SessionInfo,
    StageMemory,
    Summary,
    Tail,
    Tails,
    TargetInfo,
    Verdict,
)

EMPTY = Summary()

_LOG_INTERVALS = Quantiles(count=4, p50=49.5, p95=189.55, p99=209.11, max=214.0)

FROM_A_LOG = Summary(
    session=SessionInfo(
        path="/sessions/example",
        name="example",
        duration_ms=2601.0,
        end="imported",
        params={"w": 1280, "h": 720, "steps": 24, "fps": 16},
    ),
    target=TargetInfo(route="log"),
    requests=[
        RequestSummary(
            id="7f3a",
            warmup=False,
            received_ms=0.0,
            preprocess_ms=38.0,
            first_frame_ms=1120.0,
            frames=30,
            blocks=5,
            ended=True,
            interval_ms=_LOG_INTERVALS,
            tails=1,
            spans={"decode": 14.0, "resize": 10.0, "h2d": 6.0},
            unknown_intervals=9,
        )
    ],
    first_frame_ms=FirstFrame(
        count=1, p50=1120.0, p95=1120.0, p99=1120.0, max=1120.0,
        preprocess_p50=38.0, sampling_p50=1082.0,
    ),
    interval_ms=_LOG_INTERVALS,
    interval_ms_by_count={"1": _LOG_INTERVALS},
    frame_interval_ms=FrameInterval(count=4, p50=49.5),
    playout=PlayoutSummary(target_fps=16.0, buffer_frames=1),
    tails=Tails(
        count=1,
        lost_ms=166.0,
        share_of_lost=1.0,
        share_of_time=0.4676,
        frames=[
            Tail(
                request="7f3a", index=11, emit=11, t_ms=1690.0, interval_ms=214.0,
                excess_ms=166.0, visible=None, cause="unexplained",
                evidence=[
                    Evidence(channel="vram_drop", state="not_resolved"),
                    Evidence(channel="gpu_idle", state="not_resolved"),
                ],
            )
        ],
    ),
    causes={"unexplained": CauseTotal(frames=1, lost_ms=166.0)},
    verdict=Verdict(
        code="stalls",
        text="Steady rhythm, occasional stalls; not a slow first frame.",
        because=["1 of 4 intervals is long-tail: 214 ms at index 11, where 48 ms is usual."],
        next=["Record the same run with the probe: a log alone shows no causes."],
    ),
)  # fmt: skip

BLOCKS_ON_A_GPU = Summary(
    session=SessionInfo(
        path="/home/u/.local/state/mgtop/sessions/20261130-221500-stormlight-steps=16",
        name="stormlight",
        started="2026-11-30T22:15:00+01:00",
        duration_ms=754_321.0,
        live=True,
        params={"steps": 16, "resolution": "1280x720"},
    ),
    target=TargetInfo(
        pid=4242,
        command=["python", "infer.py", "--prompt", "星际\x1b[31m"],
        torch="2.11.0+cu128",
        python="3.12.4",
        gpus=[GpuInfo(uuid="GPU-8f6a", name="NVIDIA H200", total_mib=143_771.0)],
        git="a74893a",
        route="probe",
    ),
    environment=Environment(
        os="Ubuntu 24.04", kernel="6.8.0", driver="580.95.05", cuda="13.0",
        cpu="EPYC 9534", ram_mib=1_547_000.0, container="docker", mgtop="0.1.0",
    ),
    requests=[
        RequestSummary(
            id=f"r{number}", warmup=number == 0, received_ms=1000.0 * number,
            preprocess_ms=40.0, first_frame_ms=2100.0, frames=1209, blocks=101,
            ended=number < 13, interval_ms=Quantiles(count=98, p50=600.0, p95=640.0, max=1200.0),
            tails=2, note="overlapping requests" if number == 1 else None,
        )
        for number in range(14)
    ],
    first_frame_ms=FirstFrame(count=13, p50=2100.0, p95=2150.0, p99=2170.0, max=2175.0),
    interval_ms=Quantiles(count=1274, p50=600.4, p95=640.0, p99=1100.0, max=1200.0),
    interval_ms_by_count={
        "12": Quantiles(count=1274, p50=600.4, p95=640.0, p99=1100.0, max=1200.0),
        "9": Quantiles(count=3, p50=450.0, p95=455.0, p99=455.9, max=456.0),
    },
    frame_interval_ms=FrameInterval(count=15_288, p50=50.03),
    fps=19.42,
    rtf=0.8005,
    playout=PlayoutSummary(
        target_fps=16.0, buffer_frames=9, keeps_up=True, underruns=3, stall_ms=412.0,
        stall_ms_per_s=0.55, smooth_buffer_ms=840.0, smooth_buffer_frames=14, slack_min_ms=0.0,
    ),
    tails=Tails(
        count=14,
        lost_ms=8300.0,
        share_of_lost=0.71,
        share_of_time=0.011,
        level_shifts=1,
        warmup=2,
        coincide=Coincide(vram_drop=3, gpu_idle=None),
        placement=Placement(kind="periodic", period=40, p_value=0.00071),
        frames=[
            Tail(
                request="r1", index=480 * number, emit=40 * number, t_ms=60_000.0 * number,
                interval_ms=1200.0, excess_ms=600.0 - number, visible=number % 2 == 0,
                cause=None if number == 13 else "supply", count=12, final=number < 13,
                causes=[
                    CauseShare(name="supply", explained_ms=410.0),
                    CauseShare(name="alloc_retry", explained_ms=50.0, bound="upper"),
                ]
                if number < 2
                else [],
                evidence=[
                    Evidence(channel="gpu_idle", state="not_resolved"),
                    Evidence(
                        channel="vram_drop", state="present", value=400.0, unit="MiB",
                        source="nvml", period_ms=20.0, lead_ms=610.0,
                    ),
                    Evidence(
                        channel="supply", state="present", value=410.0, unit="ms",
                        source="span decode", lead_ms=560.0,
                    ),
                    Evidence(channel="gc", state="absent"),
                ]
                if number == 0
                else [],
            )
            for number in range(14)
        ],
    ),
    causes={
        "unexplained": CauseTotal(frames=1, lost_ms=593.0),
        "supply": CauseTotal(frames=13, lost_ms=7707.0),
    },
    memory=MemorySummary(
        total_mib=143_771.0, baseline_mib=0.0, resident_mib=38_400.0, first_frame_mib=41_200.0,
        steady_mib=41_900.0,
        peak=PeakMemory(mib=52_000.0, stage="steady", t_ms=700_000.0, source="process"),
        stages={
            "load": StageMemory(
                process_mib=39_000.0, device_mib=39_500.0, t_ms=20_000.0, inferred=True
            ),
            "steady": StageMemory(process_mib=52_000.0, allocated_mib=50_000.0, t_ms=700_000.0),
        },
        peak_extra_mib=13_600.0, shape="rising", growth_mib_per_frame=0.8125,
        frames_to_limit=104_000, retries=3,
        ooms=[
            OomSummary(
                stage="steady", frame=310, message="CUDA out of memory. Tried to …",
                t_ms=700_100.0, request="r3", amounts_mib={"requested": 4_096.0, "free": 312.5},
                process_mib=52_000.0, allocated_mib=50_000.0, reserved_mib=51_500.0,
                seen=["printed", "raised"],
            )
        ],
        text="Rises by 0.812 MiB a frame (95 %: 0.8 to 0.82) since frame 310.",
        minutes_to_limit=108.3,
        growth=Growth(
            mib_per_frame=0.8125, low_mib=0.8, high_mib=0.82, of="allocated", rising=True,
            since_frame=310, frames=14_900,
        ),
        readings={
            "before_load": MemoryReading(t_ms=10.0, process_mib=0.0),
            "resident": MemoryReading(
                t_ms=25_000.0, process_mib=38_400.0, allocated_mib=36_900.0, reserved_mib=37_800.0
            ),
        },
        differ=[
            CurvesDiffer(
                kind="missed", stage="first_frame", mib=6_000.0, share=0.12, period_ms=100.0,
                use_ms=50.0, text="Polling every 100 ms missed 6,000 MiB (12 %) of the peak.",
            )
        ],
        retry_marks=[RetryMark(t_ms=612_000.0, stage="steady", frame=12_000, count=1)],
        allocator=AllocatorSummary(backend="native", expandable=False, limit_mib=60_000.0),
        host=HostMemorySummary(
            peak_mib=21_000.0, stage="load", t_ms=19_000.0, limit_mib=64_000.0, shape="flat"
        ),
    ),
    gpu=[
        GpuSummary(
            uuid="GPU-8f6a", util_p50=97.0, util_min=0.0, memory_util_p50=41.0,
            busy_share=0.93, period_ms=200.0,
        )
    ],
    cpu=CpuSummary(process_p50=183.0, system_p50=12.5, quota_share=0.46, runqueue_ms=0.31),
    marks=[MarkSummary(t_ms=61_230.0, request="r1", index=500, note="scene change")],
    losses=Losses(events_dropped=17, events_malformed=1),
    observer=ObserverSummary(
        cpu_percent=1.5, nvml_ms_per_s=9.0, nvml_calls_per_s=120.0, probe_us_per_frame=28.0
    ),
    verdict=Verdict(
        code="stalls",
        cause="supply",
        text="Steady rhythm with occasional stalls; the decode of the input held up 13 of 14.",
        because=["P50 600 ms, P99 1,100 ms", "decode took 410 ms more than usual"],
        next=["Decode in more threads, then measure the P95 again."],
    ),
)  # fmt: skip
