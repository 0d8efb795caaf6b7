"""Whether it was the kernel that killed a program: its OOM killer keeps count in control groups.

A kill looks like anybody's SIGKILL. The only trace without root is the count of kills in the
memory control group that the victim belonged to. One more of them is evidence, no proof: it may
have been another process of the same group.
"""

from __future__ import annotations

from pathlib import Path

from mgtop.record.host.cgroup import find_group, read_table
from mgtop.record.host.quota import CGROUP_ROOT

LOOK_NS = 250_000_000
AT_FIRST_NS = 5_000_000_000
"""For so long every call looks: what starts a program often moves it to its group just then."""
UNSEEN_NS = LOOK_NS + 150_000_000
"""Not seen for longer than that before its end, it may have gone to another group."""
_PF_EXITING = 0x4
"""Of the flags in ``/proc/PID/stat``: its end has begun."""


class OomKills:
    """Follows the control group of a process.

    Args:
        pid: of the process.
        now_ns: time of ``CLOCK_MONOTONIC``.
        root: where control groups are mounted.
        proc: where processes are.
    """

    def __init__(
        self, pid: int, now_ns: int, root: Path = CGROUP_ROOT, proc: Path = Path("/proc")
    ) -> None:
        self._pid, self._root, self._proc = pid, root, proc
        self._began_ns, self._looked_ns = now_ns, 0
        self._alive_ns = now_ns
        self._path: bytes | None = None
        self._group: Path | None = None
        self._before: dict[Path, int | None] = {}
        self.look(now_ns)

    def look(self, now_ns: int) -> None:
        """See which group it is in now."""
        period_ns = 0 if now_ns - self._began_ns < AT_FIRST_NS else LOOK_NS
        if self._looked_ns and now_ns - self._looked_ns < period_ns:
            return
        self._looked_ns = now_ns
        try:
            path = (self._proc / str(self._pid) / "cgroup").read_bytes()
        except OSError:
            return
        if self._is_ending():
            return  # version 1 shows what is about to end in the root group
        self._alive_ns = now_ns
        if path == self._path:
            return
        self._path = path
        group = find_group(self._pid, self._root, self._proc)
        self._group = group.memory if group is not None else None
        if self._group is not None:
            self._before.setdefault(self._group, kills_in(self._group))

    def _is_ending(self) -> bool:
        try:
            stat = (self._proc / str(self._pid) / "stat").read_bytes()
            return bool(int(stat.rpartition(b") ")[2].split()[6]) & _PF_EXITING)
        except (OSError, ValueError, IndexError):
            return True

    def counted(self, now_ns: int) -> int | None:
        """Kills that the group counted since the process was first seen in it; None: unknown.

        To be called when its end was noticed. Where it was not seen alive for a while before
        that, no kill says nothing: it may have been in another group by then.
        """
        if self._group is None:
            return None
        before, after = self._before[self._group], kills_in(self._group)
        if before is None or after is None or after < before:
            return None
        if after == before and now_ns - self._alive_ns > UNSEEN_NS:
            return None
        return after - before


def kills_in(group: Path) -> int | None:
    """The kernel's count of a memory control group (version 2 or 1); None: not to be read."""
    for name in ("memory.events", "memory.oom_control"):
        table = read_table(group / name)
        if "oom_kill" in table:
            return table["oom_kill"]
    return None
