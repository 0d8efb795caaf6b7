"""Parameters that live in a YAML file of an unknown repository, found by the names of its keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config.document import Document
from mgtop.config.errors import ConfigError
from mgtop.hooks.entry_script import MEANINGS, Script

_LISTS = {"steps": ("denoising_step_list", "timesteps", "schedule")}


class Found(msgspec.Struct, frozen=True):
    """A parameter in a file."""

    name: str
    file: str
    key: str
    """Dotted."""
    value: Any


def parameters_in_yaml(folder: Path, script: Script) -> list[Found]:
    """What the YAML files hold that the script's options name by default.

    Only what no option of the script sets is given.
    """
    found: dict[str, Found] = {}
    for option in script.options:
        file = option.default
        if not isinstance(file, str) or not file.endswith((".yaml", ".yml")):
            continue
        if not (folder / file).is_file():
            continue
        try:
            data = Document.read(folder / file).data
        except ConfigError:
            continue  # not YAML as we read it: nothing can be edited there
        for key, value in _leaves(data, ""):
            name = _meaning(key.rpartition(".")[2], value)
            if name and name not in found and script.meaning(name) is None:
                found[name] = Found(name, file, key, value)
    return list(found.values())


def _leaves(data: Any, at: str) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        key = f"{at}.{name}" if at else str(name)
        if isinstance(value, dict):
            yield from _leaves(value, key)
        else:
            yield key, value


def _meaning(key: str, value: Any) -> str | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    for name, names in MEANINGS.items():
        if (number and key in names) or (isinstance(value, list) and key in _LISTS.get(name, ())):
            return name
    return None
