"""Rows of ``nvidia-smi`` → records of GPUs, on the time axis of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from mgtop.record.limits import clean
from mgtop.record.smi.processes import processes
from mgtop.record.smi.tables import Row, Table
from mgtop.record.smi.values import bytes_of, whole
from mgtop.wire.records import (
    GpuDevice,
    GpuMemory,
    GpuState,
    GpuUtilisation,
    Record,
    SourceState,
)

_SECOND_NS = 1_000_000_000
_UTILISATION_NS = 200_000_000
"""The driver's figure covers no less than that, however often it is asked for."""
_AFTER_NS = 2 * _SECOND_NS


class Timeline:
    """Gives the rows of one table their places on the axis of a session.

    Args:
        table: the rows.
        origin_wall_ns: Unix time at 0 of the axis.

    A table that states no times (``dmon`` without ``-o DT``) has a row of each GPU a second,
    which is its default, from 0 on.
    """

    def __init__(self, table: Table, origin_wall_ns: int) -> None:
        states_times = any(row.wall_ns is not None for row in table.rows)
        self.rows: list[tuple[int, Row]] = []
        at_ns, seen = -_SECOND_NS, {""}
        for row in table.rows:
            if row.wall_ns is not None:
                self.rows.append((row.wall_ns - origin_wall_ns, row))
            elif not states_times:
                gpu = f"{row.number('index')} {row.number('pid')}"
                if gpu in seen or at_ns < 0:
                    at_ns, seen = at_ns + _SECOND_NS, set()
                seen.add(gpu)
                self.rows.append((at_ns, row))
        self.rows.sort(key=lambda item: item[0])

    def period_ns(self) -> int | None:
        """The usual time between two readings of one GPU."""
        times: dict[object, list[int]] = {}
        for t_ns, row in self.rows:
            key = row.number("index"), row.text("uuid") or row.text("bus"), row.number("pid")
            times.setdefault(key, []).append(t_ns)
        steps = [after - before for mine in times.values() for before, after in pairwise(mine)]
        return round(median(steps)) if steps else None


def first_wall_ns(tables: Sequence[Table]) -> int | None:
    """The earliest time that any table states."""
    times = [row.wall_ns for table in tables for row in table.rows if row.wall_ns is not None]
    return min(times, default=None)


def smi_records(tables: Sequence[Table], origin_wall_ns: int | None, end_ns: int) -> list[Record]:
    """The records of all tables, in the order of time; none lies before 0 or after the end.

    Args:
        tables: what was read.
        origin_wall_ns: Unix time at 0 of the axis; None: the earliest table begins there.
        end_ns: end of the session; rows up to two seconds later still count.
    """
    if origin_wall_ns is None:
        origin_wall_ns = first_wall_ns(tables) or 0
    gpus = _Gpus()
    gpus.learn(tables)
    records: list[Record] = []
    times: list[int] = []
    periods: list[int] = []
    for table in tables:
        timeline = Timeline(table, origin_wall_ns)
        period_ns = timeline.period_ns() or _SECOND_NS
        rows = [(t, row) for t, row in timeline.rows if 0 <= t <= end_ns + _AFTER_NS]
        times += [t_ns for t_ns, _ in rows]
        if table.kind == "compute-apps":
            records += processes(rows, _target_pids(table), gpus.number, period_ns)
            continue
        periods.append(period_ns)
        for t_ns, row in rows:
            records += _of_gpu(t_ns, gpus.number(row), row, max(period_ns, _UTILISATION_NS))
    if not times:
        return []
    records += _states(sorted(times), min(periods, default=_SECOND_NS), end_ns)
    records.sort(key=lambda record: record.t_ns)
    return [*gpus.devices(), *records]


