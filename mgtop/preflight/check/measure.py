"""Measures this machine for a check; takes some seconds, most of them for importing torch."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mgtop.preflight.check import interpreter
from mgtop.preflight.check.machine import Device, Machine
from mgtop.preflight.check.packages import normal
from mgtop.record.environment import describe
from mgtop.record.health.nvml_answer import Gpu, NvmlAnswer
from mgtop.record.health.nvml_ask import COMMAND, Question
from mgtop.record.host.cgroup import find_group, memory_of

_MIB = 1 << 20
_NVCC_PATIENCE_S = 10.0


def measure(
    repository: Path, python: str, gpu_command: Sequence[str] = COMMAND, root: Path = Path("/")
) -> Machine:
    """This machine and an interpreter on it.

    Args:
        repository: where disk space is asked for.
        python: the model's interpreter.
        gpu_command: examines the GPUs; prints an answer as one line of JSON.
        root: where ``/proc`` and ``/etc`` are.
    """
    gpu_question = Question(gpu_command)
    cuda_question = interpreter.ask_cuda(python)
    about = interpreter.about_of(interpreter.ask_about(python))
    answer = gpu_question.answer()
    system = describe(root)
    packages = (
        None
        if about.packages is None
        else {normal(name): version for name, version in about.packages.items()}
    )
    torch = (packages or {}).get("torch")
    cuda = interpreter.cuda_of(cuda_question)
    gpus, gpus_reason = gpus_of(answer)
    return Machine(
        gpus=gpus,
        gpus_reason=gpus_reason,
        driver=answer.driver or system["driver"],
        driver_cuda=answer.cuda,
        nvcc=nvcc_version(),
        ram_mib=_ram_mib(system["ram_mib"]),
        disk_free_mib=_disk_free_mib(repository),
        system=platform.system() or None,
        distribution=system["os"],
        architecture=platform.machine() or None,
        python=about.python,
        interpreter=about.executable or python,
        torch=torch,
        torch_cuda=about.torch_cuda or cuda.cuda,
        cuda_available=cuda.available if torch else None,
        cuda_reason=cuda.reason if torch else "torch is not installed there",
        packages=packages,
        python_reason=about.reason,
    )


def gpus_of(answer: NvmlAnswer) -> tuple[list[Device] | None, str]:
    """The GPUs that a program started here would see; None where the driver does not answer."""
    if answer.hanging is not None:
        return None, f"the driver does not answer {answer.hanging}"
    if answer.reason is not None and not answer.gpus:
        known = re.search(r"is missing|no (?:NVIDIA )?(?:GPU|driver)|not loaded", answer.reason)
        return ([] if known else None), answer.reason
    masked = os.environ.get("CUDA_VISIBLE_DEVICES") is not None
    listed = [gpu for gpu in answer.gpus if gpu.ordinals or not masked]
    reason = "CUDA_VISIBLE_DEVICES hides them" if answer.gpus and not listed else ""
    return [_device(gpu) for gpu in listed], reason


def _device(gpu: Gpu) -> Device:
    free = None
    if gpu.total_mib is not None and gpu.used_mib is not None:
        free = gpu.total_mib - (gpu.reserved_mib or 0) - gpu.used_mib
    return Device(
        name=gpu.name,
        total_mib=gpu.total_mib,
        free_mib=free,
        compute_capability=gpu.compute_capability,
    )


def nvcc_version() -> str | None:
    """Version of the CUDA compiler on the PATH, or in its usual place; None: there is none."""
    program = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=_NVCC_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"release (\d+\.\d+)", answer.stdout)
    return match[1] if match else None


def _ram_mib(total_mib: int | None) -> int | None:
    """Of the machine, or the limit of its container where that is lower."""
    group = find_group(os.getpid())
    limit = memory_of(group)[1] if group is not None else None
    if limit and (total_mib is None or limit // _MIB < total_mib):
        return limit // _MIB
    return total_mib


def _disk_free_mib(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free // _MIB
    except OSError:
        return None
