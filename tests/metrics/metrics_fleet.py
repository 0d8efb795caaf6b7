"""Real parts around the endpoint: recordings that run, Prometheus, a receiver of OTLP."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
"""For a machine that others use too; what is waited for is there within seconds."""
PROGRAM = """
import time
from mgtop import probe
while True:
    with probe.request(fps=30) as request:
        time.sleep(0.05)
        for number in range(30):
            with request.span("forward"):
                time.sleep(0.15 if number == 20 else 0.02)
            request.frame()
"""
Found = TypeVar("Found")


def wait_for(what: Callable[[], Found | None], said: object = "") -> Found:
    """What it gives once that is neither None nor empty."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"nothing came: {said}")


def get(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return bytes(answer.read())


class Place:
    """A home of its own, with sessions that are recorded in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions = folder / "state" / "mgtop" / "sessions"
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "MGTOP_RUNTIME": str(folder / "run"),
            "PYTHONPATH": str(ROOT),
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }
        (folder / "program.py").write_text(PROGRAM)
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def record(self) -> None:
        """A program under ``mgtop run --headless``."""
        words = ("run", "--headless", "--set", "name=real", "--", sys.executable, "program.py")
        self.start(sys.executable, "-m", "mgtop", *words)

    def make_up(self) -> None:
        """A live session with what a GPU would tell."""
        script = str(ROOT / "benchmarks" / "synthetic.py")
        self.start(
            sys.executable, script, str(self.sessions / "29990101-000000-made-up"),
            "--history", "5", "--live", "120", "--late-every", "20",
        )  # fmt: skip

    def metrics(self, *words: str) -> str:
        """The address of an endpoint."""
        process = self.start(
            sys.executable, "-m", "mgtop", "metrics", "--listen", "127.0.0.1:0", *words
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://(\S+)/metrics", line)
        assert found, line + process.stdout.read()
        return found[1]

    def run(self, *words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "mgtop", *words], cwd=self.folder, env=self.environment,
            text=True, capture_output=True, check=True, timeout=100,
        ).stdout  # fmt: skip

    def close(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


class Prometheus:
    """A server that scrapes one endpoint four times a second."""

    def __init__(self, folder: Path, target: str, *flags: str) -> None:
        program = shutil.which("prometheus")
        if program is None:
            pytest.skip("Prometheus is not installed (apt-get install prometheus)")
        folder.mkdir()
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 250ms, scrape_timeout: 250ms}\n"
            "scrape_configs:\n"
            f"- {{job_name: mgtop, static_configs: [{{targets: ['{target}']}}]}}\n"
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [
                program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={self.address}", *flags,
            ],
            stdout=self.log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The instant vector of an expression; empty while the server starts."""
        words = urllib.parse.urlencode({"query": expression})
        try:
            answer = json.loads(get(f"http://{self.address}/api/v1/query?{words}"))
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        except OSError:
            assert self.process.poll() is None, self.said()
            return []
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Receiver:
    """Takes OTLP over HTTP, read by OpenTelemetry's own messages."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                good = self.path == "/v1/metrics"
                good = good and self.headers["Content-Type"] == "application/x-protobuf"
                if good:
                    receiver.requests.append(ExportMetricsServiceRequest.FromString(body))
                answer = ExportMetricsServiceResponse().SerializeToString()
                self.send_response(200 if good else 400)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
