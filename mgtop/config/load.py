"""YAML → :class:`RunConfig`, with errors that name file, line and key."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config.command import filled, problem_in
from mgtop.config.differences import differences
from mgtop.config.document import Document
from mgtop.config.errors import ConfigError
from mgtop.config.explain import explain, nearest
from mgtop.config.overrides import Origin, override
from mgtop.config.structs import RunConfig

__all__ = [
    "DEFAULT_FILE",
    "ConfigError",
    "build_config",
    "differences",
    "given_keys",
    "load_config",
    "located",
]

DEFAULT_FILE = "mgtop.yaml"
_COMMAND_LINE = "command line"

Under = tuple[dict[str, Any], Origin]
"""Data that gives what a configuration does not, and where each of its keys stands."""


def load_config(
    path: Path | str, overrides: Sequence[str] = (), under: Under | None = None
) -> RunConfig:
    """Read a configuration, its baseline under it, and ``KEY=VALUE`` overrides over it.

    ``under`` lies below all of them: data, and where each of its keys stands.

    A folder means the ``mgtop.yaml`` in it. ``cwd`` comes back absolute, and ``python`` where
    it is a path; each relative to the file that gives it, or to here if an override does.

    Raises:
        ConfigError: with what is wrong, and where.
    """
    data, origin = _read(_file(path))
    if under is not None:
        data, origin = _merge(copy.deepcopy(under[0]), data), under[1] | origin
    return _checked(data, origin, overrides)


def build_config(
    data: Mapping[str, Any], overrides: Sequence[str] = (), under: Under | None = None
) -> RunConfig:
    """A configuration from plain data instead of a file, with ``KEY=VALUE`` overrides over it.

    ``under`` is as in :func:`load_config`.

    Raises:
        ConfigError: with what is wrong.
    """
    whole = copy.deepcopy(dict(data))
    origin: Origin = {"": (_COMMAND_LINE, None)}
    if under is not None:
        whole, origin = _merge(copy.deepcopy(under[0]), whole), under[1] | origin
    return _checked(whole, origin, overrides)


def given_keys(path: Path | str) -> frozenset[str]:
    """The top-level keys that a configuration or a baseline of it gives, defaults apart.

    Raises:
        ConfigError: as :func:`load_config`, as far as files and YAML are concerned.
    """
    data, _ = _read(_file(path), resolve_cwd=False)
    return frozenset(data)


def located(error: ConfigError, path: Path | str, overrides: Sequence[str] = ()) -> ConfigError:
    """The same error with file and line of its key, where a file gives it; else ``--set``.

    Args:
        error: of a configuration that could be loaded.
        path: its file; one that does not exist stands for the command line.
        overrides: what :func:`load_config` was given.
    """
    if error.line is not None or error.key is None:
        return error
    data: dict[str, Any] = {}
    origin: Origin = {"": (_COMMAND_LINE, None)}
    if os.path.isfile(_file(path)):
        data, origin = _read(_file(path), resolve_cwd=False)
    for text in overrides:
        override(data, origin, text)
    return _error(error.message, error.key, origin)


def _file(path: Path | str) -> Path:
    path = Path(path)
    return path / DEFAULT_FILE if os.path.isdir(path) else path


def _true(path: Path) -> str:
    """The path without links; as it is where no file can be called so."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return str(path)


def _read(
    path: Path, chain: tuple[str, ...] = (), *, resolve_cwd: bool = True
) -> tuple[dict[str, Any], Origin]:
    """The data of a file with its baseline's under it, and where each key came from."""
    document = Document.read(path)
    data = document.data
    origin: Origin = {key: (str(path), line) for key, line in document.lines.items()}
    base_name = data.get("baseline")
    base: dict[str, Any] = {}
    if isinstance(base_name, str):
        line = document.lines["baseline"]
        base_path = _file(path.parent / Path(base_name).expanduser())
        chain = (*chain, _true(path))
        if _true(base_path) in chain:
            raise ConfigError(f"{base_name} leads back to this file", str(path), line, "baseline")
        if not os.path.isfile(base_path):
            raise ConfigError(f"{base_path} does not exist", str(path), line, "baseline")
        base, below = _read(base_path, chain, resolve_cwd=resolve_cwd)
        origin = below | origin
    if resolve_cwd:
        _resolve_paths(data, path, has_base=bool(base))
    for one, other in (("python", "conda"), ("conda", "python")):
        if one in data and other not in data:
            base.pop(other, None)
    return _merge(base, data), origin


def _resolve_paths(data: dict[str, Any], path: Path, *, has_base: bool) -> None:
    """Make paths of a file absolute: its data may end up under that of another folder's file."""
    cwd, python = data.get("cwd", None if has_base else "."), data.get("python")
    if isinstance(cwd, str):
        data["cwd"] = os.path.abspath(path.parent / Path(cwd).expanduser())
    if isinstance(python, str) and "/" in python:  # never resolved: an environment's is a link
        data["python"] = os.path.abspath(path.parent / Path(python).expanduser())


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings key by key; everything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _checked(data: dict[str, Any], origin: Origin, overrides: Sequence[str]) -> RunConfig:
    for text in overrides:
        override(data, origin, text)
    try:
        config = msgspec.convert(data, RunConfig)
    except msgspec.ValidationError as error:
        key, message = explain(error, data)
        raise _error(message, key, origin) from None
    for key, text in filled(config):
        if problem := problem_in(text, config.params):
            raise _error(problem, key, origin)
    return config


def _error(message: str, key: str, origin: Origin) -> ConfigError:
    path, line = origin.get(nearest(key, origin)) or next(iter(origin.values()))
    return ConfigError(message, path, line, key or None)
