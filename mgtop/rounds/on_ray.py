"""Rounds as Ray tasks: one per GPU of a cluster, or one per CPU where it has no GPUs.

A worker runs a round as it would be run here, on its own machine, and gives back the row. The
recording is a process of its own and outlives a worker that dies: the round is then given out
once more, and taken over where it still runs (or has ended meanwhile), else run anew. A round
whose worker dies twice is recorded as failed.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mgtop.config.errors import ConfigError
from mgtop.record.launch import LaunchError
from mgtop.rounds.one_round import Ended, Job, Stopped, free_folder, run_round
from mgtop.rounds.row import Row
from mgtop.rounds.state import Round
from mgtop.rounds.surroundings import Surroundings
from mgtop.session.folder import sessions_root

if TYPE_CHECKING:
    from mgtop.rounds.runner import Runner

MOST_ATTEMPTS = 2
_WAIT_S = 0.5
_CANCEL_S = 20.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker gives back; ``error``: why the round could not be started."""

    row: Row | None = None
    surroundings: Surroundings | None = None
    error: str | None = None


def work(job: bytes, previous: str | None) -> bytes:
    """Run one round; this is what a worker does.

    Args:
        job: a :class:`mgtop.rounds.one_round.Job` as JSON.
        previous: the session that a worker before began for it.
    """
    order = msgspec.json.decode(job, type=Job)
    if order.folder is not None:
        Path(order.folder).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        ended = run_round(order, previous=Path(previous) if previous is not None else None)
    except (LaunchError, ConfigError) as error:
        return msgspec.json.encode(Answer(error=str(error)))
    return msgspec.json.encode(Answer(row=ended.row, surroundings=ended.surroundings))


def run_on_ray(runner: Runner, on: str) -> None:
    """Run all rounds that are left on a cluster.

    Args:
        runner: with the rounds planned.
        on: ``ray``: the cluster of this machine, else one that is started here for the while;
            or ``ray://ADDRESS``.

    Raises:
        Stopped: the end was asked for.
        LaunchError: there is no such cluster.
    """
    import ray

    _connect(ray, on)
    try:
        _Cluster(ray, runner).run()
    finally:
        ray.shutdown()


def _connect(ray: Any, on: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    try:
        if on != "ray":
            ray.init(address=on, **quiet)
            return
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:
            ray.init(include_dashboard=False, **quiet)
    except Exception as error:
        reason = str(error).strip().splitlines()
        first = reason[0] if reason else type(error).__name__
        raise LaunchError(f"No Ray cluster at {on}: {first}", 2) from None


class _Cluster:
    """Gives rounds out and takes them back."""

    def __init__(self, ray: Any, runner: Runner) -> None:
        self._ray, self._runner = ray, runner
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        self._slots = max(1, gpus or int(resources.get("CPU", 1)))
        needs = {"num_gpus": 1, "num_cpus": 0} if gpus else {"num_cpus": 1}
        # Retries are ours: a worker that died may have left a recording to take over.
        self._task = ray.remote(max_retries=0, **needs)(work)
        self._active: dict[Any, Round] = {}
        self._errors: tuple[type[BaseException], ...] = (ray.exceptions.RayError,)
        if not gpus and self._slots > 1:
            note = (
                f"Ray has no GPUs and runs {self._slots} rounds at once, one per CPU: "
                "rounds on one machine disturb each other"
            )
            if note not in runner.state.said:
                runner.state.said.append(note)

    def run(self) -> None:
        """Until no round is left."""
        from mgtop.rounds.sweep import cannot_load

        state = self._runner.state
        while True:
            if self._runner.stop.is_set():
                self._cancel()
                raise Stopped
            for found in state.rounds:
                if len(self._active) >= self._slots:
                    break
                if found.is_over or found in self._active.values():
                    continue
                why = cannot_load(state.rounds, found.setting)
                if why is not None:
                    self._runner.skip(found, why)
                else:
                    self._give_out(found)
            if not self._active:
                return
            ready, _ = self._ray.wait(list(self._active), timeout=_WAIT_S)
            for task in ready:
                self._take_back(task, self._active.pop(task))

    def _give_out(self, found: Round) -> None:
        prepared = self._runner.prepared
        previous = found.session
        job = prepared.job(found.setting, found.repeat, prepared.order.repeats)
        parent = Path(job.out) if job.out is not None else sessions_root()
        folder = free_folder(parent, prepared.name, job.varied())
        job = msgspec.structs.replace(job, folder=str(folder))
        found.attempts += 1
        task = self._task.remote(msgspec.json.encode(job), previous)
        self._active[task] = found
        self._runner.begun(found, folder)

    def _take_back(self, task: Any, found: Round) -> None:
        runner = self._runner
        try:
            answer = msgspec.json.decode(self._ray.get(task), type=Answer)
        except self._errors as error:
            if found.attempts < MOST_ATTEMPTS:
                found.status = "waiting"
                return
            why = f"its worker died {found.attempts} times ({type(error).__name__})"
            self._failed(found, why)
            return
        if answer.row is None or answer.surroundings is None:
            self._failed(found, answer.error or "its worker gave no answer")
            return
        found.session = answer.row.session
        runner.taken(found, Ended(answer.row, answer.surroundings))

    def _failed(self, found: Round, why: str) -> None:
        row = Row(params=found.setting, repeat=found.repeat, status="failed", note=why)
        self._runner.conclude(found, "failed", row)

    def _cancel(self) -> None:
        """Interrupt the workers, who then stop their programs."""
        for task in self._active:
            with contextlib.suppress(Exception):
                self._ray.cancel(task)
        with contextlib.suppress(Exception):
            self._ray.wait(list(self._active), num_returns=len(self._active), timeout=_CANCEL_S)
