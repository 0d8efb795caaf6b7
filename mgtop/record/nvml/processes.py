"""Memory of single processes on a device: whose it is, and how we know."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import MOST_BYTES, Device
from mgtop.record.schedule import MetricGone, NoValue, SourceLost, Unchanged
from mgtop.wire.records import GpuProcess, Record

UNKNOWN_MEMORY = (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE)
"""What drivers send for "not told" (WDDM, WSL2, some containers)."""


class Processes:
    """Processes with a compute or graphics context on one device.

    A listed pid is the target's if it is one of its tree (``pid``), or the pid that one of
    its tree has in another pid namespace (``nspid``). A driver that lists pids of the host
    to a container matches neither; if then just one process is listed, of which this
    machine knows nothing, and the target has the GPU open, it is taken to be the target
    (``sole_tenant``, inferred). The rest are neighbours.

    A process with both kinds of context stands in both lists. ``compute``, the reading of
    the other list, has the say over what it lists. Of graphics processes nothing is
    inferred: the only one is as a rule the desktop.
    """

    def __init__(
        self,
        calls: Calls,
        device: Device,
        target_pids: Callable[[], Collection[int]],
        proc: Path = Path("/proc"),
        compute: Processes | None = None,
    ) -> None:
        self._calls, self._device = calls, device
        self._target_pids = target_pids
        self._proc = proc
        self._compute = compute
        self._call = (
            "nvmlDeviceGetComputeRunningProcesses"
            if compute is None
            else "nvmlDeviceGetGraphicsRunningProcesses"
        )
        self._news = Unchanged()
        self.has_target = False
        """Whether the last reading listed the target."""
        self.lost: str | None = None
        """Why the last reading was not answered."""
        self._present: dict[int, GpuProcess] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        try:
            listed = self._list()
        except SourceLost as lost:
            self.lost = str(lost)
            raise
        self.lost = None
        relations = self._relations(listed)
        records: list[Record] = []
        present: dict[int, GpuProcess] = {}
        for pid, used in listed.items():
            relation, how = relations[pid]
            name, user = self._names.get(pid) or self._name(pid)
            record = GpuProcess(
                t_ns=now_ns,
                gpu=self._device.gpu,
                pid=pid,
                used_bytes=used,
                relation=relation,
                how=how,
                name=name,
                user=user,
            )
            present[pid] = record
            if self._news.is_news(pid, (used, relation, how), now_ns):
                records.append(record)
        for pid, gone in self._present.items():
            if pid not in present and not self._is_elsewhere(pid):
                self._news.forget(pid)
                self._names.pop(pid, None)
                records.append(
                    GpuProcess(
                        t_ns=now_ns,
                        gpu=gone.gpu,
                        pid=pid,
                        used_bytes=0,
                        relation=gone.relation,
                        how=gone.how,
                        name=gone.name,
                        user=gone.user,
                    )
                )
        self._present = present
        self.has_target = any(record.relation == "target" for record in present.values())
        return records

    def _list(self) -> dict[int, int | None]:
        try:
            answers = self._calls(self._call, self._device.handle)
        except NoValue:
            answers = []
        listed: dict[int, int | None] = {}
        total = self._device.total_bytes
        for answer in answers:
            pid, used = int(answer.pid), answer.usedGpuMemory
            if used is not None:
                used = int(used)
                # A binding and a driver that differ in the structure's layout send nonsense.
                if used in UNKNOWN_MEMORY or used > (MOST_BYTES if total is None else total):
                    used = None
            if pid > 0 and not self._is_elsewhere(pid):
                listed[pid] = used
        return listed

    def _is_elsewhere(self, pid: int) -> bool:
        """Whether the reading of compute processes tells of it."""
        return self._compute is not None and self._compute.lists(pid)

    def lists(self, pid: int) -> bool:
        """Whether the last reading had that process."""
        return pid in self._present

    def relations(self) -> dict[int, str]:
        """Whose each listed process is, as of the last reading."""
        return {pid: record.relation for pid, record in self._present.items()}

    def _relations(self, listed: dict[int, int | None]) -> dict[int, tuple[str, str]]:
        own = set(self._target_pids())
        relations: dict[int, tuple[str, str]] = {}
        for pid in listed:
            relations[pid] = ("target", "pid") if pid in own else ("neighbour", "none")
        if any(relation == "target" for relation, _ in relations.values()) or not own:
            return relations
        inner = {n: pid for pid in own for n in self._other_namespace_pids(pid)}
        for pid in listed:
            if pid in inner:
                relations[pid] = ("target", "nspid")
        if any(relation == "target" for relation, _ in relations.values()):
            return relations
        if len(listed) == 1 and self._compute is None:
            (pid,) = listed
            if not (self._proc / str(pid)).exists() and any(map(self._has_gpu_open, own)):
                relations[pid] = ("target", "sole_tenant")
        return relations

    def _other_namespace_pids(self, pid: int) -> list[int]:
        try:
            status = (self._proc / str(pid) / "status").read_text()
        except OSError:
            return []
        for line in status.splitlines():
            if line.startswith("NSpid:"):
                return [int(word) for word in line.split()[1:] if int(word) != pid]
        return []

    def _has_gpu_open(self, pid: int) -> bool:
        folder = self._proc / str(pid) / "fd"
        try:
            names = os.listdir(folder)
        except OSError:
            return False
        for name in names:
            try:
                if os.readlink(folder / name).startswith(("/dev/nvidia", "/dev/dxg")):
                    return True
            except OSError:
                continue
        return False

    def _name(self, pid: int) -> tuple[str, str]:
        """Name and user of a pid, empty where it is not one of this namespace."""
        folder = self._proc / str(pid)
        try:
            name = (folder / "comm").read_text().strip()
            uid = folder.stat().st_uid
        except OSError:
            return self._remember(pid, self._driver_name(pid), "")
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)
        return self._remember(pid, name, user)

    def _driver_name(self, pid: int) -> str:
        try:
            answer: Any = self._calls("nvmlSystemGetProcessName", pid)
        except (MetricGone, NoValue, SourceLost):
            return ""
        word = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
        return os.path.basename(word.split(" ", 1)[0])

    def _remember(self, pid: int, name: str, user: str) -> tuple[str, str]:
        self._names[pid] = (name, user)
        return name, user
