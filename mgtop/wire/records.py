"""Every record that mgtop sends, stores or analyses: one struct each, the only schema.

Each record is a msgpack array ``[tag, t_ns, …]``. Times are integer nanoseconds of
``CLOCK_MONOTONIC``; memory is bytes; a field that is not known is ``None``, never 0.
Tags are part of the log format and never change their meaning. New fields are only ever
appended, with a default, so that older logs stay readable and older readers skip them.

Tags 1–31 are events sent by the probe through a FIFO (or read from a text log); tags
32 and up are written by the recorder.

Counters are cumulative unless the name says otherwise; readers take differences.
"""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec

Route = Literal["probe", "hooks", "sinks", "log", "observe"]
"""Where frames come from; a higher one in this order wins when several speak."""

SCHEMA = 1
"""Of the log as a whole: it changes only where an older reader would misread a newer log."""

ROUTES: tuple[Route, ...] = ("probe", "hooks", "sinks", "log", "observe")


class Record(msgspec.Struct, array_like=True, frozen=True):
    """Base of all records. ``t_ns`` is the time of the event, not of its arrival."""

    t_ns: int


class Event(Record, frozen=True):
    """Base of the probe's events.

    ``seq`` counts the attempts to send of one process, so gaps are lost events. ``proc``
    names the process for good: ``start_ticks << 22 | pid``, where ``start_ticks`` is field
    22 of ``/proc/PID/stat``. ``tid`` is the kernel's thread id (0: not known).
    """

    seq: int
    proc: int
    tid: int


# ---------------------------------------------------------------- events (probe, log)


class Hello(Event, frozen=True, tag=1):
    """A process introduces itself.

    At its first event, and again about once a second of activity: a reader may come late.
    """

    probe: str
    python: str
    torch: str | None = None
    rank: int | None = None
    route: int = 0
    """Index into :data:`ROUTES`."""
    argv0: str = ""
    keeps_gil: bool = True
    """False where ``_ctypes`` is missing and writes release the GIL."""


class Pulse(Event, frozen=True, tag=2):
    """The probe's own account, about once a second of activity."""

    dropped: int
    """Events not sent because the FIFO was full and had a reader, since process start."""
    cost_ns: int
    """Time spent in the probe, extrapolated from timed calls, since process start."""
    calls: int


class Name(Event, frozen=True, tag=3):
    """Text for a small number that spans and queues use.

    Numbers below 16 are :data:`SPAN_NAMES` and are never sent.
    """

    id: int
    text: str


class RequestReceived(Event, frozen=True, tag=4):
    """A request arrived. ``request`` is the process's own number for it, from 1."""

    request: int
    id: str
    params: dict[str, Any] = {}
    route: int = 0


class PreprocessDone(Event, frozen=True, tag=5):
    """Decode, resize and upload of the request's input have all finished."""

    request: int


class FrameEmit(Event, frozen=True, tag=6):
    """``count`` frames were written to the output channel together.

    ``index`` is the index of their first frame and ``emit`` the number of the emit, both
    from 0 within the request. ``request`` 0 means that overlapping requests could not be
    told apart. The context counters are cumulative, of the emitting thread unless said.
    """

    request: int
    index: int
    emit: int
    count: int
    route: int = 0
    cpu_ns: int | None = None
    """CPU time of the thread (schedstat, field 1)."""
    run_delay_ns: int | None = None
    """Time the thread was runnable and waited for a core (schedstat, field 2)."""
    major_faults: int | None = None
    voluntary: int | None = None
    """Voluntary context switches."""
    involuntary: int | None = None
    gc_ns: int | None = None
    """Time in Python garbage collections, whole process."""
    compiles: int | None = None
    """torch compilations started, whole process."""
    interval_ns: int | None = None
    """The interval as a log states it (``dt=``); else it is computed from neighbours."""


