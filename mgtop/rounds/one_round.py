"""Running one round: a recording from its start to its row."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mgtop.config import RunConfig
from mgtop.record.from_config import config_yaml, plan_from
from mgtop.record.launch import Outcome, Recording, outcome_of, start
from mgtop.record.limits import clean
from mgtop.record.output import OUTPUT_FILE
from mgtop.record.status import read_status
from mgtop.record.tree import is_running
from mgtop.report.gates import GateError, evaluate_all
from mgtop.rounds.reading import Reading, SessionReader
from mgtop.rounds.row import FEWEST_COUNTED, Row, row_of
from mgtop.rounds.surroundings import Surroundings
from mgtop.session.folder import folder_name
from mgtop.session.lock import is_live, read_owner
from mgtop.session.secrets import mask
from mgtop.session.stop import CannotStop, NotLive, request_stop

_POLL_S = 0.1
_LOOK_S = 1.0
_STOPPING_S = 15.0
_KILL_AFTER_S = 10.0
_LAST_BYTES = 4096
_LONGEST_WORDS = 160


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One round to run.

    Attributes:
        config: the configuration with the round's parameters in it.
        path: its file.
        setting: the varied parameters.
        repeat: which repeat, from 1; ``repeats``: of how many.
        seconds: longest duration; None: until the program ends.
        out: folder that the session is to lie in; None: the user's state folder.
        folder: the session's own, where it was chosen already.
        gates: conditions on its report.
    """

    config: RunConfig
    path: str
    setting: dict[str, Any]
    repeat: int = 1
    repeats: int = 1
    seconds: float | None = None
    out: str | None = None
    folder: str | None = None
    gates: list[str] = []

    def varied(self) -> dict[str, Any]:
        """What the session's name tells of the round."""
        varied = {name: _short(value) for name, value in mask(self.setting).items()}
        return varied | ({"repeat": self.repeat} if self.repeats > 1 else {})


class Ended(NamedTuple):
    """What a round showed, and what it ran in."""

    row: Row
    surroundings: Surroundings


class Stopped(Exception):
    """It was stopped before its end, because that was wanted."""


def run_round(
    job: Job,
    *,
    previous: Path | None = None,
    begun: Callable[[Path], object] = lambda folder: None,
    is_stopped: Callable[[], bool] = lambda: False,
    look: Callable[[Row], object] = lambda row: None,
    is_watched: Callable[[], bool] = lambda: False,
) -> Ended:
    """Run a round, or take over the one that a killed predecessor began.

    Args:
        job: what to run.
        previous: the session that was begun for it earlier. If it is still being recorded, its
            end is waited for; if it is whole, it counts; else the round is run anew.
        begun: called with the session's folder once there is one.
        is_stopped: whether the round is to be stopped.
        look: called about once a second with the figures so far, while it is watched.
        is_watched: whether somebody looks; while nobody does, the machine is left to the program.

    Raises:
        Stopped: it was.
        LaunchError: it could not be started.
        ConfigError: there is nothing to start with these parameters.
    """
    if previous is not None and (is_live(previous) or _is_whole(previous)):
        begun(previous)
        _follow(job, previous, None, is_stopped, look, is_watched)
        return _ended(job, previous, None)
    if previous is not None:
        _end_what_is_left(previous)
    recording, began_s = _start(job)
    try:
        begun(recording.folder)
        _follow(job, recording.folder, recording, is_stopped, look, is_watched)
    except BaseException:
        _end(recording)
        raise
    return _ended(job, recording.folder, time.time() - began_s)


def _start(job: Job) -> tuple[Recording, float]:
    path = Path(job.path)
    plan = plan_from(job.config, path, seconds=job.seconds)
    varied = job.varied()
    out = Path(job.folder) if job.folder is not None else None
    if out is None and job.out is not None:
        out = free_folder(Path(job.out), plan.name, varied)
    began_s = time.time()
    kept = config_yaml(job.config, path, plan)
    return start(plan, out=out, varied=varied, config_yaml=kept), began_s


def free_folder(parent: Path, name: str, varied: Mapping[str, Any]) -> Path:
    """A folder for a session that is not there yet, named by what varied."""
    base = folder_name(name, varied, time.time_ns())
    candidates = (parent / (base if n == 1 else f"{base}-{n}") for n in itertools.count(1))
    return next(folder for folder in candidates if not os.path.lexists(folder))


def _short(value: Any) -> Any:
    return "-".join(map(str, value)) if isinstance(value, list) else value


