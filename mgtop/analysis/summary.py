"""What the analysis says about a session: the structs behind ``report --json``.

The names are a contract with scripts and other tools (docs/report-json.md). Times are
milliseconds, memory is MiB; what is not known is ``None``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mgtop.analysis.memory_figures import MemorySummary as MemorySummary
from mgtop.analysis.memory_figures import OomSummary as OomSummary
from mgtop.analysis.memory_figures import PeakMemory as PeakMemory
from mgtop.analysis.memory_figures import Stage as Stage
from mgtop.analysis.memory_figures import StageMemory as StageMemory

EvidenceState = Literal["present", "absent", "not_resolved"]


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the summary's structs."""


class Quantiles(Struct, frozen=True, kw_only=True):
    """Order statistics, linear interpolation between ranks (numpy's default)."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


class FirstFrame(Quantiles, frozen=True, kw_only=True):
    """First-frame latency and the medians of its two parts, ms."""

    preprocess_p50: float | None = None
    sampling_p50: float | None = None


class FrameInterval(Struct, frozen=True, kw_only=True):
    """Interval / n, weighted by frames: an average pace, never a per-frame tail."""

    count: int = 0
    p50: float | None = None


class PlayoutSummary(Struct, frozen=True, kw_only=True):
    """What the viewer saw. ``keeps_up`` is None while it cannot be said."""

    target_fps: float | None = None
    buffer_frames: int | None = None
    keeps_up: bool | None = None
    underruns: int | None = None
    stall_ms: float | None = None
    stall_ms_per_s: float | None = None
    smooth_buffer_ms: float | None = None
    smooth_buffer_frames: int | None = None
    slack_min_ms: float | None = None


class Evidence(Struct, frozen=True, kw_only=True):
    """What one channel says about one tail."""

    channel: str
    state: EvidenceState
    value: float | None = None
    unit: str | None = None
    source: str | None = None
    period_ms: float | None = None
    lead_ms: float | None = None


class CauseShare(Struct, frozen=True, kw_only=True):
    """A cause and the part of the excess that it proves; ``bound``: exact, upper or lower."""

    name: str
    explained_ms: float
    bound: Literal["exact", "upper", "lower"] = "exact"


class Tail(Struct, frozen=True, kw_only=True):
    """One long-tail emit."""

    request: str
    index: int
    emit: int
    t_ms: float
    """Time of the emit since the session's start."""
    interval_ms: float
    excess_ms: float
    visible: bool | None
    cause: str | None
    """A cause's name, ``unexplained``, or None while the judgement is provisional."""
    causes: list[CauseShare] = []
    evidence: list[Evidence] = []
    count: int = 1
    final: bool = True
    proc: int = 0


class Placement(Struct, frozen=True, kw_only=True):
    """Where tails stand. ``p_value``: chance of such a pattern from random places."""

    kind: Literal["fixed", "periodic", "random", "start", "unknown"] = "unknown"
    index: int | None = None
    period: int | None = None
    p_value: float | None = None


class Coincide(Struct, frozen=True, kw_only=True):
    """Tails with each symptom present (None: no source could tell)."""

    vram_drop: int | None = None
    gpu_idle: int | None = None


class Tails(Struct, frozen=True, kw_only=True):
    """All tails, latest last."""

    count: int = 0
    lost_ms: float = 0.0
    share_of_lost: float | None = None
    share_of_time: float | None = None
    level_shifts: int = 0
    warmup: int = 0
    """Tails inside the warm-up: reported, in no statistic."""
    coincide: Coincide = Coincide()
    placement: Placement = Placement()
    frames: list[Tail] = []


class CauseTotal(Struct, frozen=True, kw_only=True):
    """Tails whose main cause this is, and the time they lost."""

    frames: int
    lost_ms: float


class RequestSummary(Struct, frozen=True, kw_only=True):
    """One request."""

    id: str
    warmup: bool
    received_ms: float | None
    preprocess_ms: float | None
    first_frame_ms: float | None
    frames: int
    blocks: int
    ended: bool
    interval_ms: Quantiles
    tails: int
    spans: dict[str, float] = {}
    """Median milliseconds per emit of each span name."""
    cpu_share: float | None = None
    playout: PlayoutSummary = PlayoutSummary()
    params: dict[str, Any] = {}
    proc: int = 0
    unknown_intervals: int = 0
    stopped_ms: float | None = None
    """From its last frame to the end of the recording, where that is a stall and neither the
    request nor the program had come to its end by itself; else None."""
    produced: int | None = None
    """Frames that it made; ``delivered``, ``dropped``, ``duplicated``: what became of them after
    that, None where the program does not say."""
    delivered: int | None = None
    dropped: int | None = None
    duplicated: int | None = None
    note: str | None = None
    sink: str | None = None
    """The output that its frames were seen at, where they come from sinks; ``landed``: whether
    they left it as they were made (live), afterwards (batch), or that cannot be told."""
    landed: Literal["live", "batch", "undecided"] | None = None


class GpuSummary(Struct, frozen=True, kw_only=True):
    """Utilisation of one GPU, percent."""

    uuid: str
    util_p50: float | None = None
    util_min: float | None = None
    memory_util_p50: float | None = None
    busy_share: float | None = None
    period_ms: float | None = None


