"""The command that a configuration means: parameters filled in, the right Python."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mgtop.config.conda import conda_python
from mgtop.config.errors import ConfigError
from mgtop.config.structs import RunConfig

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def resolve_command(config: RunConfig, path: str) -> list[str]:
    """The command line with ``{name}`` filled from ``params`` and ``python`` replaced.

    Args:
        config: the configuration.
        path: its file, for messages.

    Raises:
        ConfigError: no command, an unknown parameter, or a Python that is not there.
    """
    if not config.command:
        raise ConfigError("must say what to start, as in [python, infer.py]", path, key="command")
    words = [fill(word, config.params, path) for word in config.command]
    python = resolve_python(config, path)
    if python is not None and words[0] in ("python", "python3"):
        words[0] = python
    return words


def fill(word: str, params: Mapping[str, Any], path: str, key: str = "command") -> str:
    """One word of a command; ``{{`` and ``}}`` are literal braces.

    A list is joined with commas; true and false are written as in YAML.

    Raises:
        ConfigError: a name that is not among the parameters, or a value that is no text.
    """
    if problem := problem_in(word, params):
        raise ConfigError(problem, path, key=key)

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return match.group()[0] if name is None else _text(params[name])

    return _BRACES.sub(value, word)


def problem_in(word: str, params: Mapping[str, Any]) -> str | None:
    """What is wrong with the braces of a word; None: nothing."""
    for match in _BRACES.finditer(word):
        name, braces = match.group(1), match.group()
        if len(braces) == 1:
            return f"{word!r} has a lone {braces}; as text it is written {braces * 2}"
        if name is None:
            continue
        if name not in params:
            known = ", ".join(params) or "there are none"
            hint = "" if re.fullmatch(r"[\w.-]+", name) else "; a { as text is written {{"
            return f"{braces} is not among params ({known}){hint}"
        value = params[name]
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, (dict, list)) or part is None for part in parts):
            return f"{braces} has no value that fits in a command"
    return None


def filled(config: RunConfig) -> Iterator[tuple[str, str]]:
    """Every text of a configuration that parameters are filled into, with its key."""
    for n, word in enumerate(config.command):
        yield f"command[{n}]", word
    if config.smoke is not None:
        for n, word in enumerate(config.smoke.command):
            yield f"smoke.command[{n}]", word
        yield "smoke.output", config.smoke.output
    for n, hook in enumerate(config.frames.hooks):
        if isinstance(hook.every, str):
            yield f"frames.hooks[{n}].every", hook.every


def resolve_python(config: RunConfig, path: str) -> str | None:
    """What ``python`` in the command means; None: what the PATH says.

    Raises:
        ConfigError: it is not there, or both ``python`` and ``conda`` are given.
    """
    if config.python and config.conda:
        raise ConfigError("give python or conda, not both", path, key="conda")
    if config.conda:
        python, looked = conda_python(config.conda)
        if python is None:
            message = f"there is no conda environment {config.conda!r} ({looked})"
            raise ConfigError(message, path, key="conda")
        return str(python)
    if not config.python:
        return None
    if "/" not in config.python:
        found = shutil.which(config.python)
        if found is None:
            raise ConfigError(f"{config.python} is not on the PATH", path, key="python")
        return found
    place = Path(config.python).expanduser()
    if os.path.isdir(place):
        message = f"{place} is a folder; name the program, as {place}/bin/python"
        raise ConfigError(message, path, key="python")
    if not os.path.isfile(place):
        raise ConfigError(f"{place} does not exist", path, key="python")
    if not os.access(place, os.X_OK):
        raise ConfigError(f"{place} cannot be executed", path, key="python")
    return str(place)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