def _follow(
    job: Job,
    folder: Path,
    recording: Recording | None,
    is_stopped: Callable[[], bool],
    look: Callable[[Row], object],
    is_watched: Callable[[], bool],
) -> None:
    """Wait for the end of a recording."""
    reader = SessionReader(folder)
    look_at = time.monotonic() + _LOOK_S
    while recording.poll() is None if recording is not None else is_live(folder):
        if is_stopped():
            if recording is not None:
                _end(recording)
            else:
                with contextlib.suppress(NotLive, CannotStop):
                    request_stop(folder, target=True)
            raise Stopped
        time.sleep(_POLL_S)
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + _LOOK_S
            if is_watched():
                look(_row(job, reader.poll(), folder))


def _row(job: Job, summary: Any, folder: Path, took_s: float | None = None) -> Row:
    return row_of(
        summary,
        job.setting,
        job.repeat,
        session=str(folder),
        memory_limit=job.config.thresholds.memory_share,
        took_s=took_s,
    )


def _end(recording: Recording) -> None:
    """Stop the program, and wait until it and its recorder are gone."""
    recording.stop_target()
    with contextlib.suppress(subprocess.TimeoutExpired):
        recording.wait(_STOPPING_S)


def _ended(job: Job, folder: Path, took_s: float | None) -> Ended:
    outcome = outcome_of(folder)
    if outcome.lost:
        _end_what_is_left(folder)
    reading = SessionReader(folder).finish()
    took_s = reading.summary.session.duration_ms / 1000 if took_s is None else took_s
    row = _row(job, reading.summary, folder, took_s)
    notes = _notes(row, reading, outcome, folder)
    gates = _unmet(job.gates, reading)
    row = msgspec.structs.replace(row, note="; ".join([*notes, *gates]), gates=gates)
    return Ended(row, reading.surroundings)


def _notes(row: Row, reading: Reading, outcome: Outcome, folder: Path) -> list[str]:
    notes = []
    if outcome.lost:
        notes.append("the recorder was killed")
    elif outcome.message:
        notes.append(outcome.message.rstrip("."))
    if row.oom:
        message = reading.summary.memory.ooms[0].message
        notes.append(f"out of memory at {row.oom_place}: {clean(message)[:_LONGEST_WORDS]}")
    failed = outcome.target_ended and not outcome.target_was_stopped and outcome.target_code != 0
    if failed:
        how = (
            f"the program was ended by signal {outcome.target_signal}"
            if outcome.target_signal is not None
            else f"the program failed with exit code {outcome.target_code}"
        )
        words = "" if row.oom else _last_words(folder)
        notes.append(f"{how}: {words}" if words else how)
    if not row.has_figures and not row.oom and not failed:
        advice = reading.summary.target.advice or "mgtop report says more"
        notes.append(f"no interval between frames was measured ({advice})")
    elif row.has_figures and row.counted < FEWEST_COUNTED:
        notes.append(
            f"only {row.counted} intervals counted, {FEWEST_COUNTED} are wanted: let it run longer"
        )
    if row.stopped_ms is not None:
        notes.append(f"no frame came in its last {row.stopped_ms / 1000:.1f} s")
    lost = reading.summary.losses.events_dropped
    if lost:
        notes.append(f"{lost} events were lost")
    return notes


def _unmet(gates: list[str], reading: Reading) -> list[str]:
    unmet = []
    for gate in gates:
        try:
            result = evaluate_all([gate], reading.summary)[0]
        except GateError as error:
            unmet.append(str(error))
            continue
        if not result.passed:
            unmet.append(f"gate {result.message}")
    return unmet


def _last_words(folder: Path) -> str:
    """The last line that the program printed."""
    try:
        with (folder / OUTPUT_FILE).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
            lines = file.read(_LAST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return clean(last)[:_LONGEST_WORDS]


def _is_whole(folder: Path) -> bool:
    """Whether a recording came to its own end."""
    status = read_status(folder)
    return (
        status is not None
        and status.state == "ended"
        and status.reason in ("target_exit", "seconds")
    )


def _end_what_is_left(folder: Path) -> None:
    """Should a killed recorder's program go on: it would disturb the rounds that follow."""
    owner = read_owner(folder)
    if owner is None or owner.target_pid is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _KILL_AFTER_S
        while is_running(owner.target_pid, owner.target_proc) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(owner.target_pid, number)
            time.sleep(_POLL_S)