class _Gpus:
    """Numbers the GPUs: as nvidia-smi does where it says so, else in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._about: dict[int, dict[str, float | str]] = {}

    def learn(self, tables: Sequence[Table]) -> None:
        """Which numbers and names belong together, from the rows that state both."""
        for table in tables:
            for row in table.rows:
                name = row.text("uuid") or row.text("bus")
                index = row.number("index")
                if name and index is not None:
                    self._numbers.setdefault(name, int(index))

    def number(self, row: Row) -> int:
        """The number of the GPU that a row is about; what the row tells of it is kept."""
        index, uuid, bus = row.number("index"), row.text("uuid"), row.text("bus")
        name = uuid or bus
        if index is not None:
            gpu = int(index)
        elif name:
            gpu = self._numbers.setdefault(name, len(self._numbers))
        else:
            gpu = 0
        about = self._about.setdefault(gpu, {})
        for key, value in row.values.items():
            if key in ("uuid", "name", "total_mib", "reserved_mib", "driver") and value is not None:
                about.setdefault(key, value)
        return gpu

    def devices(self) -> list[Record]:
        """All that rows were about."""
        return [
            GpuDevice(
                t_ns=0,
                gpu=gpu,
                uuid=clean(str(about.get("uuid", f"nvidia-smi-{gpu}"))),
                name=clean(str(about.get("name", "GPU"))),
                total_bytes=bytes_of(about.get("total_mib")),
                reserved_bytes=bytes_of(about.get("reserved_mib")),
                driver=str(about["driver"]) if "driver" in about else None,
            )
            for gpu, about in sorted(self._about.items())
        ]


def _of_gpu(t_ns: int, gpu: int, row: Row, period_ns: int) -> Iterator[Record]:
    used = bytes_of(row.number("used_mib"))
    if used is not None:
        yield GpuMemory(t_ns=t_ns, gpu=gpu, used_bytes=used)
    percent = row.number("percent")
    if percent is not None and 0 <= percent <= 100:
        memory = row.number("memory_percent")
        yield GpuUtilisation(
            t_ns=t_ns, gpu=gpu, percent=percent, memory_percent=memory, period_ns=period_ns,
            source="poll",
        )  # fmt: skip
    state = GpuState(
        t_ns=t_ns,
        gpu=gpu,
        sm_mhz=whole(row.number("sm_mhz")),
        memory_mhz=whole(row.number("memory_mhz")),
        power_mw=whole(row.number("power_w"), 1_000),
        temperature_c=whole(row.number("temperature_c")),
        clock_event_reasons=whole(row.number("reasons")),
        power_limit_mw=whole(row.number("power_limit_w"), 1_000),
    )
    if state != GpuState(t_ns=t_ns, gpu=gpu):
        yield state


def cannot_tell_target(table: Table) -> bool:
    """Whether a table lists processes, but not which of them is the program."""
    return table.kind == "compute-apps" and bool(table.rows) and not _target_pids(table)


def _target_pids(table: Table) -> frozenset[int]:
    """Which process is the program's own: the only one, or the only one of Python."""
    names = {
        int(pid): row.text("process")
        for row in table.rows
        if (pid := row.number("pid")) is not None
    }
    if len(names) == 1:
        return frozenset(names)
    pythons = frozenset(pid for pid, name in names.items() if "python" in name.lower())
    return pythons if len(pythons) == 1 else frozenset()


def _states(times: list[int], period_ns: int, end_ns: int) -> Iterator[Record]:
    """The tables as a source: it lives where there are rows, and not in the gaps between."""
    patience_ns = max(3 * period_ns, _SECOND_NS)
    if times[0] > 0:
        yield _state(0, "absent", "the table of nvidia-smi begins later", None)
    said_ns = -_SECOND_NS
    for place, t_ns in enumerate(times):
        is_last = place == len(times) - 1
        is_silent = (end_ns if is_last else times[place + 1]) - t_ns > patience_ns
        if is_silent or is_last or t_ns - said_ns >= _SECOND_NS:
            said_ns = t_ns
            yield _state(t_ns, "ok", "", period_ns)
        if is_silent:
            yield _state(t_ns + period_ns, "absent", "nvidia-smi wrote nothing then", None)


def _state(t_ns: int, state: str, reason: str, period_ns: int | None) -> SourceState:
    covered_ns = t_ns if state == "ok" else None
    return SourceState(t_ns, "nvml", state, reason, period_ns, covered_ns)
