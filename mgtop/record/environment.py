"""The machine that a session was recorded on, as far as it tells."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from mgtop import __version__

_CONTAINER_MARKS = (
    ("docker", "/.dockerenv"),
    ("podman", "/run/.containerenv"),
    ("singularity", "/.singularity.d"),
)
_GROUP_MARKS = re.compile(r"docker|kubepods|containerd|libpod|lxc")


def describe(root: Path = Path("/")) -> dict[str, Any]:
    """Keys os, kernel, driver, cuda, cpu, ram_mib, container, mgtop; None where not known."""
    return {
        "os": _os_name(root),
        "kernel": platform.release() or None,
        "driver": _driver(root),
        "cuda": None,
        "cpu": _cpu_model(root),
        "ram_mib": _ram_mib(root),
        "container": _container(root),
        "mgtop": __version__,
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _find(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1].strip() if match and match[1].strip() else None


def _os_name(root: Path) -> str | None:
    return _find(r'^PRETTY_NAME="?([^"\n]*)', _read(root / "etc/os-release"))


def _driver(root: Path) -> str | None:
    """Version of the NVIDIA kernel module; the number comes before its date or branch note."""
    text = _read(root / "proc/driver/nvidia/version")
    return _find(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)*)\s", text)


def _cpu_model(root: Path) -> str | None:
    text = _read(root / "proc/cpuinfo")
    return _find(r"^(?:model name|Model|cpu model)\s*:\s*(.*)$", text) or platform.machine() or None


def _ram_mib(root: Path) -> float | None:
    kib = _find(r"^MemTotal:\s*(\d+)", _read(root / "proc/meminfo"))
    return int(kib) // 1024 if kib else None


def _container(root: Path) -> str | None:
    """A guess at the kind of container; None: none was recognised."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for name, path in _CONTAINER_MARKS:
        if (root / path.lstrip("/")).exists():
            return name
    manager = os.environ.get("container")  # noqa: SIM112 - systemd and LXC spell it so
    if manager:
        return manager
    mark = _GROUP_MARKS.search(_read(root / "proc/1/cgroup"))
    return mark[0] if mark else None
