"""The target's control group: CPU bandwidth and throttling, memory; versions 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mgtop.record.host.quota import CGROUP_ROOT, quota_cores
from mgtop.record.schedule import MetricGone, NoValue
from mgtop.wire.records import Cgroup, Record

LOOK_NS = 5_000_000_000
UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of a page."""


@dataclass(frozen=True)
class Group:
    """Where the files of a process's group are; a folder is None where there is none."""

    version: int
    cpu: Path | None
    memory: Path | None


def find_group(pid: int, root: Path = CGROUP_ROOT, proc: Path = Path("/proc")) -> Group | None:
    """The group of a process.

    Inside a container the path of ``/proc/PID/cgroup`` may be the host's, while the group's
    own folder is mounted as the root; then the root is taken.
    """
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    cpu = memory = None
    version = 2
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            folder = _nearest(root, path, "cpu.stat") or _nearest(
                root / "unified", path, "cpu.stat"
            )
            cpu = cpu or folder
            memory = memory or _nearest(root, path, "memory.current")
        elif "cpu" in controllers.split(","):
            for name in (controllers, "cpu", "cpu,cpuacct"):
                found = _nearest(root / name, path, "cpu.cfs_quota_us")
                if found is not None:
                    cpu, version = found, 1
                    break
        elif "memory" in controllers.split(","):
            memory = _nearest(root / "memory", path, "memory.usage_in_bytes") or memory
    return Group(version, cpu, memory) if cpu or memory else None


def _nearest(root: Path, path: str, file: str) -> Path | None:
    folder = root / path.strip("/")
    while True:
        if (folder / file).exists():
            return folder
        if folder == root or root not in folder.parents:
            return root if (root / file).exists() else None
        folder = folder.parent


class Bandwidth:
    """Periods, throttled periods and throttled time of the target's group."""

    def __init__(
        self,
        pid: Callable[[], int | None],
        root: Path = CGROUP_ROOT,
        proc: Path = Path("/proc"),
    ) -> None:
        self._pid, self._root, self._proc = pid, root, proc
        self._last: tuple[object, ...] | None = None
        self._written_ns = 0
        self._place: tuple[int, Group, float | None] | None = None
        self._looked_ns = 0

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; written when it changes, and once a second."""
        pid = self._pid()
        if pid is None:
            raise NoValue("no process")
        group, quota = self._where(pid, now_ns)
        if group is None or group.cpu is None:
            raise MetricGone("the target's control group has no cpu controller")
        stat = read_table(group.cpu / "cpu.stat")
        if "nr_periods" not in stat:
            raise MetricGone("no CPU quota is set anywhere: cpu.stat counts no periods")
        throttled_ns = stat.get("throttled_usec", 0) * 1000 or stat.get("throttled_time", 0)
        value = (quota, stat["nr_periods"], stat.get("nr_throttled", 0), throttled_ns)
        if value == self._last and now_ns - self._written_ns < 1_000_000_000:
            return []
        self._last, self._written_ns = value, now_ns
        return [
            Cgroup(
                t_ns=now_ns,
                version=group.version,
                quota_cores=quota,
                periods=stat["nr_periods"],
                throttled=stat.get("nr_throttled", 0),
                throttled_ns=throttled_ns,
            )
        ]

    def _where(self, pid: int, now_ns: int) -> tuple[Group | None, float | None]:
        """The group and its quota; looked up anew every few seconds: that is a dozen files."""
        place = self._place
        if place is None or place[0] != pid or now_ns - self._looked_ns >= LOOK_NS:
            group = find_group(pid, self._root, self._proc)
            self._place = place = None
            if group is None:
                return None, None
            self._looked_ns = now_ns
            self._place = place = (pid, group, quota_cores(pid, self._root, self._proc))
        return place[1], place[2]


def memory_of(group: Group) -> tuple[int | None, int | None]:
    """Bytes that the group uses, and its limit (None: none, or not known)."""
    if group.memory is None:
        return None, None
    if (group.memory / "memory.current").exists():
        used, limit = _number(group.memory / "memory.current"), _number(group.memory / "memory.max")
    else:
        used = _number(group.memory / "memory.usage_in_bytes")
        limit = _number(group.memory / "memory.limit_in_bytes")
    return used, None if limit is None or limit >= UNLIMITED_BYTES else limit


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def read_table(path: Path) -> dict[str, int]:
    """A file of ``name number`` lines; empty where it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    table: dict[str, int] = {}
    for line in lines:
        name, _, number = line.partition(" ")
        if number.strip().isdigit():
            table[name] = int(number)
    return table
