"""What an examination of NVML means: driver, GPUs, readings with their cost, processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from mgtop.record.health.finding import Finding, State, bad, ok
from mgtop.record.health.nvml_answer import Gpu, NvmlAnswer, ReadingCost
from mgtop.record.health.surroundings import in_first_namespace
from mgtop.record.nvml.calls import remedy_of

NAMES = {
    "memory": "GPU memory",
    "utilisation": "utilisation, polled",
    "ring": "utilisation samples",
    "gpm": "GPM utilisation",
    "state": "clocks, power, heat",
    "throttle": "time with low clocks",
    "ecc": "memory errors (ECC)",
    "processes": "compute processes",
    "graphics": "graphics processes",
}
WITHOUT = "frames, causes on the CPU side and the host are recorded all the same"
DEAR_MS_PER_S = 20.0
SLOW_INIT_MS = 500.0
WSL_LIBRARY = "usr/lib/wsl/lib/libnvidia-ml.so.1"


def check_gpu(answer: NvmlAnswer, pid: int, root: Path = Path("/")) -> Iterator[Finding]:
    """Findings from an answer.

    Args:
        answer: of :mod:`mgtop.record.health.nvml_measure`.
        pid: this process, for its pid namespace.
        root: where ``/dev``, ``/proc`` and ``/usr`` are.
    """
    yield _driver(answer, root)
    for gpu in answer.gpus:
        yield _device(gpu)
    if len({gpu.name for gpu in answer.gpus}) > 1 and not any(g.ordinals for g in answer.gpus):
        yield bad(
            "gpu.order",
            "CUDA's order",
            "not known",
            "the GPUs are of several kinds: CUDA numbers the fastest first, NVML by bus",
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID in CUDA_VISIBLE_DEVICES",
        )
    for name in dict.fromkeys(reading.name for reading in answer.readings):
        yield _reading(name, [one for one in answer.readings if one.name == name], answer)
    if answer.ms_per_s is not None and any(one.n for one in answer.readings):
        yield _cost(answer.ms_per_s)
    if answer.gpus:
        yield _processes(answer, pid, root)


def _driver(answer: NvmlAnswer, root: Path) -> Finding:
    name, id_ = "NVIDIA driver", "gpu.driver"
    measured = {"driver": answer.driver, "cuda": answer.cuda, "init_ms": answer.init_ms}
    if answer.hanging is not None:
        return bad(
            id_,
            name,
            "does not answer",
            f"the driver does not answer {answer.hanging}; {WITHOUT}",
            "see dmesg for Xid errors; reset the GPU or reboot",
            state="missing",
            measured=measured,
        )
    if answer.reason is not None:
        return bad(
            id_,
            name,
            "no GPU is read",
            f"{answer.reason}; {WITHOUT}",
            _remedy(answer.reason, root),
            state="missing",
            measured=measured,
        )
    value = f"{answer.driver or 'version not told'}, CUDA {answer.cuda or 'n/a'}"
    if answer.init_ms is not None and answer.init_ms > SLOW_INIT_MS:
        sleepy = any(gpu.persistence is False for gpu in answer.gpus)
        return bad(
            id_,
            name,
            value,
            f"it takes {answer.init_ms:,.0f} ms to answer at first"
            + (": persistence mode is off" if sleepy else ""),
            "sudo nvidia-smi -pm 1" if sleepy else None,
            measured=measured,
        )
    return ok(id_, name, value, measured=measured)


def _remedy(reason: str, root: Path) -> str | None:
    """The usual remedy, or a better one that this machine's files point to."""
    if "libnvidia-ml.so.1 is missing" in reason:
        if (root / WSL_LIBRARY).exists():
            return "export LD_LIBRARY_PATH=/usr/lib/wsl/lib"
        if (root / "dev/nvidiactl").exists():
            return (
                "the devices are there, the library is not: start the container with "
                "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
            )
    if "shadows" in reason or "not installed" in reason:
        return "pip install --force-reinstall nvidia-ml-py"
    return remedy_of(reason)


def _device(gpu: Gpu) -> Finding:
    id_, name = f"gpu.device.{gpu.gpu}", f"GPU {gpu.gpu}"
    parts = [gpu.name]
    if gpu.total_mib is not None:
        reserved = f" ({gpu.reserved_mib:,} reserved)" if gpu.reserved_mib else ""
        parts.append(f"{gpu.total_mib:,} MiB{reserved}")
    if gpu.used_mib is not None:
        parts.append(f"{gpu.used_mib:,} in use")
    parts += ["MIG instance"] * gpu.mig + ["unified memory"] * gpu.unified
    value = ", ".join(parts)
    if gpu.unified:
        return bad(
            id_,
            name,
            value,
            "it has no memory of its own: the machine's is shown, whoever uses it",
            "none is needed",
        )
    if gpu.total_mib is None:
        return bad(id_, name, value, "the driver does not tell its memory")
    return ok(id_, name, value)


