"""A stated requirement against a machine: what is here, and whether that will do."""

from __future__ import annotations

import re
from collections.abc import Callable

from mgtop.preflight.check import gpu_names, judge_gpu, judge_version
from mgtop.preflight.check.machine import Machine
from mgtop.preflight.check.requirement import Requirement, Verdict
from mgtop.preflight.check.stated import Condition, Kind, Size, Stated
from mgtop.preflight.check.versions import all_hold, numbers

SLACK = 0.92
"""What is sold as 24 GB reads as 23.7 GiB, a 16 GB T4 as 14.75: so much of a figure may lack."""

Answer = tuple[Verdict, str]


def judge(stated: Stated, machine: Machine) -> Requirement:
    """One requirement with this machine's value and the verdict."""
    verdict, local = _answer(stated, machine)
    return Requirement(
        kind=stated.kind,
        quote=stated.quote,
        file=stated.file,
        line=stated.line,
        strength=stated.strength,
        scope=stated.scope or None,
        local=local,
        verdict=verdict,
    )


def _answer(stated: Stated, machine: Machine) -> Answer:
    verdict, local = _BY_KIND[stated.kind](stated, machine)
    applies, why = applies_here(stated.condition, machine)
    if applies is False:
        return "met", f"does not apply here: {why}"
    if stated.unclear:
        return "unknown", f"{local}; {stated.unclear}"
    if applies is None and verdict != "met":
        return "unknown", f"{local}; {why}"
    return verdict, local


def applies_here(condition: Condition, machine: Machine) -> tuple[bool | None, str]:
    """Whether a condition holds on a machine (None: not known), and in what it does not."""
    if condition.systems:
        here = [_is_system(name, machine) for name in condition.systems]
        denied = condition.systems[0].startswith("not ")
        good = all(here) if denied else any(here)
        if machine.system is not None and not good:
            return False, f"this is {machine.system}"
    python = numbers(machine.python or "")
    if python and not all_hold(condition.python, python):
        return False, f"this is Python {machine.python}"
    if condition.architectures:
        if machine.gpus is None:
            return None, "which GPU this is is not known"
        for gpu in machine.gpus:
            capability = numbers(gpu.compute_capability or "")
            if not capability:
                return None, "the GPU's generation is not known"
            if gpu_names.architecture_of(capability) in condition.architectures:
                return True, ""
        shown = ", ".join(gpu.name for gpu in machine.gpus) or "there is no GPU"
        return False, shown
    return True, ""


def _is_system(name: str, machine: Machine) -> bool:
    if name.startswith("not "):
        return not _is_system(name[4:], machine)
    system = (machine.system or "").lower()
    if name == "macos":
        return system == "darwin"
    if name == "windows":
        return system == "windows"
    if name == "wsl":
        return False
    return system == "linux"


def _vram(stated: Stated, machine: Machine) -> Answer:
    if machine.gpus is None:
        return "unknown", machine.gpus_reason or "n/a"
    shown = judge_gpu.shown(machine.gpus)
    if stated.size is None:
        return judge_gpu.by_name(stated, machine.gpus), shown
    if not machine.gpus:
        return _denied(stated, "unmet"), f"no GPU ({machine.gpus_reason or 'none is seen'})"
    totals = sorted((gpu.total_mib or 0 for gpu in machine.gpus), reverse=True)
    frees = sorted(
        (gpu.total_mib or 0 if gpu.free_mib is None else gpu.free_mib for gpu in machine.gpus),
        reverse=True,
    )
    if not totals[0]:
        return "unknown", f"{shown}; the driver does not tell its memory"
    wanted = stated.size.gpus
    if wanted > len(totals):
        return _denied(stated, "unmet"), f"{shown}; {wanted} GPUs are asked for"
    total, free = totals[wanted - 1], frees[wanted - 1]
    return _denied(stated, _by_size(stated.size, total, free), total), shown


def _by_size(size: Size, total: float, free: float) -> Verdict:
    if total >= size.high_mib and free >= size.high_mib:
        return "met"
    if total >= SLACK * size.low_mib:
        return "marginal"
    return "unmet"


def _denied(stated: Stated, verdict: Verdict, have: float = 0.0) -> Verdict:
    """``negative``: so much is said not to do; no more than that is here: unmet; else not known."""
    if stated.strength != "negative":
        return verdict
    enough = stated.size is None or have * SLACK > stated.size.high_mib
    return "unknown" if enough else "unmet"


def _ram(stated: Stated, machine: Machine) -> Answer:
    return _amount(stated, machine.ram_mib, "MiB")


def _disk(stated: Stated, machine: Machine) -> Answer:
    return _amount(stated, machine.disk_free_mib, "MiB free")


def _amount(stated: Stated, have: int | None, unit: str) -> Answer:
    if have is None:
        return "unknown", "n/a"
    local = f"{have:,} {unit}"
    if stated.size is None:
        return "unknown", local
    return _denied(stated, _by_size(stated.size, have, have), have), local


