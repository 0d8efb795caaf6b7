"""From a running process to a recording of it: claim, FIFOs, logs, the past, and samplers."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from mgtop.record.attach.claim import Claim, remove_stale
from mgtop.record.attach.events import Translator, TreePipes
from mgtop.record.attach.past import Past
from mgtop.record.attach.pipe_only import PipeTarget, pipe_at
from mgtop.record.attach.target import AttachedTarget
from mgtop.record.attach.textlogs import TextLogs, logs_of, output_of
from mgtop.record.digester import Digester
from mgtop.record.events import Intake
from mgtop.record.loss import LossAccount
from mgtop.record.notes import note
from mgtop.record.opening import session_start, start_samplers
from mgtop.record.pipes import runtime_folder
from mgtop.record.plan import Attached, Plan
from mgtop.record.recorder import Asked, Recorder
from mgtop.record.textlog_pattern import frame_log
from mgtop.record.tree import environment_of
from mgtop.record.upkeep import Upkeep
from mgtop.session.secrets import mask_command
from mgtop.wire.records import TargetStart, pid_of

Followed = AttachedTarget | PipeTarget
"""A process with its descendants; or, where those cannot be seen, its event pipe alone."""


class AttachedRecorder(Recorder):
    """A recorder that lets go of the process when it ends."""

    claim: Claim | None = None
    attached: Followed | None = None

    def run(self) -> None:
        """Record until the end, as :meth:`Recorder.run`."""
        try:
            super().run()
        finally:
            if self.claim is not None:
                self.claim.release()
            if self.attached is not None:
                self.attached.close()


def open_attached(
    folder: Path, plan: Plan, attach: Attached, asked: Asked
) -> tuple[Recorder, Followed]:
    """Start everything that watches a process; the process itself notices nothing.

    Raises:
        CannotAttach: it has ended.
        AlreadyAttached: another recorder has it.
        PipeError: its FIFO is there, but cannot be read.
        SessionWriteError: the log cannot be written.
    """
    target, pipes, claim = _find(folder, attach)
    losses = LossAccount(from_start=False)
    translator = Translator(target.members, lambda: any(p.owner is None for p in pipes.places))
    intake = Intake(1, losses, translator, source=plan.frames.from_)
    logs = _text_logs(plan, attach, target, intake)
    now_ns = time.monotonic_ns()
    past = Past(intake.feed(pipes.read(), now_ns), now_ns)
    plan = _completed(plan, past, logs)

    upkeep = Upkeep(folder, plan.retention)
    writer = upkeep.log
    wall_ns = time.time_ns() - (now_ns - past.begin_ns)
    started = TargetStart(
        t_ns=now_ns,
        pid=target.pid,
        proc=target.proc,
        command=mask_command(plan.command),
        cwd=plan.cwd,
        launched=False,
        git=plan.git,
        advice=attach.advice,
    )
    start = session_start(plan, past.begin_ns, wall_ns)
    writer.append([start, *past.records(target.proc), started])
    recorder = AttachedRecorder(
        writer=writer,
        pipe=pipes,
        intake=intake,
        losses=losses,
        target=target,
        asked=asked,
        samplers=start_samplers(target.pids, partial(_environment, target, intake)),
        output=logs,
        end_ns=None if plan.seconds is None else now_ns + int(plan.seconds * 1e9),
        leaves_target=True,
        digester=Digester(folder, now_ns),
        upkeep=upkeep,
    )
    recorder.claim, recorder.attached = claim, target
    recorder.greeting = _greeting(target, pipes, past, logs, attach)
    note(recorder.greeting)
    return recorder, target


def _find(folder: Path, attach: Attached) -> tuple[Followed, TreePipes, Claim | None]:
    """The program, its event pipes, and the right to read them."""
    if attach.fifo is not None:
        place = pipe_at(Path(attach.fifo))
        pipes = TreePipes(list, [place])
        target: Followed = PipeTarget(place, lambda: pipes.has_writer)
        claim = None  # the lock of the pipe itself will do
    else:
        runtime = runtime_folder()
        remove_stale(runtime)
        target = AttachedTarget(attach.pid, attach.proc, [os.getpid(), *attach.apart])
        claim = Claim(runtime, target.proc, folder)
        pipes = TreePipes(target.members)
    pipes.look()
    if pipes.absence is not None and pipes.refused is not None:
        if claim is not None:
            claim.release()
        raise pipes.refused
    return target, pipes, claim


def _text_logs(plan: Plan, attach: Attached, target: Followed, intake: Intake) -> TextLogs:
    paths: list[Path] = []
    others: list[Path] = []
    if attach.log is not None:
        paths = [Path(attach.log)]
    elif not isinstance(target, PipeTarget):
        paths = [where.path for where in output_of(target.process) if where.path is not None]
        others = [where.path for where in logs_of(target.process) if where.path is not None]

    def superseded() -> bool:
        """The probe tells of frames, so the lines of a log are not needed."""
        return plan.frames.from_ == "auto" and intake.tells_frames

    return TextLogs(paths, partial(frame_log, plan.frames, target.proc), superseded, others)


def _completed(plan: Plan, past: Past, logs: TextLogs) -> Plan:
    """The plan with what only a running program tells: parameters, and whether it is warm.

    The first request that is seen is not the first of the process, unless its probe still
    holds its first events; then nothing has to be left out as warm-up by default.
    """
    settings = plan.settings
    params = plan.params or (logs.params if not past.events else {})
    fps = params.get("fps")
    if settings.target_fps is None and isinstance(fps, (int, float)) and fps > 0:
        settings = msgspec.structs.replace(settings, target_fps=float(fps))
    if settings.warmup.requests == "auto" and not past.reaches_the_start:
        warmup = msgspec.structs.replace(settings.warmup, requests=0)
        settings = msgspec.structs.replace(settings, warmup=warmup)
    return msgspec.structs.replace(plan, params=params, settings=settings)


def _environment(target: Followed, intake: Intake) -> Mapping[str, str]:
    """Environment of the process that emits, else of the one attached to."""
    if isinstance(target, PipeTarget):
        return {}  # a process of its pid here is another one
    emitting = intake.emitting
    found = environment_of(pid_of(emitting.proc)) if emitting is not None else {}
    return found or environment_of(target.pid)


def _greeting(
    target: Followed, pipes: TreePipes, past: Past, logs: TextLogs, attach: Attached
) -> str:
    """What is known of its frames, in a sentence or two."""
    attached = f"Attached to process {target.pid} ({target.process.name})"
    if pipes.absence is None:
        before = (
            f"its pipe still held the last {past.seconds:.1f} s, with {past.frames:,} "
            + ("frame" if past.frames == 1 else "frames")
            if past.frames
            else "no frame has been told yet"
        )
        return f"{attached} through the probe in it: {before}."
    streams = output_of(target.process)
    names = [where.name for where in streams if where.path is not None]
    if attach.log is not None:
        names = [attach.log]
    if logs.known:
        if logs.other is not None:
            names = [os.path.realpath(logs.other)]
        return f"{attached} through its text log {' and '.join(names)}."
    why = []
    if not names:
        why.append(f"its output goes to {streams[0].name}, which cannot be read from outside")
    if attach.log is None and isinstance(target, AttachedTarget):
        names += [where.name for where in logs_of(target.process)][:3]
    if names:
        why.append(f"no line that it has written to {' or '.join(names)} tells of frames")
    advice = f" To see frames, try --inject, or run it as: {attach.advice}" if attach.advice else ""
    return (
        f"{attached}: there is no probe in it, and {', and '.join(why)}, so GPU and host figures "
        f"are all that is seen.{advice}"
    )
