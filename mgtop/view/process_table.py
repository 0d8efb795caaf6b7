"""The target's processes: as they are on this machine, or as the log knew them."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from mgtop.analysis.model import Model
from mgtop.record.tree import descendants, environment_of
from mgtop.session.lock import proc_number
from mgtop.session.secrets import mask, mask_command
from mgtop.wire.records import pid_of

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
MIB = 1 << 20
EVERY_S = 1.0
"""How often /proc is read."""
MOST = 512


@dataclass(frozen=True)
class Process:
    """One process. What is not known is None.

    Attributes:
        proc: its number for good; None: it is known by its pid alone.
        depth: how deep it is in the tree.
        cpu: percent of one core since the reading before.
        gpu_mib: GPU memory by GPU.
        gpu_inferred: the driver knows the process by another number (as in a container); it is
            the only one that the memory can be of.
        emits: it told of frames.
        alive: it runs on this machine.
    """

    pid: int
    proc: int | None
    parent: int | None
    depth: int
    name: str
    state: str | None = None
    user: str | None = None
    cpu: float | None = None
    rss_mib: float | None = None
    threads: int | None = None
    gpu_mib: Mapping[int, float | None] = field(default_factory=dict)
    gpu_inferred: bool = False
    emits: bool = False
    alive: bool = True

    @property
    def gpu_total_mib(self) -> float | None:
        """GPU memory on all GPUs; None where none is known."""
        known = [value for value in self.gpu_mib.values() if value is not None]
        return sum(known) if known else None


class ProcessTable:
    """Looks the processes up, once a second at most.

    Args:
        model: of the session.
        clock: seconds.
    """

    def __init__(self, model: Model, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._read_s = float("-inf")
        self._cpu: dict[int, tuple[float, float]] = {}
        """By proc: CPU seconds, and when they were read."""
        self._known: list[Process] = []

    def processes(self) -> list[Process]:
        """Parents before their children."""
        now_s = self._clock()
        if now_s - self._read_s >= EVERY_S:
            self._read_s = now_s
            self._known = self._live(now_s) or self._logged()
        return self._known

    def _live(self, now_s: float) -> list[Process]:
        """Those of the tree, if its root runs on this machine; and others that told of frames."""
        target = self._model.about.target
        roots = [] if target is None else [(target.pid, target.proc)]
        roots += [(pid_of(log.proc), log.proc) for log in self._model.channels.processes()]
        there = [pid for pid, proc in roots if pid > 0 and proc_number(pid) == proc]
        if not there:
            return []
        emitting = {request.proc for request in self._model.traffic.requests}
        gpu = self._gpu_memory()
        found: list[Process] = []
        depths: dict[int, int] = {}
        for pid in descendants(there)[:MOST]:
            process = self._one(pid, now_s, depths, emitting, gpu)
            if process is not None:
                depths[pid] = process.depth
                found.append(process)
        return in_tree_order(_with_rest(found, gpu))

    def _one(
        self,
        pid: int,
        now_s: float,
        depths: Mapping[int, int],
        emitting: set[int],
        gpu: Mapping[int, Mapping[int, float | None]],
    ) -> Process | None:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                stat = file.read()
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return None
        short = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode("utf-8", "replace")
        fields = stat[stat.rindex(b")") + 2 :].split()
        parent, threads, pages = int(fields[1]), int(fields[17]), int(fields[21])
        used_s = (int(fields[11]) + int(fields[12])) / TICKS
        proc = proc_number(pid)
        if proc is None:
            return None
        before = self._cpu.get(proc)
        self._cpu[proc] = (used_s, now_s)
        if len(self._cpu) > 4 * MOST:
            del self._cpu[next(iter(self._cpu))]
        cpu = None
        if before is not None and now_s > before[1]:
            cpu = 100.0 * (used_s - before[0]) / (now_s - before[1])
        return Process(
            pid=pid, proc=proc, parent=parent, depth=depths.get(parent, -1) + 1,
            name=_command(pid) or f"[{short}]", state=fields[0].decode(), user=_user(owner),
            cpu=cpu, rss_mib=pages * PAGE_MIB, threads=threads, gpu_mib=gpu.get(pid, {}),
            emits=proc in emitting,
        )  # fmt: skip

    def _gpu_memory(self) -> dict[int, dict[int, float | None]]:
        """By pid and GPU, of the target's processes."""
        found: dict[int, dict[int, float | None]] = {}
        for gpu, device in self._model.channels.devices.by_index.items():
            for pid, readings in device.processes.items():
                last = readings.last()
                if last is not None and last.relation == "target":
                    used = None if last.used_bytes is None else last.used_bytes / MIB
                    found.setdefault(pid, {})[gpu] = used
        return found

    def _logged(self) -> list[Process]:
        """What the log tells: the target, processes with frames, with threads, or on a GPU."""
        model = self._model
        target = model.about.target
        gpu = self._gpu_memory()
        emitting = {request.proc for request in model.traffic.requests}
        threads: dict[int, int] = {}
        for pid, _ in model.channels.host.threads:
            threads[pid] = threads.get(pid, 0) + 1
        procs = {pid_of(log.proc): log.proc for log in model.channels.processes() if log.proc}
        pids = dict.fromkeys(
            [*([target.pid] if target is not None else []), *procs, *gpu, *threads]
        )
        found = []
        for pid in list(pids)[:MOST]:
            is_target = target is not None and pid == target.pid
            name = " ".join(mask_command(target.command)) if is_target and target else ""
            found.append(
                Process(
                    pid=pid, proc=procs.get(pid), parent=None, depth=0 if is_target else 1,
                    name=name, threads=threads.get(pid), gpu_mib=gpu.get(pid, {}),
                    emits=procs.get(pid) in emitting, alive=False,
                )
            )  # fmt: skip
        return found


def _with_rest(
    processes: Sequence[Process], gpu: Mapping[int, Mapping[int, float | None]]
) -> list[Process]:
    """GPU memory under numbers that are none of theirs goes to the one process it can be of.

    That is the only one, or the only one that tells of frames.
    """
    pids = {process.pid for process in processes}
    rest = {pid: used for pid, used in gpu.items() if pid not in pids}
    emitting = [process for process in processes if process.emits]
    owners = emitting if len(emitting) == 1 else processes
    if not rest or len(owners) != 1 or owners[0].gpu_mib:
        return list(processes)
    used: dict[int, float | None] = {}
    for its in rest.values():
        for number, mib in its.items():
            before = used.get(number)
            used[number] = mib if before is None else before + (mib or 0.0)
    owner = replace(owners[0], gpu_mib=used, gpu_inferred=True)
    return [owner if process is owners[0] else process for process in processes]


def in_tree_order(processes: Sequence[Process]) -> list[Process]:
    """Each one after its parent, before the parent's next child."""
    children: dict[int | None, list[Process]] = {}
    pids = {process.pid for process in processes}
    for process in processes:
        parent = process.parent if process.parent in pids else None
        children.setdefault(parent, []).append(process)
    found: list[Process] = []
    stack = list(reversed(children.get(None, [])))
    while stack:
        process = stack.pop()
        found.append(process)
        stack += reversed(children.get(process.pid, []))
    return found


def environment_lines(pid: int) -> list[tuple[str, str]]:
    """Names and values that a process was started with, in order, secrets masked."""
    return [(name, str(value)) for name, value in sorted(mask(environment_of(pid)).items())]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return " ".join(mask_command([os.fsdecode(word) for word in words]))


@lru_cache(64)
def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
