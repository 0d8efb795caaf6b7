"""The state of a sweep or fallback: one small file that its screen and its successor read.

``rounds.json`` in the folder of the sweep is written anew, as a whole, whenever a round begins
or ends, and put in the place of the old one in one step: whoever reads it sees one state or the
next, and a sweep that is killed leaves the last one.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any, Literal

import msgspec
from platformdirs import user_state_path

from mgtop.rounds.row import Row
from mgtop.rounds.surroundings import Surroundings
from mgtop.session.lock import SessionBusy, SessionLock, is_live, read_owner
from mgtop.session.writer import SessionWriteError

STATE_FILE = "rounds.json"
SCHEMA = 1

RoundStatus = Literal["waiting", "running", "done", "failed", "skipped"]
SweepStatus = Literal["running", "finished", "stopped", "failed"]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for.

    Attributes:
        kind: ``sweep`` or ``fallback``.
        config: the configuration's file, absolute.
        overrides: as in ``--set``.
        vary: as in ``--vary``.
        repeats: of each setting.
        seconds: longest duration of a round; None: until its program ends.
        gates: conditions on each round's report, those of the configuration apart.
        on: where rounds run: None: here; ``ray`` or ``ray://ADDRESS``.
        out: folder that was asked for; sessions go into it.
        fingerprint: of all that decides what the rounds are.
    """

    kind: Literal["sweep", "fallback"]
    config: str
    overrides: list[str] = []
    vary: list[str] = []
    repeats: int = 3
    seconds: float | None = None
    gates: list[str] = []
    on: str | None = None
    out: str | None = None
    fingerprint: str = ""


class Round(msgspec.Struct, kw_only=True):
    """One round and how far it is.

    Attributes:
        number: from 0, in the order of running.
        setting: the varied parameters.
        session: its folder; there from when it runs.
        began_s: Unix time at which it began.
        attempts: times it was begun.
        row, surroundings: what it showed; there when it is over.
    """

    number: int
    setting: dict[str, Any]
    repeat: int = 1
    status: RoundStatus = "waiting"
    session: str | None = None
    began_s: float | None = None
    took_s: float | None = None
    attempts: int = 0
    row: Row | None = None
    surroundings: Surroundings | None = None
    live: Row | None = None
    """Figures so far, while it runs and somebody looks."""

    @property
    def is_over(self) -> bool:
        """It need not run (again)."""
        return self.status in ("done", "failed", "skipped")


class State(msgspec.Struct, kw_only=True):
    """A sweep or fallback.

    Attributes:
        name: of the configuration.
        said: sentences for the user on the whole of it.
        step: what is being done at present, where that is no round (as the smoke test).
        smoke: how the smoke test ended: ``passed``, or why not; None: there is none.
    """

    schema: int = SCHEMA
    order: Order
    name: str
    status: SweepStatus = "running"
    began_s: float
    ended_s: float | None = None
    rounds: list[Round] = []
    said: list[str] = []
    step: str = ""
    smoke: str | None = None
    result: list[str] = []
    """The answer in short, once there is one."""
    message: str = ""
    """Why it failed, where it did."""
    exit_code: int | None = None


def sweeps_root() -> Path:
    """``$XDG_STATE_HOME/mgtop/sweeps``; need not exist."""
    return user_state_path("mgtop", appauthor=False) / "sweeps"


def read_state(folder: Path) -> State | None:
    """The state; None where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=State)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def write_state(folder: Path, state: State) -> None:
    """Replace the state.

    Raises:
        SessionWriteError: it cannot be written.
    """
    path = folder / STATE_FILE
    new = folder / f".{STATE_FILE}.{os.getpid()}"
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(state), indent=1))
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise SessionWriteError(f"cannot write {path}: {error.strerror}") from None


def hold(folder: Path) -> SessionLock:
    """The lock of a sweep's folder, held by the process that runs its rounds.

    Whoever looks whether the sweep runs holds it, too, for an instant: so it is tried again.

    Raises:
        SessionBusy: another process runs it.
        SessionWriteError: it cannot be made.
    """
    for _ in range(20):
        try:
            return SessionLock(folder)
        except SessionBusy:
            time.sleep(0.02)
    return SessionLock(folder)


def runner_pid(folder: Path) -> int | None:
    """The process that runs a sweep's rounds now; None where none does."""
    owner = read_owner(folder) if is_live(folder) else None
    return owner.pid if owner is not None else None


def find_unfinished(fingerprint: str, root: Path | None = None) -> Path | None:
    """The newest folder of the same sweep that was not finished; None: there is none."""
    root = sweeps_root() if root is None else root
    try:
        folders = sorted((root / name for name in os.listdir(root)), reverse=True)
    except OSError:
        return None
    for folder in folders:
        state = read_state(folder)
        if (
            state is not None
            and state.order.fingerprint == fingerprint
            and state.status != "finished"
        ):
            return folder
    return None


def holds_rounds(folder: Path) -> bool:
    """Whether a folder is that of a sweep or fallback."""
    return read_state(folder) is not None


def find_rounds(text: str, root: Path | None = None) -> Path | None:
    """The folder of a sweep or fallback that a path, or a folder's whole name, means."""
    root = sweeps_root() if root is None else root
    path = Path(text).expanduser()
    for folder in (path, root / text) if "/" not in text else (path,):
        if holds_rounds(folder):
            return folder.resolve()
    return None


def find_sweep_of(session: Path) -> Path | None:
    """The folder of the sweep or fallback that a session is a round of; None: of none."""
    session = session.resolve()
    candidates = [session.parent]
    with contextlib.suppress(OSError):
        root = sweeps_root()
        candidates += sorted((root / name for name in os.listdir(root)), reverse=True)
    for folder in candidates:
        state = read_state(folder)
        if state is None:
            continue
        for found in state.rounds:
            if found.session is not None and Path(found.session).resolve() == session:
                return folder
    return None
