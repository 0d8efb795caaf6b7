"""Verdicts on kinds of GPU."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.preflight.check import gpu_names
from mgtop.preflight.check.judge_version import BEST_FIRST
from mgtop.preflight.check.machine import Device
from mgtop.preflight.check.requirement import Verdict
from mgtop.preflight.check.stated import Stated, Version
from mgtop.preflight.check.versions import compare, numbers


def shown(gpus: Sequence[Device]) -> str:
    """Name, total and free memory; equal ones are counted."""
    if not gpus:
        return "no GPU"
    one = max(gpus, key=lambda gpu: gpu.total_mib or 0)
    same = sum(gpu.name == one.name for gpu in gpus)
    name = one.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    text = f"{same}× {name}" if same > 1 else name
    if one.total_mib is not None:
        text += f", {one.total_mib:,} MiB"
        if one.free_mib is not None:
            text += f" ({one.free_mib:,} free)"
    return text


def by_name(stated: Stated, gpus: Sequence[Device]) -> Verdict:
    """Of models named without an amount of memory: met on that very model, else not known.

    A model that was sold in several sizes proves nothing by its name.
    """
    if not gpus:
        return "unmet" if stated.strength in ("required", "minimum") else "unknown"
    for name in stated.names:
        if name in gpu_names.SEVERAL_SIZES:
            continue
        if any(gpu_names.is_model(gpu.name, name) for gpu in gpus):
            return "unknown" if stated.strength == "negative" else "met"
    return "unknown"


def by_generation(stated: Stated, gpus: Sequence[Device]) -> tuple[Verdict, str]:
    """Of compute capabilities, architectures and series; the best GPU counts."""
    answers = [_of_device(stated, gpu) for gpu in gpus]
    return min(answers, key=lambda answer: BEST_FIRST.index(answer[0]))


def _of_device(stated: Stated, gpu: Device) -> tuple[Verdict, str]:
    have = numbers(gpu.compute_capability or "")
    name = gpu.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    local = f"{name}, compute capability {gpu.compute_capability or 'n/a'}"
    if not have:
        return "unknown", local
    hit, lowest = _matches(stated, gpu, have)
    if stated.strength == "negative":
        verdict: Verdict = "met" if not hit else "marginal" if stated.untested else "unmet"
        return verdict, local
    if hit or (stated.or_newer and lowest and compare(have, lowest) >= 0):
        return "met", local
    if stated.names and stated.strength == "tested":
        return "unknown", local  # a test on other GPUs says nothing of this one
    if not lowest or compare(have, lowest) >= 0:
        return "unknown", local  # newer than, or between, what is named
    return "unmet", local


def _matches(stated: Stated, gpu: Device, have: Version) -> tuple[bool, Version]:
    """Whether a GPU is one of those named, and the lowest capability among them."""
    if stated.any_of:
        wanted = [bound for bounds in stated.any_of for bound in bounds]
        lowest = min((bound.version for bound in wanted), default=())
        floors = all(bound.sign in (">=", "bare", "~", ">") for bound in wanted)
        return floors and compare(have, lowest) >= 0, lowest
    if stated.sm:
        return have[:2] in stated.sm, min(stated.sm)
    series = [name.split()[1] for name in stated.names if name.startswith("series ")]
    if series:
        lowest = min(gpu_names.SERIES[number] for number in series)
        return gpu_names.series_of(gpu.name) in series, lowest
    capabilities = [
        capability for name in stated.names for capability in gpu_names.ARCHITECTURES.get(name, ())
    ]
    return have[:2] in capabilities, min(capabilities, default=())
