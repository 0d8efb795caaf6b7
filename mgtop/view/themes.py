"""Themes are TOML files: base colours for Textual, and one colour for each band of the screen."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from platformdirs import user_config_path
from textual.color import Color, ColorParseError
from textual.theme import Theme

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT = "mgtop-dark"
ANSI = "mgtop-ansi"
"""For ``NO_COLOR`` and terminals with 16 colours."""

BASE = ("primary", "background", "surface", "panel", "foreground", "success", "warning", "error")
BANDS = (
    "text",
    "dim",
    "strong",
    "title",
    "good",
    "warn",
    "bad",
    "bar",
    "rest",
    "tail",
    "mark",
    "target",
    "selected",
)


class ThemeError(Exception):
    """A theme file is wrong; ``str()`` names file and key."""


def folders() -> list[Path]:
    """Where themes are: packed into the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    return [
        folder for folder in (package / "_themes", package.parent / "themes") if folder.is_dir()
    ]


def load_all() -> list[Theme]:
    """All themes that come with mgtop.

    Raises:
        ThemeError: one of them is wrong, or there is none.
    """
    found = folders()
    files = sorted(found[0].glob("*.toml")) if found else []
    if not files:
        raise ThemeError("mgtop's themes are missing: the installation is damaged, reinstall mgtop")
    return [load(path) for path in files]


def users_folder() -> Path:
    """Where a user's own themes are; need not exist."""
    return user_config_path("mgtop", appauthor=False) / "themes"


def load_users(taken: Collection[str], folder: Path | None = None) -> tuple[list[Theme], list[str]]:
    """A user's own themes, and what is wrong with those that cannot be used.

    One of a ``taken`` name is not used either.
    """
    themes: list[Theme] = []
    troubles: list[str] = []
    for path in sorted((folder or users_folder()).glob("*.toml")):
        try:
            theme = load(path)
        except ThemeError as error:
            troubles.append(str(error))
            continue
        if theme.name in {*taken, *(known.name for known in themes)}:
            troubles.append(f"{path}: there is another theme called {theme.name}")
            continue
        themes.append(theme)
    return themes, troubles


def load(path: Path) -> Theme:
    """One theme.

    Raises:
        ThemeError: it cannot be read, a key is missing or unknown, or a colour is none.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ThemeError(f"{path}: {error}") from None
    unknown = set(data) - {"name", "dark", "colors", "bands"}
    if unknown:
        raise ThemeError(f"{path}: {min(unknown)} is not a known key")
    name = data.get("name")
    if not isinstance(name, str) or not isinstance(data.get("dark"), bool):
        raise ThemeError(f"{path}: needs name (text) and dark (true or false)")
    colors = _colors(path, data, "colors", BASE)
    bands = _colors(path, data, "bands", BANDS)
    return Theme(
        name=name,
        dark=data["dark"],
        ansi=colors["background"].startswith("ansi_"),  # else they would become true colours
        variables={f"band-{band}": color for band, color in bands.items()},
        primary=colors["primary"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        foreground=colors["foreground"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
    )


def _colors(path: Path, data: dict[str, Any], table: str, names: tuple[str, ...]) -> dict[str, str]:
    values = data.get(table)
    if not isinstance(values, dict):
        raise ThemeError(f"{path}: needs a table [{table}]")
    for name in names:
        if name not in values:
            raise ThemeError(f"{path}: [{table}] lacks {name}")
    for name, value in values.items():
        if name not in names:
            raise ThemeError(f"{path}: [{table}] {name} is not a known key")
        try:
            Color.parse(value)
        except (ColorParseError, TypeError, AttributeError):
            raise ThemeError(f"{path}: [{table}] {name}: {value!r} is not a colour") from None
    return dict(values)
