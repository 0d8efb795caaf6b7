"""From a launch plan to a running recording: pipe, log, target and samplers, in that order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mgtop import __version__
from mgtop.record.absent import AbsentSource
from mgtop.record.digester import Digester
from mgtop.record.environment import describe
from mgtop.record.events import Intake
from mgtop.record.hook_watch import HookWatch
from mgtop.record.hooked import boot_environment
from mgtop.record.host import make_sampler as make_host_sampler
from mgtop.record.loss import LossAccount
from mgtop.record.notes import note
from mgtop.record.output import OUTPUT_FILE, OutputTail
from mgtop.record.pipes import PIPE_BYTES, EventPipe, remove_abandoned, runtime_folder
from mgtop.record.plan import Plan
from mgtop.record.recorder import Asked, Recorder
from mgtop.record.sampler import Sampler
from mgtop.record.schedule import MetricGone
from mgtop.record.target import Target, TargetNotStarted, become_subreaper
from mgtop.record.textlog_pattern import frame_log
from mgtop.record.tree import environment_of
from mgtop.record.upkeep import Upkeep
from mgtop.session.secrets import mask, mask_command
from mgtop.wire.records import SCHEMA, SessionEnd, SessionStart, TargetStart, pid_of


def open_recording(folder: Path, plan: Plan, asked: Asked) -> tuple[Recorder, Target]:
    """Start the target and everything that watches it.

    Raises:
        TargetNotStarted: the command cannot be run.
        PipeError: the FIFO cannot be made.
        SessionWriteError: the log cannot be written.
    """
    runtime = runtime_folder()
    remove_abandoned(runtime)
    pipe = EventPipe(runtime / f"run-{os.getpid()}.fifo")
    if pipe.capacity < PIPE_BYTES:
        note(
            f"the event pipe holds {pipe.capacity >> 10} KiB instead of {PIPE_BYTES >> 10}: "
            "this user's share of pipe memory is used up; events may be lost in bursts"
        )
    upkeep = Upkeep(folder, plan.retention)
    writer = upkeep.log
    start_ns = time.monotonic_ns()
    writer.append([session_start(plan, start_ns, time.time_ns())])
    if not become_subreaper():
        note("orphans of the target are not followed: the kernel lacks child subreapers")
    try:
        target = _start_target(folder, plan, pipe.path)
    except TargetNotStarted as error:
        writer.append([SessionEnd(t_ns=time.monotonic_ns(), reason=f"error: {error}")])
        writer.close()
        pipe.close(remove=True)
        raise
    started_ns = time.monotonic_ns()
    started = TargetStart(
        t_ns=started_ns,
        pid=target.pid,
        proc=target.proc,
        command=mask_command(plan.command),
        cwd=plan.cwd,
        git=plan.git,
    )
    writer.append([started])
    losses = LossAccount(from_start=True)
    intake = Intake(start_ns, losses, source=plan.frames.from_)
    digester = Digester(folder, start_ns)
    target.beside = lambda: digester.pids() | upkeep.pids()
    recorder = Recorder(
        writer=writer,
        pipe=pipe,
        intake=intake,
        losses=losses,
        target=target,
        asked=asked,
        samplers=[
            *start_samplers(target.pids, lambda: _environment(target, intake)),
            HookWatch(target.pids, intake, plan.frames),
        ],
        output=OutputTail(folder / OUTPUT_FILE, frames=frame_log(plan.frames, target.proc)),
        end_ns=None if plan.seconds is None else started_ns + int(plan.seconds * 1e9),
        digester=digester,
        upkeep=upkeep,
    )
    return recorder, target


def session_start(plan: Plan, at_ns: int, wall_ns: int) -> SessionStart:
    """The first record of a log that begins at ``at_ns``, at ``wall_ns`` of Unix time."""
    return SessionStart(
        t_ns=at_ns,
        wall_ns=wall_ns,
        schema=SCHEMA,
        mgtop=__version__,
        name=plan.name,
        params=mask(plan.params),
        settings=msgspec.to_builtins(plan.settings),
        environment=describe(),
    )


def _start_target(folder: Path, plan: Plan, pipe: Path) -> Target:
    environment = os.environ | plan.env
    environment["PYTHONUNBUFFERED"] = "1"
    environment["MGTOP_FIFO"] = str(pipe)
    environment["MGTOP_SESSION"] = str(folder)
    environment.update(boot_environment(plan.frames, environment))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        stdin = 0 if plan.stdin == "inherit" else null
        target = Target(plan.command, plan.cwd, environment, folder / OUTPUT_FILE, stdin)
        # A pipe that feeds the target is the target's alone: who writes it must notice its end.
        os.dup2(null, 0)
    finally:
        os.close(null)
    return target


def start_samplers(
    pids: Callable[[], list[int]], environment: Callable[[], Mapping[str, str]]
) -> list[Sampler]:
    """Start to watch the machine and its GPUs.

    Args:
        pids: the target's tree, as this process sees it.
        environment: of the process that uses a GPU.
    """
    host = make_host_sampler(pids)
    nvml = _nvml_sampler(pids, environment)
    for sampler in (nvml, host):
        sampler.start()
    return [host, nvml]


def _nvml_sampler(
    pids: Callable[[], list[int]], environment: Callable[[], Mapping[str, str]]
) -> Sampler:
    try:
        from mgtop.record.nvml import make_sampler

        return make_sampler(pids, environment)
    except (ImportError, MetricGone) as error:
        return AbsentSource("nvml", str(error))


def _environment(target: Target, intake: Intake) -> Mapping[str, str]:
    """Environment of the process that emits, as far as it is known; else of the launched one.

    A launcher may set CUDA_VISIBLE_DEVICES for its children only.
    """
    emitting = intake.emitting
    if emitting is not None:
        found = environment_of(pid_of(emitting.proc))
        if found:
            return found
    return environment_of(target.pid)