class StreamEnd(Event, frozen=True, tag=7):
    """The request is over. ``frames``: total as the program counts them, if it said."""

    request: int
    frames: int | None = None


class Span(Event, frozen=True, tag=8):
    """A named piece of work that ended at ``t_ns`` and took ``duration_ns``.

    ``index`` is the frame that the work was for (−1: not known). ``cpu_ns`` and
    ``run_delay_ns`` are the thread's, over the span alone; ``thread_cpu_ns`` and
    ``thread_delay_ns`` are its totals at the span's end, so that what it did between two
    spans is known as well. All are absent for short spans.
    """

    request: int
    index: int
    name: int
    duration_ns: int
    cpu_ns: int | None = None
    run_delay_ns: int | None = None
    thread_cpu_ns: int | None = None
    thread_delay_ns: int | None = None


class Load(Event, frozen=True, tag=9):
    """``done`` False: loading of weights begins; True: it is finished."""

    done: bool


class Queue(Event, frozen=True, tag=10):
    """State of a named queue after a change; ``dropped`` is cumulative."""

    name: int
    depth: int
    capacity: int
    dropped: int = 0


class Mark(Event, frozen=True, tag=11):
    """A note put on the time axis by the program (``proc`` ≠ 0) or by a viewer (0)."""

    text: str


class Wait(Event, frozen=True, tag=12):
    """The program waited ``duration_ns`` for a person, until ``t_ns``."""

    duration_ns: int


class GarbageCollection(Event, frozen=True, tag=13):
    """One Python garbage collection, finished at ``t_ns``."""

    duration_ns: int
    generation: int


class TorchMemory(Event, frozen=True, tag=14):
    """The caching allocator's counters of one device, read at an emit (``request``, ``emit``).

    Or in the work for that emit, at the end of a span that took long.

    ``peak_bytes`` is the allocator's own peak of allocated bytes.
    """

    request: int
    emit: int
    device: int
    allocated_bytes: int
    reserved_bytes: int
    peak_bytes: int
    retries: int
    ooms: int
    driver_allocs: int
    driver_frees: int
    segments: int | None = None
    inactive_bytes: int | None = None
    reserved_peak_bytes: int | None = None
    """The allocator's own peak of reserved bytes.

    A reading between frames (loading done, a request received) has ``request`` 0.
    """


class Compile(Event, frozen=True, tag=15):
    """A compilation, capture or autotune finished at ``t_ns``."""

    duration_ns: int
    what: str = ""


class GpuWork(Event, frozen=True, tag=16):
    """Work between pairs of CUDA events of one emit, on the GPU's own time line.

    ``busy_ns`` lies inside pairs; ``gap_ns`` between the pairs of this emit and since the
    last pair of the emit before. ``t_ns`` is the emit's time.
    """

    request: int
    emit: int
    busy_ns: int
    gap_ns: int
    pairs: int


class Failure(Event, frozen=True, tag=17):
    """An exception that the program raised, as the probe saw it."""

    kind: str
    text: str
    request: int = 0
    index: int = -1


class Delivery(Event, frozen=True, tag=18):
    """Frames handed on after production; all cumulative within the request."""

    request: int
    delivered: int
    dropped: int
    duplicated: int


class Notice(Event, frozen=True, tag=19):
    """Something that mgtop's own code in the program has to say to the user.

    ``source``: ``hooks``, ``sinks`` or ``boot``. The same text from several processes is one
    thing.
    """

    source: str
    text: str


class Action(Event, frozen=True, tag=20):
    """A person's input arrived at the program: a key, a line, a message of the viewer.

    ``kind``: ``input``, ``key``, ``message``, or what the configuration calls it.
    """

    kind: str = ""


class TorchAllocator(Event, frozen=True, tag=21):
    """What the framework's allocator on ``device`` is; told again every ten seconds of activity.

    ``backend``: ``native`` or ``cudaMallocAsync``. ``limit_bytes``: where the program capped
    itself. ``total_bytes``: of the device, as torch tells it.
    """

    device: int
    backend: str | None = None
    settings: str = ""
    expandable: bool | None = None
    limit_bytes: int | None = None
    total_bytes: int | None = None


