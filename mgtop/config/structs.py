"""The run configuration as typed structs; ``docs/configuration.md`` describes each key.

These structs are the schema: the loader (:mod:`mgtop.config.load`) turns YAML into them and
reports what does not fit with file, line and key.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: unknown keys are errors."""


class Warmup(Struct, frozen=True, kw_only=True):
    """What stays out of every statistic (docs/concepts.md, warm-up)."""

    requests: Union[Literal["auto"], Count] = "auto"
    """First requests left out; ``auto``: the first one, where another follows."""
    emits: Count = 2
    """First emits of each request; an interval is out if its end emit is."""


class Detect(Struct, frozen=True, kw_only=True):
    """The rule for long-tail frames."""

    ratio: Positive = 2.0
    """Interval per frame over this multiple of the recent median…"""
    floor_ms: NotNegative = 8.0
    """…and over it by this much per emit."""
    history: Annotated[int, msgspec.Meta(ge=8)] = 240
    """Emits of the recent past that make the median."""


class Playout(Struct, frozen=True, kw_only=True):
    """The virtual viewer."""

    buffer_frames: Union[Literal["first_block"], Count] = "first_block"
    """Frames that must have arrived before play starts."""


class Thresholds(Struct, frozen=True, kw_only=True):
    """Every threshold of verdict and symptoms (docs/concepts.md)."""

    first_frame_ms: Positive = 2000.0
    memory_share: Positive = 0.95
    vram_drop_mib: Positive = 64.0
    vram_drop_share: Positive = 0.005
    explained_share: Positive = 0.5
    """Causes must explain this share of a tail's excess together, to name one."""
    stall_intervals: Positive = 4.0
    """An open stall is shown as *stalled* once the last frame is this many medians old…"""
    stall_ms: Positive = 500.0
    """…and at least this old."""
    idle_share: Positive = 0.2
    steady_tail_share: NotNegative = 0.05
    """Tails that make up less than this share of emits are *occasional*."""
    supply_share: Positive = 0.2


class AnalysisSettings(Struct, frozen=True, kw_only=True):
    """All that the analysis needs to know; stored in the log's first record."""

    target_fps: Positive | None = None
    warmup: Warmup = Warmup()
    detect: Detect = Detect()
    playout: Playout = Playout()
    thresholds: Thresholds = Thresholds()


class Hook(Struct, frozen=True, kw_only=True):
    """One configured hook: ``module:Class.method`` becomes an event or a span."""

    target: str
    event: str | None = None
    span: str | None = None
    count: str | None = None
    request: str | None = None
    every: Union[str, int, None] = None
    when: str | None = None
    """Condition on the call, as ``args[1] == 'frame_ready'``: without it, every call counts."""


class LogPattern(Struct, frozen=True, kw_only=True):
    """A user's regular expression with named groups: event, request, index, t_ms, dt_ms, count."""

    pattern: str


class Frames(Struct, frozen=True, kw_only=True):
    """Where frame events come from."""

    from_: Literal["auto", "probe", "hooks", "sinks", "log"] = msgspec.field(
        name="from", default="auto"
    )
    hooks: list[Hook] = []
    log: LogPattern | None = None


class Smoke(Struct, frozen=True, kw_only=True):
    """The smallest run of the target, for ``mgtop smoke``."""

    command: list[str]
    output: str


class Retention(Struct, frozen=True, kw_only=True):
    """What is dropped by itself; nothing is where nothing is given (docs/session-log.md)."""

    size_mib: Positive | None = None
    """Of the session's log: the oldest finished files of it are dropped above."""
    age_hours: Positive | None = None
    """Files of the session's log that ended longer ago are dropped."""
    all_size_mib: Positive | None = None
    """Of all sessions together: the oldest that have ended are deleted above."""
    all_age_hours: Positive | None = None
    """Sessions that ended longer ago are deleted."""

    @property
    def drops(self) -> bool:
        """Whether anything is to be dropped."""
        return self != Retention()


class RunConfig(Struct, frozen=True, kw_only=True):
    """One run: what to start, with which parameters, and how to judge it."""

    command: list[str] = []
    name: str | None = None
    baseline: str | None = None
    python: str | None = None
    conda: str | None = None
    cwd: str = "."
    env: dict[str, str] = {}
    params: dict[str, Any] = {}
    edit: dict[str, dict[str, str]] = {}
    frames: Frames = Frames()
    warmup: Warmup = Warmup()
    target_fps: Positive | None = None
    detect: Detect = Detect()
    playout: Playout = Playout()
    thresholds: Thresholds = Thresholds()
    fallback: dict[str, list[Any]] = {}
    smoke: Smoke | None = None
    gate: list[str] = []
    retention: Retention = Retention()

    def analysis_settings(self) -> AnalysisSettings:
        """The part that the analysis sees; the target fps falls back to ``params.fps``."""
        fps = self.target_fps
        if fps is None:
            value = self.params.get("fps")
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                fps = float(value)
        return AnalysisSettings(
            target_fps=fps,
            warmup=self.warmup,
            detect=self.detect,
            playout=self.playout,
            thresholds=self.thresholds,
        )
