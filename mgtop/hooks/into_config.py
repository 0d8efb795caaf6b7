"""A profile under a run configuration: it gives whatever the configuration does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mgtop.config.overrides import Origin
from mgtop.hooks.profile_files import Known

_OF_THE_COMMAND = ("command", "params", "edit", "env", "smoke")
"""Keys that mean nothing where another command is given."""


def under_config(
    known: Known, entry: str | None, *, has_command: bool
) -> tuple[dict[str, Any], Origin]:
    """What a profile gives to a configuration, and where each key stands in it.

    Args:
        known: the profile.
        entry: the way to start; None: the usual one.
        has_command: whether the configuration has a command of its own; then the profile only
            says where frames come from and how they are judged.
    """
    name, found = known.entry(entry)
    data = found.run_keys()
    if has_command:
        data = {key: value for key, value in data.items() if key not in _OF_THE_COMMAND}
    lead = f"entries.{name}."
    path = str(known.path)
    origin: Origin = {
        key.removeprefix(lead): (path, line)
        for key, line in known.lines.items()
        if key.startswith(lead)
    }
    return data, {"": (path, 1)} | origin


def in_folder(known: Known, entry: str | None, folder: Path) -> tuple[dict[str, Any], Origin]:
    """A whole configuration that starts a profile's entry in a repository's folder."""
    data, origin = under_config(known, entry, has_command=False)
    name, _ = known.entry(entry)
    data["name"] = known.name if entry is None else f"{known.name}-{name}"
    data["cwd"] = str(folder.resolve())
    return data, origin
