"""Profiles of known projects, as commands use them; nothing is imported before it is needed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mgtop.cli.errors import UserError

if TYPE_CHECKING:
    from mgtop.config import RunConfig
    from mgtop.config.load import Under

FILE = "mgtop.yaml"


def filled_in(
    profile: str | None, *, has_command: bool = False, config: Path | None = None
) -> Under | None:
    """What a profile gives to a configuration that does not say it; None without a profile.

    Args:
        profile: ``NAME`` or ``NAME:ENTRY``.
        has_command: a command is given.
        config: the file, whose own command or that of its baseline would be one.

    Raises:
        ConfigError: there is no such profile, or a file is wrong.
    """
    if profile is None:
        return None
    from mgtop.config.load import given_keys
    from mgtop.hooks.into_config import under_config
    from mgtop.hooks.profile_files import find

    known, entry = find(profile)
    if config is not None:
        has_command = "command" in given_keys(config)
    return under_config(known, entry, has_command=has_command)


def in_repository(profile: str, folder: Path, overrides: tuple[str, ...]) -> RunConfig:
    """The configuration that starts a profile's entry in a repository without an mgtop.yaml.

    Raises:
        ConfigError: there is no such profile, or an override does not fit.
    """
    from mgtop.config.load import build_config
    from mgtop.hooks.into_config import in_folder
    from mgtop.hooks.profile_files import find

    known, entry = find(profile)
    return build_config({}, overrides, in_folder(known, entry, folder))


def unknown_folder(folder: Path) -> UserError:
    """That a folder has no configuration, and what to type instead."""
    from mgtop.hooks.profile_files import every
    from mgtop.hooks.recognise import below, recognise

    name = shlex.quote(str(folder))
    there = f"There is no {FILE} in {folder}"
    profiles = list(every())
    if fits := recognise(folder, profiles):
        title = fits[0].profile.title
        return UserError(f"{there}, but it looks like {title}: mgtop init {name} writes one.")
    if inner := below(folder, profiles):
        place, known = inner[0]
        return UserError(
            f"{there}, but {place.name} in it looks like {known.profile.title}: "
            f"mgtop init {shlex.quote(str(place))} writes one."
        )
    return UserError(
        f"{there}: mgtop init {name} writes a start; or name a configuration file, "
        "or give a command after --, as in: mgtop run -- python infer.py"
    )
