"""The parts of a generator's work as methods, for hooks to find: it knows nothing of mgtop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Body = Callable[[], None]


class Parts:
    """Each runs its body; ``request`` is whose work it is."""

    def begin(self, request: str) -> None:
        """The request has come."""

    def decode(self, request: str, body: Body) -> None:
        """The input."""
        body()

    def resize(self, request: str, body: Body) -> None:
        """The input, made to fit."""
        body()

    def forward(self, request: str, body: Body) -> None:
        """The model's step."""
        body()

    def shuffle(self, request: str, body: Body) -> None:
        """Work whose name says nothing."""
        body()

    def encode(self, request: str, body: Body) -> None:
        """The picture."""
        body()

    def write(self, request: str, body: Body) -> None:
        """Out with it."""
        body()

    def deliver(self, request: str, count: int) -> int:
        """``count`` frames have left."""
        return count


def hooks() -> list[dict[str, Any]]:
    """What a configuration says so that mgtop hears of them."""
    spans = ("decode", "resize", "forward", "shuffle", "encode", "write")
    target = f"{__name__}:Parts."
    return [
        {"target": target + "begin", "event": "request_received", "request": "args[1]"},
        *({"target": target + name, "span": name, "request": "args[1]"} for name in spans),
        {
            "target": target + "deliver",
            "event": "frame_emit",
            "count": "result",
            "request": "args[1]",
        },
    ]