class CpuSummary(Struct, frozen=True, kw_only=True):
    """CPU of the target's tree (percent of one core) and of the machine (percent of all)."""

    process_p50: float | None = None
    system_p50: float | None = None
    quota_share: float | None = None
    runqueue_ms: float | None = None


class MarkSummary(Struct, frozen=True, kw_only=True):
    """A mark: by a person, or by the program."""

    t_ms: float
    request: str | None
    index: int | None
    note: str


class LogGap(Struct, frozen=True, kw_only=True):
    """A piece of time that is not in the log any more, though it was recorded."""

    begin_ms: float
    end_ms: float
    reason: Literal["retention", "missing", "damaged"] | str
    """Dropped as the configuration or a command said; a file is missing; the end of one is."""
    mib: float | None = None
    """What was dropped."""


class Losses(Struct, frozen=True, kw_only=True):
    """What did not arrive."""

    events_dropped: int = 0
    events_malformed: int = 0
    samples_missed: int = 0
    log_damaged: int = 0
    """Damaged places of the session's log that its reader skipped."""
    records_unknown: int = 0
    """Records of a newer version that its reader skipped."""
    log_gaps: list[LogGap] = []
    """What is not in the log any more, in order of time."""


class ObserverSummary(Struct, frozen=True, kw_only=True):
    """What mgtop itself cost."""

    cpu_percent: float | None = None
    nvml_ms_per_s: float | None = None
    nvml_calls_per_s: float | None = None
    probe_us_per_frame: float | None = None
    terminal_bytes_per_s: float | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer, with its reasons and what to do next."""

    code: Literal[
        "stalls",
        "first_frame",
        "memory",
        "steps",
        "budget",
        "supply",
        "warmup",
        "output",
        "steady",
        "undecided",
    ] = "undecided"
    cause: str | None = None
    text: str = ""
    because: list[str] = []
    next: list[str] = []


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Which session this is."""

    path: str | None = None
    name: str = ""
    started: str | None = None
    duration_ms: float = 0.0
    live: bool = False
    end: str | None = None
    params: dict[str, Any] = {}


class GpuInfo(Struct, frozen=True, kw_only=True):
    """A GPU of the target."""

    uuid: str
    name: str
    total_mib: float | None


class TargetInfo(Struct, frozen=True, kw_only=True):
    """The monitored program."""

    pid: int | None = None
    command: list[str] = []
    exit_code: int | None = None
    exit_signal: int | None = None
    oom_kills: int | None = None
    """Kills for lack of memory that its control group counted meanwhile (its own, or another's)."""
    torch: str | None = None
    python: str | None = None
    gpus: list[GpuInfo] = []
    git: str | None = None
    route: str | None = None
    advice: str | None = None
    """How to start it so that its frames are told, where nothing tells of them."""
    same_ranks: list[int] = []
    """Ranks whose hooks or sinks told of frames that are taken for those of the lowest rank."""


class Environment(Struct, frozen=True, kw_only=True):
    """The machine."""

    os: str | None = None
    kernel: str | None = None
    driver: str | None = None
    cuda: str | None = None
    cpu: str | None = None
    ram_mib: float | None = None
    container: str | None = None
    mgtop: str | None = None


class ActionToFrame(Quantiles, frozen=True, kw_only=True):
    """From a person's input to the first frame whose work began after it, ms, without warm-up.

    ``rule`` says how the begin of work is known: ``spans`` (the frame's first compute span) or
    ``emits`` (at least one of them by the emit before, its request, or the end of a wait).
    """

    actions: int = 0
    unanswered: int = 0
    rule: Literal["spans", "emits"] | None = None


class NoticeSummary(Struct, frozen=True, kw_only=True):
    """What mgtop's own code in the program had to say: ``source`` is hooks, sinks or boot."""

    source: str
    text: str
    t_ms: float


class SinkSummary(Struct, frozen=True, kw_only=True):
    """Outputs of one kind: how their frames landed, and the time that the program spent there."""

    name: str
    landed: Literal["live", "batch", "undecided"]
    outputs: int
    frames: int
    inside_ms: float


class Summary(Struct, frozen=True, kw_only=True):
    """The whole report. ``schema`` changes when a key changes its meaning."""

    schema: int = 1
    session: SessionInfo = SessionInfo()
    target: TargetInfo = TargetInfo()
    environment: Environment = Environment()
    requests: list[RequestSummary] = []
    first_frame_ms: FirstFrame = FirstFrame()
    interval_ms: Quantiles = Quantiles()
    interval_ms_by_count: dict[str, Quantiles] = {}
    frame_interval_ms: FrameInterval = FrameInterval()
    fps: float | None = None
    rtf: float | None = None
    playout: PlayoutSummary = PlayoutSummary()
    tails: Tails = Tails()
    causes: dict[str, CauseTotal] = {}
    memory: MemorySummary = MemorySummary()
    gpu: list[GpuSummary] = []
    cpu: CpuSummary = CpuSummary()
    marks: list[MarkSummary] = []
    losses: Losses = Losses()
    observer: ObserverSummary = ObserverSummary()
    verdict: Verdict = Verdict()
    notices: list[NoticeSummary] = []
    action_to_frame_ms: ActionToFrame = ActionToFrame()
    sinks: list[SinkSummary] = []
