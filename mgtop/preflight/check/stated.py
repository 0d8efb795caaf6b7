"""What a repository states, before it is compared with any machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "vram",
    "ram",
    "disk",
    "cuda",
    "driver",
    "torch",
    "python",
    "os",
    "compute_capability",
    "package",
]
Strength = Literal["required", "minimum", "recommended", "tested", "optional", "negative"]
Version = tuple[int, ...]

TRAINING = "training"
"""Scope of what is said of training, which a check for inference does not fail by."""


@dataclass(frozen=True)
class Bound:
    """One comparison of a version; ``sign`` is one of ``== != >= > <= < ~ bare``.

    ``~`` holds for every version that begins like this one; ``bare`` names a version
    without saying whether others will do.
    """

    sign: str
    version: Version


@dataclass(frozen=True)
class Size:
    """An amount of memory, in MiB; ``low`` and ``high`` differ for a range."""

    low_mib: float
    high_mib: float
    gpus: int = 1
    """So many GPUs, each with that much."""


@dataclass(frozen=True)
class Condition:
    """When a requirement applies at all; empty fields do not restrict it."""

    architectures: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    python: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Stated:
    """One requirement as a file states it.

    Attributes:
        quote: the sentence or entry, word for word (line breaks become spaces).
        any_of: alternatives; each is a set of bounds that must hold together.
        names: GPU models, GPU architectures or series, operating systems.
        sm: compute capabilities that are listed.
        or_newer: later ones than those named will do as well.
        toolkit: the CUDA toolkit itself (nvcc) is asked for.
        untested: for ``negative``: nobody tried, rather than known not to work.
        package: its name, for kind ``package``.
        unclear: why no verdict can be given; empty where one can.
    """

    kind: Kind
    quote: str
    file: str
    line: int
    strength: Strength
    scope: str = ""
    size: Size | None = None
    any_of: tuple[tuple[Bound, ...], ...] = ()
    names: tuple[str, ...] = ()
    sm: tuple[Version, ...] = ()
    or_newer: bool = False
    toolkit: bool = False
    untested: bool = False
    package: str = ""
    unclear: str = ""
    condition: Condition = field(default_factory=Condition)
