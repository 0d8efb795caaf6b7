"""This machine, as far as requirements ask for it."""

from __future__ import annotations

import msgspec


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; None: the driver does not tell."""

    name: str
    total_mib: int | None = None
    free_mib: int | None = None
    compute_capability: str | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What requirements are compared with.

    Attributes:
        gpus: those that this environment may use; None: not known (a driver that hangs).
        gpus_reason: why there are none, or why they are not known.
        driver: version of the NVIDIA driver; ``driver_cuda``: newest CUDA that it runs.
        nvcc: version of the CUDA toolkit's compiler on the PATH.
        ram_mib: of the machine, or the limit of its container where that is lower.
        disk_free_mib: where the repository lies.
        system: as ``uname`` names it; ``distribution``: its release, in words.
        python: version of the interpreter that was asked; ``interpreter``: its path.
        torch: its version there, None: not installed; ``torch_cuda``: the CUDA that it was
            built for.
        cuda_available: what ``torch.cuda.is_available()`` said; None: it was not to be had.
        cuda_reason: what was said beside it, or why there is no answer.
        packages: versions of what is installed there, by normalised name; None: not known.
        python_reason: why the interpreter told nothing.
    """

    gpus: list[Device] | None = None
    gpus_reason: str = ""
    driver: str | None = None
    driver_cuda: str | None = None
    nvcc: str | None = None
    ram_mib: int | None = None
    disk_free_mib: int | None = None
    system: str | None = None
    distribution: str | None = None
    architecture: str | None = None
    python: str | None = None
    interpreter: str | None = None
    torch: str | None = None
    torch_cuda: str | None = None
    cuda_available: bool | None = None
    cuda_reason: str = ""
    packages: dict[str, str] | None = None
    python_reason: str = ""