class SegmentMap(Event, frozen=True, tag=22):
    """A map of the allocator's segments was taken at an emit, on request.

    It took ``duration_ns``, until ``t_ns``. ``token`` names the request for it. ``error``: why
    there is none.
    """

    request: int
    index: int
    duration_ns: int
    token: str
    segments: int | None = None
    reserved_bytes: int | None = None
    allocated_bytes: int | None = None
    error: str = ""


class Sink(Event, frozen=True, tag=23):
    """Frames of a request of route ``sinks`` leave the program through that output.

    Sent before the first of them. ``sink``: the output's name (``cv2.VideoWriter``). ``whole``: it
    takes complete clips in one call. ``params``: ``width``, ``height``, ``fps``, where known.
    """

    request: int
    sink: str
    whole: bool = False
    params: dict[str, Any] = {}


# ------------------------------------------------------------------ records (recorder)


class SessionStart(Record, frozen=True, tag=32):
    """First record of a log. ``wall_ns`` is Unix time at ``t_ns``: the one clock pair.

    0 where the time of the run is not known (an imported log).
    """

    wall_ns: int
    schema: int
    mgtop: str
    name: str
    params: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    """:class:`mgtop.config.AnalysisSettings` as plain data."""
    environment: dict[str, Any] = {}
    """os, kernel, driver, cuda, cpu, ram_mib, container; each may be missing."""


class TargetStart(Record, frozen=True, tag=33):
    """The target runs. ``launched`` False: it ran before and was attached to.

    ``advice``: how to start it so that more of it is told.
    """

    pid: int
    proc: int
    command: list[str]
    cwd: str = ""
    launched: bool = True
    git: str | None = None
    python: str | None = None
    torch: str | None = None
    advice: str = ""


class TargetExit(Record, frozen=True, tag=34):
    """The target ended; one of code and signal is set, neither where it is not known.

    ``oom_kills``: how many more kills for lack of memory its control group counted since it
    began (its own, or another process's of the group); None: not known.
    """

    code: int | None
    signal: int | None
    oom_kills: int | None = None


class SessionEnd(Record, frozen=True, tag=35):
    """Last record: why the recording ended.

    ``target_exit``, ``seconds``, ``stopped``, ``imported``, or ``error: …``.
    """

    reason: str


class SourceState(Record, frozen=True, tag=36):
    """A source says that it lives (about once a second), or why it does not.

    ``state``: ``ok``; ``stale`` (no answer at present); ``absent`` (this machine does not
    have it); ``failed``. ``covered_ns``: everything of this source up to that time has been
    written; the watermark that final judgement waits for.
    """

    source: str
    state: str
    reason: str = ""
    period_ns: int | None = None
    covered_ns: int | None = None


class Loss(Record, frozen=True, tag=37):
    """Cumulative loss of one process's events (``proc`` 0: bytes of unknown origin)."""

    proc: int
    dropped: int
    malformed: int


class Observer(Record, frozen=True, tag=38):
    """The recorder's own cost since its start."""

    cpu_ns: int
    rss_bytes: int | None = None
    nvml_calls: int | None = None
    nvml_ns: int | None = None
    log_bytes: int | None = None
    samples_missed: int = 0


class OutputAt(Record, frozen=True, tag=39):
    """``stdout.log`` was ``offset`` bytes long at ``t_ns``."""

    offset: int


class OutputLine(Record, frozen=True, tag=40):
    """A line of the target's output that mgtop understood.

    ``kind``: ``oom``, ``oom_suspect`` (an error of a library that running out of memory often
    hides behind), ``allocator``, ``error``, ``weights_loaded``, ``compile``, ``progress``.
    """

    offset: int
    kind: str
    text: str
    amounts: dict[str, int] = {}
    """Bytes that the message states: requested, total, free, allocated, …"""


