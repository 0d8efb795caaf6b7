"""What all faults have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from mgtop.demo.faults.orders import Order
from mgtop.demo.generator import Generator, Stream
from mgtop.demo.prefetch import Prefetch
from mgtop.demo.sink import Sink

Place = Literal["between", "queue", "resize", "forward", "vae_decode", "postprocess", "write"]
"""Where in the making of a block a fault strikes: in the span of that name, or in none
(``between`` two blocks, and while waiting at the ``queue``)."""


@dataclass
class Scene:
    """What a fault finds where it strikes."""

    prefetch: Prefetch
    sink: Sink
    stream: Stream
    count: int
    """Frames of the block."""
    pictures: Tensor | None = None
    """The block's input, ``[n, 3, height, width]`` bytes, as decoded."""


class Fault:
    """One ordered fault. A strike lasts about as long as is asked for, and it is measured."""

    place: ClassVar[Place]

    def __init__(self, order: Order) -> None:
        self.order = order

    def prepare(self, generator: Generator) -> None:
        """Make ready, while the model is loaded.

        Raises:
            DemoError: it cannot be done on this machine.
        """

    def settle(self) -> None:
        """Everything is loaded and warm, and the collector has set all of it aside."""

    def lead(self, capacity: int, count: int) -> int:
        """How many emits ahead it must know of a strike, with ``count`` frames an emit."""
        return 0

    def arm(self, prefetch: Prefetch, index: int) -> None:
        """A strike is coming at the emit whose first frame is ``index``."""

    def strike(self, ms: float, scene: Scene) -> int | None:
        """Strike now, for about ``ms``; return how many bytes it kept, if that is its point."""
        raise NotImplementedError
