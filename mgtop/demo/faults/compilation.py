"""A function that is compiled again, because its input has another shape than before."""

from __future__ import annotations

import time
import types
import warnings
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from mgtop.demo.faults.fault import Fault, Place, Scene
from mgtop.demo.generator import Generator

BACKEND = "aot_eager"
"""Traces, guards and lowers as the default backend does, but generates no code: that would take
seconds on a CPU."""

SHAPES = 6
"""So many shapes are compiled before a fresh function is taken: Dynamo gives up after eight."""


def grade(picture: Tensor, gain: float) -> Tensor:
    """Grade colours: a few operations of postprocessing."""
    x = picture * gain
    x = x - x.mean(dim=(-2, -1), keepdim=True) * 0.1
    x = torch.sigmoid(4 * (x - 0.5))
    return functional.avg_pool2d(x, 3, 1, 1) * 0.5 + x * 0.5


class Recompilation(Fault):
    """Calls a compiled function with shapes that it has not seen."""

    place: ClassVar[Place] = "postprocess"

    def prepare(self, generator: Generator) -> None:
        """Load the compiler and compile once, and measure what a compilation takes."""
        self._device = generator.device
        self._calls = 0
        self._compile()
        begin = time.perf_counter()
        self._compile()
        self._took_ms = (time.perf_counter() - begin) * 1e3

    def strike(self, ms: float, scene: Scene) -> None:
        """Compile, as often as comes nearest to the time wanted."""
        end = time.perf_counter() + (ms - self._took_ms / 2) / 1e3
        self._compile()
        while time.perf_counter() < end:
            self._compile()

    def _compile(self) -> None:
        number = self._calls % SHAPES
        if number == 0:
            self._function = self._fresh()
        self._calls += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, about its insides
            self._function(torch.rand(1, 3, 64, 64 + 8 * number, device=self._device), 1.1)

    def _fresh(self) -> Callable[[Tensor, float], Tensor]:
        """The function with code of its own, for which nothing has been compiled yet."""
        code = grade.__code__.replace(co_name=f"grade_{self._calls}")
        copy = types.FunctionType(code, grade.__globals__)
        compiled: Callable[[Tensor, float], Tensor] = torch.compile(
            copy, backend=BACKEND, dynamic=False
        )
        return compiled
