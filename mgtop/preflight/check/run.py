"""A check from beginning to end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from mgtop.preflight.check import interpreter
from mgtop.preflight.check.conflicts import Conflict, conflicts_in
from mgtop.preflight.check.judge import judge
from mgtop.preflight.check.machine import Machine
from mgtop.preflight.check.measure import measure
from mgtop.preflight.check.own_checks import own_checks
from mgtop.preflight.check.read import projects_within, requirements_of
from mgtop.preflight.check.requirement import Requirement, in_order
from mgtop.preflight.check.stated import Stated


class CannotCheck(Exception):
    """What was named is no repository, or no interpreter; the message tells what to do."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A finished check; its JSON is what ``mgtop check --json`` prints.

    Attributes:
        requirements: unmet ones first.
        unmet: those that make the check fail: demanded, unmet, and not for training alone.
        conflicts: statements of two files that contradict each other.
        machine: what was compared with.
        read: the files that were read.
        projects_within: folders with requirements of their own, which were not read.
        notes: what to know of the check itself.
    """

    requirements: list[Requirement]
    unmet: list[Requirement]
    conflicts: list[Conflict]
    machine: Machine
    read: list[str]
    projects_within: list[str]
    notes: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing that is demanded is unmet."""
        return not self.unmet


def check(repository: Path, python: str | None = None) -> Checked:
    """Read a repository, measure this machine, compare.

    Args:
        repository: its folder.
        python: the model's interpreter; None: the usual places are looked at.

    Raises:
        CannotCheck: there is no such folder or interpreter.
    """
    if not os.path.isdir(repository):
        what = "is a file" if os.path.exists(repository) else "does not exist"
        raise CannotCheck(f"{repository} {what}; name the folder of a repository.")
    notes = []
    if python is None:
        python, found = interpreter.usual_python(repository)
        notes.append(f"Python and packages are those of {found}; --python PATH names another.")
    place = _interpreter(python)
    try:
        stated, read = requirements_of(repository)
        within = projects_within(repository)
    except OSError as error:
        raise CannotCheck(f"{repository} cannot be read: {error.strerror}.") from None
    machine = measure(repository, place)
    return compared(stated, machine, read=read, within=within, notes=notes)


def compared(
    stated: list[Stated],
    machine: Machine,
    *,
    read: list[str],
    within: list[str],
    notes: list[str],
) -> Checked:
    """What was read beside what was measured."""
    asks = any(one.kind in ("torch", "cuda") for one in stated)
    found = [judge(one, machine) for one in stated]
    found += own_checks(machine, asks_for_torch=asks)
    ordered = in_order(found)
    return Checked(
        requirements=ordered,
        unmet=[one for one in ordered if one.fails],
        conflicts=conflicts_in(stated),
        machine=machine,
        read=read,
        projects_within=within,
        notes=notes,
    )


def _interpreter(python: str) -> str:
    """A path that can be started from any folder; links are kept, since environments are links."""
    if "/" not in python:
        found = shutil.which(python)
        if found is None:
            raise CannotCheck(f"{python} is not on the PATH; name the model's Python by --python.")
        return found
    place = Path(python).expanduser()
    if os.path.isdir(place):
        inside = place / "bin" / "python"
        if not os.path.isfile(inside):
            raise CannotCheck(f"{place} is a folder; name the program, as {place}/bin/python.")
        place = inside
    if not os.path.isfile(place):
        raise CannotCheck(f"There is no interpreter {place}.")
    if not os.access(place, os.X_OK):
        raise CannotCheck(f"{place} cannot be executed.")
    return os.path.abspath(place)
