"""How much CPU the target's control group may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")


def quota_cores(pid: int, root: Path = CGROUP_ROOT, proc: Path = Path("/proc")) -> float | None:
    """The least CPU quota on the way from the process's group to the top, in cores.

    None where there is no quota (or none can be read). Reads version 2 (``cpu.max``) and
    version 1 (``cpu.cfs_quota_us``); inside a container the path may end early, since its
    own group is what is mounted as the root.
    """
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    quotas: list[float] = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            quotas += _along(root, path, _quota_v2) + _along(root / "unified", path, _quota_v2)
        elif "cpu" in controllers.split(","):
            for name in (controllers, "cpu"):
                quotas += _along(root / name, path, _quota_v1)
    return min(quotas, default=None)


def _along(root: Path, path: str, read: Callable[[Path], float | None]) -> list[float]:
    folder = root / path.strip("/")
    found = []
    while True:
        try:
            quota = read(folder)
        except (OSError, ValueError, IndexError):
            quota = None
        if quota is not None:
            found.append(quota)
        if folder == root or root not in folder.parents:
            return found
        folder = folder.parent


def _quota_v2(folder: Path) -> float | None:
    quota, period = (folder / "cpu.max").read_text().split()
    return None if quota == "max" else int(quota) / int(period)


def _quota_v1(folder: Path) -> float | None:
    quota = int((folder / "cpu.cfs_quota_us").read_text())
    period = int((folder / "cpu.cfs_period_us").read_text())
    return quota / period if quota > 0 and period > 0 else None
