"""Options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])

LARGEST = 1e9
"""Number on a command line: thirty years in seconds."""


if TYPE_CHECKING:
    PathParameter = click.ParamType[Path]
else:
    PathParameter = click.ParamType  # generic only from click 8.2 on


class Number(click.FloatRange):
    """A number, called so in messages."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read it; ``nan``, ``inf`` and what no clock can count to are refused."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        if number > LARGEST:
            self.fail(f"{value} is too large.", param, ctx)
        return number


class SessionType(PathParameter):
    """A session: its folder, or a part of its name. Converts to the folder's path."""

    name = "session"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Find the session; what cannot be found is explained by the error's own message."""
        if isinstance(value, Path):
            return value
        from mgtop.session.folder import find

        return find(str(value))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Session names that contain what was typed, and folders."""
        from mgtop.session.folder import list_sessions

        found = [
            CompletionItem(entry.path.name, help="live" if entry.live else "")
            for entry in list_sessions()
            if incomplete in entry.path.name
        ]
        return [*found, CompletionItem(incomplete, type="dir")]


SESSION = SessionType()


def session_argument(
    *, required: bool = True, many: bool = False
) -> Callable[[Function], Function]:
    """The ``SESSION`` argument → ``session: Path | None``.

    ``many`` → ``sessions: tuple[Path, ...]``.
    """
    if many:
        return click.argument(
            "sessions", metavar="SESSION...", type=SESSION, nargs=-1, required=required
        )
    return click.argument("session", metavar="SESSION", type=SESSION, required=required)


def headless(function: Function) -> Function:
    """``--headless`` → ``headless: bool``."""
    return click.option(
        "--headless",
        is_flag=True,
        help="Without a screen; the session folder's path is the last line of stdout.",
    )(function)


def seconds(function: Function) -> Function:
    """``--seconds N`` → ``seconds: float | None``, above 0."""
    return click.option(
        "--seconds",
        type=Number(min=0, min_open=True),
        metavar="N",
        help="Stop after N seconds.",
    )(function)


def out(function: Function) -> Function:
    """``--out DIR`` → ``out: Path | None``."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder for the session (default: one in the user's state folder).",
    )(function)


def fps(function: Function) -> Function:
    """``--fps N`` → ``fps: float | None``."""
    return click.option(
        "--fps",
        type=Number(min=0.2, max=30),
        metavar="N",
        help="Drawings of the screen per second (default: 4).",
    )(function)


def recording_options(function: Function) -> Function:
    """All three: ``headless``, ``seconds`` and ``out``."""
    return headless(seconds(out(function)))


def as_json(function: Function) -> Function:
    """``--json`` → ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(
        function
    )
