"""The command that a configuration means: parameters filled in, the right Python, the folder."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mgtop.config.load import ConfigError
from mgtop.config.structs import RunConfig


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


def fill(word: str, params: Mapping[str, Any], path: str) -> str:
    """One word of a command; ``{{`` and ``}}`` are literal braces.

    Raises:
        ConfigError: a name that is not among the parameters.
    """
    filled = []
    try:
        parts = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ConfigError(
            f"{word!r}: {error} (write {{{{ for a brace)", path, key="command"
        ) from None
    for text, name, spec, conversion in parts:
        filled.append(text)
        if name is None:
            continue
        if spec or conversion or name not in params:
            known = ", ".join(params) or "none"
            message = f"{{{name}}} is not one of params ({known})"
            raise ConfigError(message, path, key="command")
        value = params[name]
        filled.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    return "".join(filled)


def resolve_python(config: RunConfig, path: str) -> str | None:
    """What ``python`` in the command means; None: what the PATH says.

    Raises:
        ConfigError: it is not there, or both ``python`` and ``conda`` are given.
    """
    if config.python and config.conda:
        raise ConfigError("give python or conda, not both", path, key="conda")
    if config.python:
        python = Path(config.python).expanduser()
        if not (python.is_file() and os.access(python, os.X_OK)):
            raise ConfigError(f"{python} is not a program", path, key="python")
        return str(python)
    if config.conda:
        places = [root / "envs" / config.conda / "bin" / "python" for root in conda_roots()]
        for place in places:
            if place.is_file():
                return str(place)
        looked = ", ".join(str(place.parent.parent) for place in places) or "no conda was found"
        raise ConfigError(
            f"no environment {config.conda!r} (looked in {looked})", path, key="conda"
        )
    return None


def conda_roots() -> list[Path]:
    """Where conda environments can be, the likeliest first."""
    roots: list[Path] = []
    if exe := os.environ.get("CONDA_EXE"):
        roots.append(Path(exe).parent.parent)
    if prefix := os.environ.get("CONDA_PREFIX"):
        found = Path(prefix)
        roots.append(found.parent.parent if found.parent.name == "envs" else found)
    home = Path.home()
    names = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda")
    roots += [home / name for name in names]
    roots += [Path("/opt/conda"), Path("/opt/miniconda3")]
    return [root for root in dict.fromkeys(roots) if (root / "envs").is_dir()]
