"""Serves the view of one session to browsers, by textual-serve.

Each tab that opens the page gets a view process of its own (``mgtop view``), which ends with
the tab; the recording knows nothing of it. The page is ours, since textual-serve's loads a
font from the network and takes for granted that the browser reaches the address that the
server listens on, which is not so behind ``ssh -L``.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from mgtop.report.loopback import is_loopback

GRACE_S = 5.0
"""A view that was asked to end is killed after this long."""


class ViewProcess(AppService):
    """One view, between its pipes and the browser's socket."""

    async def run(self) -> None:
        """Carry what it draws; where it has ended, whatever the reason, the tab must show that."""
        try:
            await super().run()
        finally:
            with contextlib.suppress(Exception):  # the browser may be gone already
                await self.remote_close()

    async def stop(self) -> None:
        """Ask it to end, then insist."""
        try:
            await asyncio.wait_for(super().stop(), GRACE_S)
        except (asyncio.TimeoutError, OSError):
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()


class ViewServer(Server):
    """The page, its files, and a socket for each tab.

    Args:
        command: shell command of the view.
        title: of the page.
        listener: a socket that listens.
        only_here: the address is this machine's own, so no page is served under another name.
    """

    def __init__(
        self, command: str, title: str, listener: socket.socket, *, only_here: bool
    ) -> None:
        host, port = listener.getsockname()[:2]
        super().__init__(
            command, host=host, port=port, title=title, templates_path=Path(__file__).parent
        )
        self._listener = listener
        self._only_here = only_here
        self._open: WeakSet[web.WebSocketResponse] = WeakSet()

    def serve(self, debug: bool = False) -> None:
        """Serve until SIGINT or SIGTERM; all views have ended then."""
        web.run_app(
            self._make_app(),
            sock=self._listener,
            print=None,
            access_log=None,
            shutdown_timeout=2 * GRACE_S,
        )

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the command has said where the page is."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the tabs' sockets; their views end with them."""
        for browser in list(self._open):
            await browser.close()

    def _refuse_strangers(self, request: web.Request) -> None:
        """Let no page of another site look at the session or press keys.

        Browsers let any page open a socket to this machine, but they say which page it was; and
        a name of another site that resolves to this machine is still in ``Host``.

        Raises:
            HTTPForbidden: it is one.
        """
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text=f"A page of {origin} may not look at this session.\n")
        if self._only_here and not is_loopback(urlsplit(f"//{request.host}").hostname or ""):
            raise web.HTTPForbidden(
                text=f"This is served to this machine alone, not to {request.host}.\n"
            )

    async def handle_index(self, request: web.Request) -> Any:
        """The page."""
        self._refuse_strangers(request)
        return await super().handle_index(request)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A tab: start a view for it, and end that with it."""
        self._refuse_strangers(request)
        browser = web.WebSocketResponse(heartbeat=15)
        await browser.prepare(request)
        self._open.add(browser)
        view = ViewProcess(
            self.command,
            write_bytes=browser.send_bytes,
            write_str=browser.send_str,
            close=browser.close,  # type: ignore[arg-type]  # its answer is not looked at
            download_manager=self.download_manager,
        )
        await view.start(_cells(request, "width", 80), _cells(request, "height", 24))
        try:
            await self._process_messages(browser, view)
        finally:
            await asyncio.shield(view.stop())
        return browser


def _cells(request: web.Request, name: str, usual: int) -> int:
    """A size that the browser tells; whatever it says, one that can be drawn."""
    try:
        return min(1000, max(1, int(request.query[name])))
    except (KeyError, ValueError):
        return usual
