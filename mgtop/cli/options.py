"""Options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from mgtop.cli.errors import USAGE, UserError

if TYPE_CHECKING:
    import socket

Function = TypeVar("Function", bound=Callable[..., Any])

LARGEST = 1e9
"""Number on a command line: thirty years in seconds."""


class Address(NamedTuple):
    """Where to listen; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def bind(self) -> socket.socket:
        """A socket that listens there: whoever is told of it can connect at once.

        Raises:
            UserError: there is no such address here, or it is in use.
        """
        import socket

        listener: socket.socket | None = None
        try:
            found = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, kind, protocol, _name, address = found[0]
            listener = socket.socket(family, kind, protocol)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError as error:
            if listener is not None:
                listener.close()
            raise UserError(
                f"Cannot listen on {self}: {error.strerror}. Name another with --listen HOST:PORT "
                "(port 0 is any that is free).",
                USAGE,
            ) from None
        return listener


if TYPE_CHECKING:
    PathParameter = click.ParamType[Path]
    AddressParameter = click.ParamType[Address]
else:  # generic only from click 8.2 on
    PathParameter = AddressParameter = click.ParamType


class AddressType(AddressParameter):
    """``HOST:PORT``, ``:PORT``, ``PORT`` or ``HOST``.

    Args:
        usual: what stands for the half that is not given.
    """

    name = "host:port"

    def __init__(self, usual: Address) -> None:
        self.usual = usual

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Address:
        """Read it; no name is looked up."""
        if isinstance(value, Address):
            return value
        text = str(value).strip()
        host, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            host, port = ("", text) if text.isdecimal() else (text, "")
        host = host.removeprefix("[").removesuffix("]")
        number = int(port) if port.isdecimal() and port.isascii() else -1
        if port and not 0 <= number <= 65535:
            self.fail(f"{value!r} is not HOST:PORT, with a port up to 65535.", param, ctx)
        return Address(host or self.usual.host, number if port else self.usual.port)


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


FROM_PACK = "mgtop.cli.from_pack"
"""Set in a command's context where its session is a pack that was opened for its while."""


class SessionType(PathParameter):
    """A session: its folder, a part of its name, or a pack. Converts to the folder's path.

    A pack is unpacked into a temporary folder, which is removed when the command ends.
    """

    name = "session"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Find the session; what cannot be found is explained by the error's own message."""
        if isinstance(value, Path):
            return value
        if ctx is not None and os.path.isfile(value):
            from mgtop.session.pack.read import is_pack, unpacked

            if is_pack(Path(value)):
                ctx.meta[FROM_PACK] = True
                return ctx.with_resource(unpacked(Path(value)))
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


def listen(usual: Address) -> Callable[[Function], Function]:
    """``--listen HOST:PORT`` → ``listen: Address``."""
    return click.option(
        "--listen",
        type=AddressType(usual),
        default=str(usual),
        metavar="HOST:PORT",
        help=f"Where to listen (default: {usual}, which only this machine reaches).",
    )


def recording_options(function: Function) -> Function:
    """All three: ``headless``, ``seconds`` and ``out``."""
    return headless(seconds(out(function)))


def as_json(function: Function) -> Function:
    """``--json`` → ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(
        function
    )


def with_schema(function: Function) -> Function:
    """``--schema``: print the JSON Schema of ``--json`` and end, whatever else is given."""
    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_schema,
        help="Print the JSON Schema of --json, and end.",
    )(function)


def _print_schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from mgtop.cli.schemas import schema_of
    from mgtop.report.json_text import json_text

    click.echo(json_text(schema_of(str(context.command.name))), nl=False)
    context.exit()