class TargetStopped(Record, frozen=True, tag=41):
    """A signal stopped a process of the target (``stopped``), or let it go on.

    ``t_ns`` is when that was seen, up to some 40 ms after it happened.
    """

    proc: int
    stopped: bool


class LogSegment(Record, frozen=True, tag=42):
    """First record of a log file that goes on from another; ``number`` is its own, from 2.

    What its chunk holds besides was recorded before: all that the file cannot be understood
    without. ``began_ns`` is when the file before it began. Readers that have read that file pass
    over all of it.
    """

    number: int
    began_ns: int


class LogSegmentEnd(Record, frozen=True, tag=43):
    """Last record of a log file that another goes on from. ``compacted``: it was written anew."""

    compacted: bool = False


class LogGap(Record, frozen=True, tag=44):
    """What was recorded from ``t_ns`` to ``until_ns`` is no longer there, or cannot be read.

    ``reason``: ``retention`` (dropped as told), ``missing`` (a file is), or ``damaged`` (the end
    of one is). ``first`` and ``last`` are the numbers of the log files; ``bytes`` their size.
    """

    until_ns: int
    reason: str
    first: int
    last: int
    bytes: int | None = None


class GpuDevice(Record, frozen=True, tag=48):
    """A GPU or MIG instance; ``gpu`` is its number in this session, in NVML's order.

    ``ordinals`` are the target's CUDA ordinals that mean this device; empty: not its.
    """

    gpu: int
    uuid: str
    name: str
    total_bytes: int | None
    reserved_bytes: int | None = None
    ordinals: list[int] = []
    mig: bool = False
    unified: bool = False
    driver: str | None = None
    """Version of the driver; ``cuda``: newest CUDA that it runs."""
    cuda: str | None = None


class GpuMemory(Record, frozen=True, tag=49):
    """Memory of the whole device in use (without what the driver reserves, where v2 tells)."""

    gpu: int
    used_bytes: int


class GpuProcess(Record, frozen=True, tag=50):
    """Memory of one process on one device; ``used_bytes`` None: the driver does not tell.

    ``relation``: ``target`` or ``neighbour``. ``how`` the pid was matched: ``pid``,
    ``nspid``, ``sole_tenant`` (inferred), or ``none``. A process that has left the device
    is written once with ``used_bytes`` 0.
    """

    gpu: int
    pid: int
    used_bytes: int | None
    relation: str
    how: str
    name: str = ""
    user: str = ""


class GpuUtilisation(Record, frozen=True, tag=51):
    """Share of the past ``period_ns`` up to ``t_ns`` in which the GPU had any work, percent.

    ``source``: ``poll`` (value in force when read, age unknown up to ``period_ns``),
    ``ring`` (driver's time stamp) or ``gpm``.
    """

    gpu: int
    percent: float
    memory_percent: float | None
    period_ns: int
    source: str


class GpuState(Record, frozen=True, tag=52):
    """Slow readings of one device; each may be None."""

    gpu: int
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_mw: int | None = None
    temperature_c: int | None = None
    clock_event_reasons: int | None = None
    ecc_uncorrected: int | None = None
    power_limit_mw: int | None = None


class GpuProcessWork(Record, frozen=True, tag=54):
    """Share of the past ``period_ns`` up to ``t_ns`` in which one process used the SMs, percent.

    Read only where a process that is not the target's is on a device that the target uses.
    ``relation`` as in :class:`GpuProcess`.
    """

    gpu: int
    pid: int
    sm_percent: float
    period_ns: int
    relation: str


class GpuThrottle(Record, frozen=True, tag=53):
    """Time for which clocks were held down since the driver started, by reason."""

    gpu: int
    power_cap_ns: int | None = None
    thermal_sw_ns: int | None = None
    thermal_hw_ns: int | None = None
    power_brake_ns: int | None = None
    sync_boost_ns: int | None = None


