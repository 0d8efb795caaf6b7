"""What a program really did, seen through the interpreter's own profile hook.

It shares nothing with mgtop's hooks: no function is replaced. It watches code objects by the end
of their file's path and their qualified name, and notes the time of calls and returns.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Count = Callable[[Any, FrameType], int]


class Witness:
    """Notes requests and emits while :meth:`start` is in force; :meth:`write` keeps them."""

    def __init__(self) -> None:
        self._watched: list[tuple[str, str, str, str, Count | None]] = []
        self._codes: dict[CodeType, tuple[str, str, Count | None] | None] = {}
        self.events: list[dict[str, Any]] = []

    def request(self, file: str, name: str, on: str = "call") -> None:
        """A call of this function is a request."""
        self._watched.append((file, name, on, "request", None))

    def emit(self, file: str, name: str, count: Count, on: str = "return") -> None:
        """Its return (or call) is an emit of as many frames as ``count(result, frame)`` says."""
        self._watched.append((file, name, on, "emit", count))

    def sent(self, file: str, name: str, number: Count) -> None:
        """Its return is a picture of block ``number(result, frame)``; below 0 it is none."""
        self._watched.append((file, name, "return", "sent", number))

    def blocks_of_sent(self) -> None:
        """Make an emit of each block's pictures, at the time of its first."""
        pictures = [event for event in self.events if event["what"] == "sent"]
        self.events = [event for event in self.events if event["what"] != "sent"]
        blocks: dict[int, dict[str, Any]] = {}
        for picture in sorted(pictures, key=lambda event: event["t_ns"]):
            number = picture["count"] - 1
            block = blocks.setdefault(number, {"what": "emit", "t_ns": picture["t_ns"], "count": 0})
            block["count"] += 1
        self.events += blocks.values()

    def note(self, what: str, **more: Any) -> None:
        """Something that the driver itself knows of, now."""
        self.events.append({"what": what, "t_ns": time.monotonic_ns(), **more})

    def start(self) -> None:
        """Watch, in all threads that start from now on, too."""
        self.threads()
        sys.setprofile(self._seen)

    def threads(self) -> None:
        """Watch in the threads that this one starts."""
        threading.setprofile(self._seen)

    def stop(self) -> None:
        """Watch no more."""
        sys.setprofile(None)
        threading.setprofile(None)

    def write(self, path: str) -> None:
        """Keep what was seen, in the order of time."""
        self.stop()
        self.events.sort(key=lambda event: event["t_ns"])
        Path(path).write_text(json.dumps({"events": self.events}), encoding="utf-8")

    def _seen(self, frame: FrameType, event: str, result: Any) -> None:
        if event != "call" and event != "return":
            return
        code = frame.f_code
        try:
            watched = self._codes[code]
        except KeyError:
            watched = self._codes[code] = self._find(code)
        if watched is None or watched[0] != event:
            return
        if event == "return" and result is None and watched[1] != "sent":
            return  # it raised
        t_ns = time.monotonic_ns()
        _, what, count = watched
        seen: dict[str, Any] = {"what": what, "t_ns": t_ns}
        if count is not None:
            seen["count"] = count(result, frame) + (what == "sent")
            if seen["count"] < 1:
                return
        self.events.append(seen)

    def _find(self, code: CodeType) -> tuple[str, str, Count | None] | None:
        for file, name, on, what, count in self._watched:
            if code.co_qualname == name and code.co_filename.endswith(file):
                return on, what, count
        return None
