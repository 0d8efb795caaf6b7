"""The endpoint: what was measured last, to whoever scrapes it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from mgtop.metrics import protobuf, text
from mgtop.metrics.families import Family
from mgtop.report.loopback import is_loopback

SLOW_S = 10.0
"""A client that says nothing for so long is let go."""
PAGE = b"mgtop metrics: sessions of this machine for Prometheus, at /metrics\n"


class Endpoint:
    """Serves in threads of its own; a scrape reads what was published last, and waits for nobody.

    Args:
        listener: a bound socket that listens.
        only_here: refuse requests that a name of another machine led here (a web page's trick).
    """

    def __init__(self, listener: socket.socket, only_here: bool) -> None:
        self.families: Sequence[Family] = ()
        self.only_here = only_here
        endpoint = self

        class Handler(_Handler):
            def __init__(self, *args: object) -> None:
                self.endpoint = endpoint
                super().__init__(*args)  # type: ignore[arg-type]

        address = listener.getsockname()
        self._server = ThreadingHTTPServer(address[:2], Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = listener
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def publish(self, families: Sequence[Family]) -> None:
        """What the next scrapes get; replaced as a whole, so that none sees half of it."""
        self.families = families

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint
    timeout = SLOW_S
    server_version = "mgtop"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a scrape, or say where to scrape."""
        host = urlsplit(f"//{self.headers.get('Host', 'localhost')}").hostname or ""
        if self.endpoint.only_here and not is_loopback(host):
            self._answer(403, b"This is offered to this machine alone.\n", "text/plain")
            return
        path = urlsplit(self.path).path
        if path == "/metrics":
            self._answer(200, *self._metrics(self.headers.get("Accept", "")))
        elif path == "/":
            self._answer(200, PAGE, "text/plain; charset=utf-8")
        else:
            self._answer(404, b"There is nothing here; metrics are at /metrics\n", "text/plain")

    do_HEAD = do_GET  # noqa: N815

    def _metrics(self, accept: str) -> tuple[bytes, str]:
        families = self.endpoint.families
        if protobuf.is_wanted(accept):
            return protobuf.encode(families), protobuf.CONTENT_TYPE
        return text.encode(families, accept)

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Scrapes are no news."""
