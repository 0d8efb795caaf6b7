"""Parameters that live in a YAML file of the target: a copy of it is edited, never the file.

The copy goes to ``edited/`` in the session folder, and the word of the command that names the
file names the copy instead.
"""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config import RunConfig
from mgtop.config.edit import CannotEdit, set_value
from mgtop.config.errors import ConfigError
from mgtop.config.files import read_file
from mgtop.record.plan import EditedFile, Plan

FOLDER = "edited"
MOST_BYTES = 4 << 20


def edit_files(config: RunConfig, path: str, command: Sequence[str], cwd: Path) -> list[EditedFile]:
    """The copies that a configuration's ``edit`` asks for, and the words that are to name them.

    Args:
        config: the configuration.
        path: its file, for messages.
        command: the command line, parameters filled in.
        cwd: folder that the command runs in, and that the files' names start from.

    Raises:
        ConfigError: no such file, key or parameter, or no word of the command names the file.
    """
    edited: list[EditedFile] = []
    for name, changes in config.edit.items():
        key = f"edit.{name}"
        words = _words_naming(name, command, cwd)
        if not words:
            raise ConfigError(
                f"no word of the command is {name} or ends in ={name}, "
                "so the program would not read the edited copy",
                path,
                key=key,
            )
        text = _read(cwd / Path(name).expanduser(), path, key)
        for place, parameter in changes.items():
            value = _value(config.params, parameter, path, f"{key}.{place}")
            try:
                text = set_value(text, place, value)
            except CannotEdit as error:
                raise ConfigError(f"{name} {error}", path, key=f"{key}.{place}") from None
        if any(words.keys() & other.words.keys() for other in edited):
            raise ConfigError("names the same file as another one there", path, key=key)
        taken = [other.place for other in edited]
        edited.append(EditedFile(place=_place(name, cwd, taken), text=text, words=words))
    return edited


def place_copies(plan: Plan, folder: Path) -> Plan:
    """Write the copies into the session folder; return the plan whose command names them.

    Raises:
        OSError: one cannot be written.
    """
    command = list(plan.command)
    for file in plan.edited:
        copy = folder.absolute() / file.place
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.text.encode())
        for word, before in file.words.items():
            command[word] = f"{before}{copy}"
    return msgspec.structs.replace(plan, command=command, edited=[])


def _words_naming(name: str, command: Sequence[str], cwd: Path) -> dict[int, str]:
    """Places in the command of what names the file, with what stands before it in the word.

    A word names it if it is its name, or ends in ``=`` and its name, or leads to the same file.
    """
    wanted = _resolved(name, cwd)
    found = {}
    for n, word in enumerate(command):
        option, equals, value = word.partition("=")
        if equals and _resolved(value, cwd) == wanted:
            found[n] = f"{option}="
        elif _resolved(word, cwd) == wanted:
            found[n] = ""
    return found


def _resolved(name: str, cwd: Path) -> str:
    return os.path.realpath(cwd / os.path.expanduser(name)) if "\0" not in name else name


def _place(name: str, cwd: Path, taken: Collection[str]) -> str:
    """Where a copy goes in the session: as in the working directory, if the file lies there."""
    relative = os.path.relpath(_resolved(name, cwd), os.path.realpath(cwd))
    file = Path(relative).name
    inside = relative.split(os.sep)[0] != os.pardir
    places = (f"{FOLDER}/{n}/{file}" for n in itertools.count(2))
    first = f"{FOLDER}/{relative if inside else file}"
    return next(place for place in itertools.chain([first], places) if place not in taken)


def _read(file: Path, path: str, key: str) -> str:
    try:
        raw = read_file(file, MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", path, key=key) from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{file} is larger than {MOST_BYTES >> 20} MiB", path, key=key)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text", path, key=key) from None


def _value(params: Mapping[str, Any], name: str, path: str, key: str) -> Any:
    if name in params:
        return params[name]
    close = difflib.get_close_matches(name, list(params), 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(params) or 'none'}"
    raise ConfigError(f"{name!r} is not among params ({hint})", path, key=key)
