"""A headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FOUND = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
STARTING_S = 30.0
FIND_TERMINAL = """
Object.defineProperty(Object.prototype, "_core", {
  configurable: true,
  set(value) {
    Object.defineProperty(this, "_core", {value, writable: true, configurable: true});
    if (this.buffer && this.write) window.theTerminal = this;
  },
});
"""
"""Before any script of the page: keeps hold of the terminal, which its script hides."""
ITS_TEXT = """
(() => {
  const buffer = window.theTerminal ? window.theTerminal.buffer.active : null;
  const rows = [];
  for (let y = 0; buffer && y < buffer.length; y++)
    rows.push(buffer.getLine(y).translateToString(true));
  return rows.join("\\n");
})()
"""


class ProtocolError(Exception):
    """The browser could not do what it was asked for."""


class Chromium:
    """A browser with one tab, and nothing kept of it.

    Attributes:
        requested: addresses of everything that the tab asked for.
    """

    def __init__(self, folder: Path) -> None:
        assert FOUND is not None
        self.requested: list[str] = []
        self._number = 0
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        flags += ["--disable-dev-shm-usage", "--disable-background-networking", "--mute-audio"]
        flags += ["--remote-debugging-port=0", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [FOUND, *flags, "--window-size=1100,800", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._opened = contextlib.ExitStack()
        try:
            self._socket = self._connect(folder / "DevToolsActivePort")
        except BaseException:
            self.close()
            raise
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session: str | None = attached["sessionId"]
        self._target = target
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=FIND_TERMINAL)

    _session = None

    def _connect(self, port_file: Path) -> ClientConnection:
        deadline = time.monotonic() + STARTING_S
        while True:
            lines = port_file.read_text().splitlines() if port_file.exists() else []
            if len(lines) >= 2:
                address = f"ws://127.0.0.1:{lines[0]}{lines[1]}"
                return self._opened.enter_context(
                    connect(address, max_size=None, close_timeout=0.1)
                )
            assert self._process.poll() is None, "Chromium has ended"
            assert time.monotonic() < deadline, "Chromium does not start"
            time.sleep(0.05)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; notes what else is told meanwhile."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=STARTING_S))
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
            elif answer.get("method") == "Network.webSocketCreated":
                self.requested.append(answer["params"]["url"])
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise ProtocolError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def text(self) -> str:
        """What the terminal on the page shows."""
        try:
            return str(self.evaluate(ITS_TEXT) or "")
        except ProtocolError:  # another page is just being opened
            return ""

    def wait_for(self, text: str, seconds: float = 30.0) -> str:
        """Wait until the terminal shows a text; return all of it."""
        deadline = time.monotonic() + seconds
        while text not in (shown := self.text()):
            assert time.monotonic() < deadline, f"no {text!r} in:\n{shown}"
            time.sleep(0.05)
        return shown

    def press(self, key: str) -> None:
        """Press and let go a key that types a character, as a person does."""
        self.evaluate("window.theTerminal.focus()")
        self.call("Input.dispatchKeyEvent", type="keyDown", text=key, key=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self) -> bytes:
        """The tab as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close_tab(self) -> None:
        """As a person closes it."""
        target, self._session = self._target, None
        self.call("Target.closeTarget", targetId=target)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._opened.close()