def _reading(name: str, costs: Sequence[ReadingCost], answer: NvmlAnswer) -> Finding:
    """One line for a figure, of however many GPUs."""
    id_, shown = f"gpu.reading.{name}", NAMES.get(name, name)
    good = [one for one in costs if one.n]
    worst = next((one for one in costs if one.state in ("absent", "lost")), None)
    worst = worst or next((one for one in costs if one.state == "nothing"), None)
    value = _value(good, answer)
    if worst is None:
        unused = next((one for one in costs if one.state == "unused"), None)
        if unused is not None and not good:
            return ok(id_, shown, f"not needed: {unused.reason}")
        lacking = next((one.reason for one in costs if one.reason), None)
        return ok(id_, shown, value + (f"; {lacking}" if lacking else ""))
    if name == "gpm" and not good and _works("ring", answer):
        return ok(id_, shown, f"not needed ({worst.reason})")
    state: State = "weak" if good or worst.state == "nothing" else "missing"
    some = f" on {len(costs) - len(good)} of {len(costs)} GPUs" if good and len(costs) > 1 else ""
    return bad(
        id_,
        shown,
        (value if good else "not read") + some,
        worst.reason or worst.state,
        remedy_of(worst.reason or ""),
        state=state,
    )


def _works(name: str, answer: NvmlAnswer) -> bool:
    return all(one.n for one in answer.readings if one.name == name)


def _value(good: Sequence[ReadingCost], answer: NvmlAnswer) -> str:
    """Cost and period on the GPU that the program would use."""
    one = next((one for one in good if one.gpu == answer.used_gpu), good[0] if good else None)
    if one is None or one.cost_us is None or one.period_ms is None or one.ms_per_s is None:
        return ""
    cost = median(other.cost_us for other in good if other.cost_us is not None)
    slowed = one.wanted_ms is not None and one.period_ms > 1.01 * one.wanted_ms
    thinned = f" (wanted {one.wanted_ms:,.0f})" if slowed else ""
    calls = f" in {one.calls:.0f} calls" if one.calls and one.calls > 1 else ""
    return f"{cost:,.0f} µs{calls}, every {one.period_ms:,.0f} ms{thinned}: {one.ms_per_s:.2f} ms/s"


def _cost(ms_per_s: float) -> Finding:
    value = f"{ms_per_s:.1f} ms/s inside the driver"
    if ms_per_s <= DEAR_MS_PER_S:
        return ok("gpu.cost", "all readings", value, ms_per_s=ms_per_s)
    return bad(
        "gpu.cost",
        "all readings",
        value,
        "calls are dear on this machine",
        "none is needed: each reading is thinned to its share of the time",
        ms_per_s=ms_per_s,
    )


def _processes(answer: NvmlAnswer, pid: int, root: Path) -> Finding:
    """Whether the driver tells the memory of processes, and how they would be matched."""
    id_, name = "gpu.processes", "memory per process"
    listed = answer.processes
    first = in_first_namespace(pid, root / "proc")
    measured = {
        "listed": len(listed),
        "with_memory": sum(one.used_mib is not None for one in listed),
        "here": sum(one.here for one in listed),
        "own_pids": None if first is None else not first,
    }
    refused = [one for one in answer.readings if one.name == "processes" and one.state == "absent"]
    if refused:
        reason = refused[0].reason or "absent"
        return bad(
            id_,
            name,
            "not told",
            f"{reason}; the framework's own figures are shown instead",
            remedy_of(reason),
            state="missing",
            measured=measured,
        )
    if not listed:
        how = "by pid" if first else "by pid, if the driver translates it"
        return ok(
            id_, name, f"nothing runs on a GPU now; it would be matched {how}", measured=measured
        )
    if not any(one.used_mib is not None for one in listed):
        return bad(
            id_,
            name,
            f"{len(listed)} listed, without their memory",
            "the driver does not tell it (WSL2, Windows, MIG without privilege)",
            "none: the framework's own figures are shown instead",
            measured=measured,
        )
    if not any(one.here for one in listed):
        return bad(
            id_,
            name,
            f"{len(listed)} listed, none with a pid of this namespace",
            "the driver lists the host's pids: the program is told only if it is alone on its GPU",
            "share the host's pids (docker run --pid=host), or update the driver (535.113)",
            measured=measured,
        )
    return ok(id_, name, f"told; matched by pid ({len(listed)} listed)", measured=measured)
