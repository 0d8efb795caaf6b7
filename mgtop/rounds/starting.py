"""Finding or making the folder of a sweep: the same command again goes on where it was left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from mgtop.rounds.one_round import free_folder
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.state import (
    STATE_FILE,
    State,
    find_unfinished,
    read_state,
    runner_pid,
    sweeps_root,
    write_state,
)
from mgtop.session.writer import LOG_NAME, SessionWriteError


class FolderTaken(Exception):
    """The folder that was asked for holds something else; ``str()`` says what."""


class Opened:
    """The folder of a sweep.

    Attributes:
        folder: where its state lies.
        state: as it was left; of a new sweep, without rounds.
        resumed: rounds of an earlier attempt are in it.
        pid: the process that runs it at this moment; None: none does.
    """

    def __init__(self, folder: Path, state: State, resumed: bool) -> None:
        self.folder, self.state, self.resumed = folder, state, resumed
        self.pid = runner_pid(folder)

    @property
    def finished(self) -> bool:
        """There is nothing left to run."""
        return self.state.status == "finished"


def open_folder(prepared: Prepared) -> Opened:
    """The folder of an order: the unfinished one of the same order, or a new one.

    Raises:
        FolderTaken: the folder that was asked for holds another sweep, or a session.
        SessionWriteError: it cannot be made.
    """
    order = prepared.order
    if order.out is not None:
        folder = Path(order.out)
        state = read_state(folder)
        if state is not None:
            if state.order.fingerprint != order.fingerprint:
                raise FolderTaken(_other(folder, state))
            return Opened(folder, _at_home(folder, state), True)
        if (folder / STATE_FILE).exists():
            raise FolderTaken(f"{folder / STATE_FILE} cannot be read; choose another folder")
        if os.path.lexists(folder / LOG_NAME):
            raise FolderTaken(f"{folder} holds a session; choose another folder")
        return _new(folder, prepared)
    found = find_unfinished(order.fingerprint)
    state = read_state(found) if found is not None else None
    if found is not None and state is not None:
        return Opened(found, state, True)
    names = "+".join(variable.name for variable in prepared.variables)
    folder = free_folder(sweeps_root(), f"{prepared.name}-{order.kind}-{names}", {})
    return _new(folder, prepared)


def _at_home(folder: Path, state: State) -> State:
    """The state of a folder that may have been moved: its sessions lie where it does."""
    before = state.order.out
    if before is None or Path(before) == folder:
        return state
    state.order = msgspec.structs.replace(state.order, out=str(folder))
    for found in state.rounds:
        session = Path(found.session) if found.session is not None else None
        if session is None or session.parent != Path(before):
            continue
        found.session = str(folder / session.name)
        if found.row is not None:
            found.row = msgspec.structs.replace(found.row, session=found.session)
    return state


def _new(folder: Path, prepared: Prepared) -> Opened:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        where = error.filename or folder
        raise SessionWriteError(f"cannot make {where}: {error.strerror}") from None
    state = State(
        order=prepared.order,
        name=prepared.name,
        began_s=time.time(),
        said=list(prepared.said),
        status="stopped",
    )
    write_state(folder, state)
    return Opened(folder, state, False)


def _other(folder: Path, state: State) -> str:
    order = state.order
    what = " ".join(f"--vary {text}" for text in order.vary)
    return (
        f"{folder} holds another {order.kind} ({Path(order.config).name} {what}".rstrip()
        + f", {order.repeats} repeats, or its configuration was different); choose another folder"
    )
