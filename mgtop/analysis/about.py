"""Which session, which program, which machine: what the log says of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from mgtop.analysis.devices import Devices
from mgtop.analysis.summary import Environment, GpuInfo, SessionInfo, TargetInfo
from mgtop.wire import records as r

MIB = 1 << 20


class About:
    """Keeps the records that describe the session; the last word counts."""

    def __init__(self) -> None:
        self.start: r.SessionStart | None = None
        self.first_ns: int | None = None
        self.last_ns = 0
        self.target: r.TargetStart | None = None
        self.exit: r.TargetExit | None = None
        self.end: r.SessionEnd | None = None
        self.hello: r.Hello | None = None
        self.cores: int | None = None
        self.driver: str | None = None
        self.cuda: str | None = None
        self.gaps: list[r.LogGap] = []

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records."""
        return {
            r.SessionStart: self._session_start,
            r.TargetStart: lambda record: setattr(self, "target", record),
            r.TargetExit: lambda record: setattr(self, "exit", record),
            r.SessionEnd: lambda record: setattr(self, "end", record),
            r.GpuDevice: self._gpu_device,
            r.HostCpu: lambda record: setattr(self, "cores", record.cores),
            r.Hello: self._hello,
            r.LogGap: self.gaps.append,
        }

    def seen(self, t_ns: int) -> None:
        """The log has come to that time."""
        if self.first_ns is None:
            self.first_ns = t_ns
        if t_ns > self.last_ns:
            self.last_ns = t_ns

    def _session_start(self, record: r.SessionStart) -> None:
        if self.start is None:  # another one is a recorder's that took over
            self.start = record

    def _gpu_device(self, record: r.GpuDevice) -> None:
        self.driver = record.driver or self.driver
        self.cuda = record.cuda or self.cuda

    def _hello(self, record: r.Hello) -> None:
        if self.hello is None or record.torch is not None:
            self.hello = record

    @property
    def start_ns(self) -> int:
        """Zero of all times that are shown."""
        if self.start is not None:
            return self.start.t_ns
        return self.first_ns or 0

    @property
    def ended(self) -> bool:
        """Whether the recording or the target has ended."""
        return self.end is not None or self.exit is not None

    @property
    def was_cut_short(self) -> bool:
        """Whether the program did not come to its end by itself: it was stopped, or failed."""
        if self.exit is not None and self.exit.code == 0:
            return False
        return self.end is not None and self.end.reason in ("target_exit", "seconds", "stopped")

    @property
    def cut_ns(self) -> int:
        """When the recording, or the program before it, ended."""
        ends = [record.t_ns for record in (self.exit, self.end) if record is not None]
        return min(ends, default=self.last_ns)

    def session(self, params: dict[str, Any]) -> SessionInfo:
        """The session; ``params`` serve where it has none of its own."""
        start = self.start
        started = None
        if start is not None and start.wall_ns > 0:
            at = datetime.fromtimestamp(start.wall_ns / 1e9, tz=timezone.utc)
            started = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return SessionInfo(
            name=start.name if start is not None else "",
            started=started,
            duration_ms=max(0, self.last_ns - self.start_ns) / 1e6,
            live=not self.ended,
            end=self.end.reason if self.end is not None else None,
            params=(start.params if start is not None else {}) or params,
        )

    def target_info(self, devices: Devices, route: int | None) -> TargetInfo:
        """The program."""
        target, hello = self.target, self.hello
        gpus = [
            GpuInfo(
                uuid=about.uuid,
                name=about.name,
                total_mib=None if about.total_bytes is None else about.total_bytes / MIB,
            )
            for device in devices.of_target()
            if (about := device.about) is not None
        ]
        spoke: str = r.ROUTES[route] if route is not None else "observe"
        return TargetInfo(
            pid=target.pid if target is not None else None,
            command=target.command if target is not None else [],
            exit_code=self.exit.code if self.exit is not None else None,
            exit_signal=self.exit.signal if self.exit is not None else None,
            oom_kills=self.exit.oom_kills if self.exit is not None else None,
            torch=(hello.torch if hello else None) or (target.torch if target else None),
            python=(hello.python if hello else None) or (target.python if target else None),
            gpus=gpus,
            git=target.git if target is not None else None,
            route=spoke if target is not None or route is not None else None,
            advice=(target.advice or None) if target is not None and route is None else None,
        )

    def environment(self) -> Environment:
        """The machine."""
        known = self.start.environment if self.start is not None else {}
        names = ("os", "kernel", "driver", "cuda", "cpu", "container")
        texts = {name: str(known[name]) for name in names if known.get(name) is not None}
        texts |= {k: v for k, v in (("driver", self.driver), ("cuda", self.cuda)) if v is not None}
        ram = known.get("ram_mib")
        return Environment(
            **texts,
            ram_mib=float(ram) if isinstance(ram, (int, float)) else None,
            mgtop=self.start.mgtop if self.start is not None else None,
        )