def _cuda(stated: Stated, machine: Machine) -> Answer:
    if stated.toolkit and stated.any_of:
        if machine.nvcc is None:
            return _absent(stated), "no nvcc on the PATH"
        return judge_version.plain(stated, numbers(machine.nvcc)), f"nvcc {machine.nvcc}"
    local = _cuda_here(machine)
    if machine.gpus is None and machine.driver_cuda is None:
        return "unknown", machine.gpus_reason or "n/a"
    if not machine.gpus or machine.driver_cuda is None:
        if machine.gpus and machine.driver_cuda is None:
            return "unknown", f"{local}; the driver does not tell which CUDA it runs"
        return _absent(stated), local
    if not stated.any_of:
        return "met", local
    return judge_version.of_driver(stated, numbers(machine.driver_cuda), same_major=True), local


def _cuda_here(machine: Machine) -> str:
    if not machine.gpus:
        return f"no GPU ({machine.gpus_reason or 'none is seen'})"
    parts = [f"driver runs CUDA {machine.driver_cuda or 'n/a'}"]
    if machine.torch_cuda:
        parts.append(f"torch is built for {machine.torch_cuda}")
    if machine.nvcc:
        parts.append(f"nvcc {machine.nvcc}")
    return ", ".join(parts)


def _driver(stated: Stated, machine: Machine) -> Answer:
    if machine.driver is None:
        if machine.gpus is None:
            return "unknown", machine.gpus_reason or "n/a"
        return _absent(stated), f"no NVIDIA driver ({machine.gpus_reason or 'none answers'})"
    version = numbers(machine.driver)
    return judge_version.of_driver(stated, version, same_major=False), f"driver {machine.driver}"


def _torch(stated: Stated, machine: Machine) -> Answer:
    if machine.python is None:
        return "unknown", machine.python_reason or "n/a"
    if machine.torch is None:
        return _absent(stated), "torch is not installed"
    local = f"torch {machine.torch}"
    return judge_version.plain(stated, numbers(machine.torch)), local


def _python(stated: Stated, machine: Machine) -> Answer:
    if machine.python is None:
        return "unknown", machine.python_reason or "n/a"
    return judge_version.plain(stated, numbers(machine.python)), f"Python {machine.python}"


def _package(stated: Stated, machine: Machine) -> Answer:
    if machine.packages is None:
        return "unknown", machine.python_reason or "n/a"
    version = _installed(stated.package, machine.packages)
    if version is None:
        return _absent(stated), f"{stated.package} is not installed"
    return judge_version.plain(stated, numbers(version)), f"{stated.package} {version}"


def _installed(name: str, packages: dict[str, str]) -> str | None:
    """Version of a package; those that hold cuDNN carry a CUDA version in their names."""
    if name in packages:
        return packages[name]
    if name == "cudnn":
        found = [value for key, value in packages.items() if re.match(r"nvidia-cudnn-cu\d+$", key)]
        return found[0] if found else None
    return None


def _absent(stated: Stated) -> Verdict:
    """What is not there at all: unmet, but for what is not to be there."""
    return "met" if stated.strength == "negative" else "unmet"


def _os(stated: Stated, machine: Machine) -> Answer:
    if machine.system is None:
        return "unknown", "n/a"
    local = machine.distribution or machine.system
    verdicts: list[Verdict] = [_of_system(name, machine) for name in stated.names]
    best: Verdict = min(verdicts, key=judge_version.BEST_FIRST.index, default="unknown")
    if stated.strength != "negative":
        if best == "unmet" and stated.strength in _SOFT and not _is_linux_matter(stated, machine):
            return "unknown", f"{local}; of this system it says nothing"
        return best, local
    if best == "unmet":
        return "met", local
    denied: Verdict = "marginal" if stated.untested else "unmet"
    return denied, local


_SOFT = ("tested", "recommended", "optional")


def _is_linux_matter(stated: Stated, machine: Machine) -> bool:
    """Whether it is about releases of this machine's own kind of system."""
    return any(_is_system(name, machine) for name in stated.names)


def _of_system(name: str, machine: Machine) -> Verdict:
    if not _is_system(name, machine):
        return "unmet"
    if name in ("linux", "macos", "windows"):
        return "met"
    distribution = (machine.distribution or "").lower()
    wanted, _, release = name.partition(" ")
    if wanted not in distribution:
        return "marginal"  # another Linux
    if not release:
        return "met"
    have = numbers(re.sub(r"^\D*", "", distribution))
    want = numbers(release)
    if have[:2] == want or (release.endswith("+") and have >= want):
        return "met"
    newer = have[:2] > want and not release.endswith("+")
    return "marginal" if newer else "unmet"


def _capability(stated: Stated, machine: Machine) -> Answer:
    if machine.gpus is None:
        return "unknown", machine.gpus_reason or "n/a"
    if not machine.gpus:
        verdict = "unknown" if stated.strength == "tested" else _absent(stated)
        return verdict, f"no GPU ({machine.gpus_reason or 'none is seen'})"
    return judge_gpu.by_generation(stated, machine.gpus)


_BY_KIND: dict[Kind, Callable[[Stated, Machine], Answer]] = {
    "vram": _vram,
    "ram": _ram,
    "disk": _disk,
    "cuda": _cuda,
    "driver": _driver,
    "torch": _torch,
    "python": _python,
    "os": _os,
    "compute_capability": _capability,
    "package": _package,
}