class HostCpu(Record, frozen=True, tag=64):
    """CPU of the machine and of the target's process tree.

    ``busy_ns``, ``idle_ns``: all cores, cumulative. ``tree_cpu_ns``: the tree, cumulative,
    dead members included. ``quota_cores``: cgroup quota (None: none). ``steal_ns``: time for which
    the host of this virtual machine gave its cores to others, cumulative, all cores.
    """

    cores: int
    busy_ns: int
    idle_ns: int
    tree_cpu_ns: int | None
    processes: int
    threads: int
    quota_cores: float | None = None
    steal_ns: int | None = None


class HostMemory(Record, frozen=True, tag=65):
    """Memory of the machine, of the target's tree (resident) and of its cgroup."""

    total_bytes: int
    available_bytes: int
    tree_rss_bytes: int | None
    tree_major_faults: int | None = None
    cgroup_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    swap_used_bytes: int | None = None


class HostThread(Record, frozen=True, tag=66):
    """Counters of one thread of the target, cumulative; only busy threads are written."""

    pid: int
    tid: int
    name: str
    cpu_ns: int
    run_delay_ns: int | None = None
    major_faults: int | None = None
    involuntary: int | None = None
    disk_wait_ns: int | None = None
    state: str = ""


class Cgroup(Record, frozen=True, tag=67):
    """CPU bandwidth of the target's cgroup, cumulative."""

    version: int
    quota_cores: float | None
    periods: int
    throttled: int
    throttled_ns: int


class Pressure(Record, frozen=True, tag=68):
    """Pressure stall totals of the machine (or the cgroup), cumulative; None: not there."""

    cpu_some_ns: int | None
    memory_some_ns: int | None
    memory_full_ns: int | None
    io_some_ns: int | None
    io_full_ns: int | None
    scope: str = "system"


class ObserverCall(Record, frozen=True, tag=69):
    """A call of the monitor that took unusually long (began ``duration_ns`` before ``t_ns``)."""

    call: str
    duration_ns: int
    gpu: int | None = None


SPAN_NAMES: tuple[str, ...] = (
    "other",
    "decode",
    "resize",
    "h2d",
    "forward",
    "vae_decode",
    "postprocess",
    "encode",
    "write",
    "preprocess",
)
"""Span names with fixed numbers (their index here); others are announced by :class:`Name`."""

FIRST_FREE_NAME = 16

AnyEvent = Union[
    Hello, Pulse, Name, RequestReceived, PreprocessDone, FrameEmit, StreamEnd, Span, Load,
    Queue, Mark, Wait, GarbageCollection, TorchMemory, Compile, GpuWork, Failure, Delivery,
    TorchAllocator, SegmentMap,
    Notice, Action, Sink,
]  # fmt: skip

AnyRecord = Union[
    AnyEvent,
    SessionStart, TargetStart, TargetExit, SessionEnd, SourceState, Loss, Observer, OutputAt,
    OutputLine, TargetStopped, LogSegment, LogSegmentEnd, LogGap, GpuDevice, GpuMemory,
    GpuProcess, GpuUtilisation, GpuState, GpuThrottle, GpuProcessWork, HostCpu, HostMemory,
    HostThread, Cgroup, Pressure, ObserverCall,
]  # fmt: skip


REQUESTS_OF_A_ROUTE = 1 << 24
"""Each route of a process numbers its requests from 1: hooks from this on, sinks from twice it."""


def nth_of_route(request: int) -> int:
    """Which one of its route a request's number says, from 1."""
    return request % REQUESTS_OF_A_ROUTE


def pid_of(proc: int) -> int:
    """The pid inside a ``proc`` number."""
    return proc & 0x3FFFFF


def proc_of(pid: int, start_ticks: int) -> int:
    """The ``proc`` number of a pid and its start time (``/proc/PID/stat``, field 22)."""
    return start_ticks << 22 | pid
