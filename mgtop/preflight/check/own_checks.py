"""What is checked even where a repository is silent: torch's CUDA build, and whether it works."""

from __future__ import annotations

from mgtop.preflight.check.judge_version import of_driver
from mgtop.preflight.check.machine import Machine
from mgtop.preflight.check.requirement import Requirement, Verdict
from mgtop.preflight.check.stated import Bound, Kind, Stated
from mgtop.preflight.check.versions import numbers

BUILD = "torch.version.cuda against the driver"
AVAILABLE = "torch.cuda.is_available()"


def own_checks(machine: Machine, *, asks_for_torch: bool) -> list[Requirement]:
    """Both checks; none where no torch is installed and none is asked for."""
    if machine.torch is None and not asks_for_torch:
        return []
    return [_build(machine), _available(machine)]


def _requirement(quote: str, local: str, verdict: Verdict) -> Requirement:
    kind: Kind = "cuda"
    return Requirement(
        kind=kind,
        quote=quote,
        file=None,
        line=None,
        strength="required",
        scope=None,
        local=local,
        verdict=verdict,
    )


def _build(machine: Machine) -> Requirement:
    if machine.torch is None:
        return _requirement(BUILD, machine.python_reason or "torch is not installed", "unknown")
    if machine.torch_cuda is None:
        return _requirement(BUILD, f"torch {machine.torch} is built without CUDA", "unmet")
    if machine.driver_cuda is None:
        reason = machine.gpus_reason or "the driver does not tell which CUDA it runs"
        verdict: Verdict = "unmet" if machine.gpus == [] else "unknown"
        return _requirement(BUILD, f"built for CUDA {machine.torch_cuda}; {reason}", verdict)
    stated = Stated(
        kind="cuda",
        quote=BUILD,
        file="",
        line=0,
        strength="required",
        any_of=((Bound("bare", numbers(machine.torch_cuda)),),),
    )
    local = f"torch is built for CUDA {machine.torch_cuda}, the driver runs {machine.driver_cuda}"
    return _requirement(
        BUILD, local, of_driver(stated, numbers(machine.driver_cuda), same_major=True)
    )


def _available(machine: Machine) -> Requirement:
    if machine.cuda_available is None:
        return _requirement(AVAILABLE, machine.cuda_reason or "n/a", "unknown")
    if machine.cuda_available:
        return _requirement(AVAILABLE, "True", "met")
    reason = f": {machine.cuda_reason}" if machine.cuda_reason else ""
    return _requirement(AVAILABLE, f"False{reason}", "unmet")
