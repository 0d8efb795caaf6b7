"""The profiles that there are: those that come with mgtop, and the user's own, which win."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_config_path

from mgtop.config.command import filled
from mgtop.config.document import Document
from mgtop.config.errors import ConfigError
from mgtop.config.explain import explain, nearest
from mgtop.config.load import build_config
from mgtop.hooks.profile import Entry, Profile
from mgtop.hooks.target.configured import problem

SHIPPED = Path(__file__).with_name("profiles")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class Known(msgspec.Struct, frozen=True):
    """A profile with its name, which is that of its file."""

    name: str
    path: Path
    own: bool
    """It is the user's."""
    profile: Profile
    lines: dict[str, int]
    """Line of every key of the file, from 1."""

    def entry(self, name: str | None = None) -> tuple[str, Entry]:
        """One of the ways to start it, with its name; None: the usual one.

        Raises:
            ConfigError: there is none of that name.
        """
        if name is None:
            return next(iter(self.profile.entries.items()))
        if name in self.profile.entries:
            return name, self.profile.entries[name]
        there = ", ".join(self.profile.entries)
        raise ConfigError(f"there is no entry {name!r} (there are {there})", str(self.path))


def own_folder() -> Path:
    """Where the user's profiles are looked for."""
    return user_config_path("mgtop", appauthor=False) / "profiles"


def names() -> list[str]:
    """Names of all profiles, in order."""
    return sorted(_files())


def find(name: str) -> tuple[Known, str | None]:
    """The profile of a name, ``NAME`` or ``NAME:ENTRY``, and the entry.

    Raises:
        ConfigError: there is none, or it is wrong.
    """
    name, _, entry = name.partition(":")
    files = _files()
    if name not in files:
        close = difflib.get_close_matches(name.lower(), files, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(files))}"
        raise ConfigError(f"there is no profile {name!r} ({hint})", "--profile")
    known = read(files[name])
    known.entry(entry or None)
    return known, entry or None


def every() -> Iterator[Known]:
    """All profiles, in the order of their names.

    Raises:
        ConfigError: one of them is wrong.
    """
    for _, path in sorted(_files().items()):
        yield read(path)


def read(path: Path) -> Known:
    """Read one profile.

    Raises:
        ConfigError: with file, line and key of what is wrong.
    """
    document = Document.read(path)
    try:
        profile = msgspec.convert(document.data, Profile)
    except msgspec.ValidationError as error:
        key, message = explain(error, document.data, Profile)
        raise _error(document, key, message) from None
    for key, message in _problems(profile):
        raise _error(document, key, message)
    return Known(path.stem, path, path.parent != SHIPPED, profile, document.lines)


def _files() -> dict[str, Path]:
    found = {}
    for folder in (SHIPPED, own_folder()):
        for path in sorted(folder.glob("*.yaml")):
            if not _NAME.fullmatch(path.stem):
                raise ConfigError(
                    "a profile is named after its file: small letters, digits, '.', '_' and '-'",
                    str(path),
                )
            found[path.stem] = path
    return found


def _error(document: Document, key: str, message: str) -> ConfigError:
    lines: dict[str, Any] = dict(document.lines)
    line = document.lines.get(nearest(key, lines)) or 1
    return ConfigError(message, str(document.path), line, key or None)


def _problems(profile: Profile) -> Iterator[tuple[str, str]]:
    """What the schema cannot say."""
    if not profile.entries:
        yield "entries", "must have one entry at least: a way to start the project"
    if not profile.recognise:
        yield "recognise", "must name one file at least by which the repository is recognised"
    for n, files in enumerate(profile.recognise):
        if not files:
            yield f"recognise[{n}]", "must name a file"
        for file, pattern in files.items():
            if file.startswith("/") or ".." in Path(file).parts:
                yield f"recognise[{n}].{file}", "must lie in the repository"
            if wrong := _bad_pattern(pattern):
                yield f"recognise[{n}].{file}", wrong
    for n, line in enumerate(profile.logs):
        if wrong := _bad_pattern(line.pattern):
            yield f"logs[{n}].pattern", wrong
    for name, entry in profile.entries.items():
        yield from _entry_problems(f"entries.{name}", entry)


def _entry_problems(at: str, entry: Entry) -> Iterator[tuple[str, str]]:
    if not entry.command:
        yield f"{at}.command", "must say what to start, as in [python, infer.py]"
    data = entry.run_keys()
    named = {name: value if value is not None else "" for name, value in entry.params.items()}
    try:  # a parameter without a value is one that init asks for
        config = build_config(data | {"params": named})
    except ConfigError as error:
        yield f"{at}.{error.key}" if error.key else at, error.message
        return
    for n, hook in enumerate(entry.frames.hooks):
        if found := problem(msgspec.to_builtins(hook)):
            yield f"{at}.frames.hooks[{n}].{found[0]}", found[1]
    used = {name for keys in entry.edit.values() for name in keys.values()}
    for name in sorted(used - entry.params.keys()):
        yield f"{at}.edit", f"{name} is not among params ({', '.join(entry.params) or 'none'})"
    used |= {name for _, text in filled(config) for name in re.findall(r"\{([\w.-]+)\}", text)}
    for name in entry.params:
        if name not in used and name not in entry.notes and name != "fps":
            yield f"{at}.params.{name}", "fills nothing; say in notes what it is for"


def _bad_pattern(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what may mean something else in a later Python
            re.compile(pattern)
    except re.error as error:
        return f"is no regular expression: {error}"
    return None
