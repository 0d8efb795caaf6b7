"""Runs rounds one after another and keeps the state file true."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config.errors import ConfigError
from mgtop.record.launch import LaunchError
from mgtop.rounds.one_round import Ended, Stopped, free_folder, run_round
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.row import Row
from mgtop.rounds.smoke_first import PASSED, smoke_first
from mgtop.rounds.state import Round, RoundStatus, State, SweepStatus, write_state
from mgtop.rounds.surroundings import differences
from mgtop.rounds.time_left import time_left_s
from mgtop.rounds.variables import label, same_setting
from mgtop.rounds.wording import about, outcome

WATCHED_FILE = "watched"
"""Touched by a screen that shows the rounds: only then are figures of a running round read."""
WATCHED_S = 10.0
WRITE_FAILED = 4


class SmokeFailed(Exception):
    """The smoke test before the rounds did not pass; ``str()`` says why."""


class Runner:
    """Carries out an order in a folder of its own, whose lock the caller holds.

    Args:
        folder: where the state lies.
        state: as it was left, or a new one.
        prepared: what to run.
        out: folder for the sessions; None: the user's state folder.
        say: takes a line of progress.

    Attributes:
        stop: set it to end the round that runs and all that would follow.
    """

    def __init__(
        self,
        folder: Path,
        state: State,
        prepared: Prepared,
        out: Path | None = None,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.folder, self.state, self.prepared = folder, state, prepared
        self.stop = threading.Event()
        self._out = out
        self._say = say

    # ----------------------------------------------------------------------------- rounds

    def begin(self, rounds: list[Round] | None = None) -> None:
        """Keep what is finished of an earlier attempt; plan the rest.

        Args:
            rounds: all that are to run, in their order; None: those that were begun, and
                whatever :meth:`ensure` asks for.

        Raises:
            SessionWriteError: the state cannot be written.
        """
        state = self.state
        planned = []
        for new in state.rounds if rounds is None else rounds:
            found = self._find(new.setting, new.repeat) or new
            found.number = new.number
            if not found.is_over:
                found.status, found.live = "waiting", None
            planned.append(found)
        state.rounds = planned
        state.status, state.ended_s = "running", None
        self._save()

    def smoke(self) -> None:
        """Run the smoke test, where one is given and has not passed yet.

        Raises:
            SmokeFailed: it did not pass.
            Stopped: the end of all was asked for.
        """
        config, state = self.prepared.config, self.state
        if config.smoke is None or state.smoke == PASSED:
            return
        state.step = "smoke test"
        self._save()
        self._say("smoke test: the smallest run first")
        out = free_folder(self._out, "smoke", {}) if self._out is not None else None
        result = smoke_first(config, self.prepared.path, self.stop, out)
        state.step = ""
        if self.stop.is_set():
            raise Stopped
        state.smoke = result.text
        if not result.passed:
            self.finish("failed")
            raise SmokeFailed(result.text)
        self._say(f"smoke test: {result.text}")
        self._save()

    def ensure(self, setting: Mapping[str, Any], repeat: int, repeats: int) -> Round:
        """The finished round of a setting: run now, or kept from before.

        Raises:
            Stopped: the end of all was asked for.
            LaunchError, ConfigError: it cannot be started at all, and so no other.
        """
        found = self._find(setting, repeat)
        if found is None:
            found = Round(number=len(self.state.rounds), setting=dict(setting), repeat=repeat)
            self.state.rounds.append(found)
        if not found.is_over:
            self._run(found, repeats)
        return found

    def skip(self, found: Round, note: str) -> None:
        """Leave a round out, and say why."""
        row = Row(params=found.setting, repeat=found.repeat, status="skipped", note=note)
        self.conclude(found, "skipped", row)

    def conclude(self, found: Round, status: RoundStatus, row: Row) -> None:
        """A round is over."""
        found.status, found.row, found.live = status, row, None
        found.took_s = row.took_s
        self._note_differences()
        self._save()
        assert found.row is not None
        line = f"{self._place(found)} {outcome(found.row)}"
        sweeps = self.state.order.kind == "sweep"
        left = time_left_s(self.state, time.time()) if sweeps else None
        self._say(line if not left else f"{line}; about {about(left)} left")

    def taken(self, found: Round, ended: Ended) -> None:
        """Take what a round showed, wherever it ran."""
        found.surroundings = ended.surroundings
        self.conclude(found, "failed" if ended.row.status == "failed" else "done", ended.row)

    def begun(self, found: Round, session: Path | None) -> None:
        """A round runs; its session is known now or later."""
        found.status = "running"
        found.began_s = found.began_s if found.session == str(session) else time.time()
        found.session = str(session) if session is not None else found.session
        self._save()

    def finish(self, status: SweepStatus) -> None:
        """All is over, for now or for good."""
        state = self.state
        for found in state.rounds:
            if found.status == "running":
                found.status, found.live = "waiting", None
        state.status, state.ended_s, state.step = status, time.time(), ""
        self._save()

    # ----------------------------------------------------------------------------- inside

    def _run(self, found: Round, repeats: int) -> None:
        if self.stop.is_set():
            raise Stopped
        previous = Path(found.session) if found.session is not None else None
        job = self.prepared.job(found.setting, found.repeat, repeats, self._out)
        found.attempts += 1
        found.status, found.began_s = "running", time.time()
        self._save()
        try:
            ended = run_round(
                job,
                previous=previous,
                begun=lambda session: self.begun(found, session),
                is_stopped=self.stop.is_set,
                look=lambda row: self._look(found, row),
                is_watched=self._is_watched,
            )
        except (LaunchError, ConfigError) as error:
            if not self._others_ran(found) or getattr(error, "code", 0) == WRITE_FAILED:
                found.status = "waiting"
                raise
            row = Row(params=found.setting, repeat=found.repeat, status="failed", note=str(error))
            self.conclude(found, "failed", row)
            return
        self.taken(found, ended)

    def _look(self, found: Round, row: Row) -> None:
        found.live = row
        self._save()

    def _is_watched(self) -> bool:
        try:
            age = time.time() - (self.folder / WATCHED_FILE).stat().st_mtime
        except OSError:
            return False
        return age < WATCHED_S

    def _others_ran(self, found: Round) -> bool:
        return any(other.row is not None for other in self.state.rounds if other is not found)

    def _note_differences(self) -> None:
        """Say of each round what else differed; all are looked at again with every new one."""
        rounds = self.state.rounds
        for found, notes in zip(
            rounds, differences([found.surroundings for found in rounds]), strict=True
        ):
            if found.row is not None:
                found.row = msgspec.structs.replace(found.row, differs=notes)

    def _find(self, setting: Mapping[str, Any], repeat: int) -> Round | None:
        for found in self.state.rounds:
            if found.repeat == repeat and same_setting(found.setting, setting):
                return found
        return None

    def _place(self, found: Round) -> str:
        """Which round it is: ``[3/9] steps=8 #2:``; how many a fallback takes is not known."""
        rounds = self.state.rounds
        of = f"/{len(rounds)}" if self.state.order.kind == "sweep" else ""
        more = f" #{found.repeat}" if any(r.repeat > 1 for r in rounds) else ""
        return f"[{rounds.index(found) + 1}{of}] {label(found.setting)}{more}:"

    def _save(self) -> None:
        write_state(self.folder, self.state)


def touch_watched(folder: Path) -> None:
    """Say that somebody looks at the rounds."""
    path = folder / WATCHED_FILE
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.utime(handle)
        os.close(handle)
    except OSError:
        pass  # a folder of somebody else: they decide
