"""The tables that ``nvidia-smi`` writes: ``--query-gpu``, ``--query-compute-apps`` and ``dmon``.

All become rows with the same names and units, whichever of them a file holds. What a table does
not have, or marks as not available, is None.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

_NOT_TOLD = re.compile(r"\[.*\]|n/?a|-|not (?:supported|available|active)", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_UNIT = re.compile(r"\s*\[.*\]$")

_QUERY = {
    "timestamp": "time",
    "index": "index",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "pci.bus_id": "bus",
    "gpu_bus_id": "bus",
    "name": "name",
    "gpu_name": "name",
    "driver_version": "driver",
    "memory.used": "used_mib",
    "memory.total": "total_mib",
    "memory.reserved": "reserved_mib",
    "utilization.gpu": "percent",
    "utilization.memory": "memory_percent",
    "power.draw": "power_w",
    "power.draw.instant": "power_w",
    "power.draw.average": "power_w",
    "power.limit": "power_limit_w",
    "enforced.power.limit": "power_limit_w",
    "temperature.gpu": "temperature_c",
    "clocks.sm": "sm_mhz",
    "clocks.current.sm": "sm_mhz",
    "clocks.mem": "memory_mhz",
    "clocks.current.memory": "memory_mhz",
    "clocks_event_reasons.active": "reasons",
    "clocks_throttle_reasons.active": "reasons",
    "pid": "pid",
    "process_name": "process",
    "used_gpu_memory": "process_mib",
    "used_memory": "process_mib",
}
"""Column of ``--query-gpu`` and ``--query-compute-apps`` → name here."""
_DMON = {
    "date": "date",
    "time": "time",
    "gpu": "index",
    "pwr": "power_w",
    "gtemp": "temperature_c",
    "temp": "temperature_c",
    "sm": "percent",
    "mem": "memory_percent",
    "pclk": "sm_mhz",
    "mclk": "memory_mhz",
    "fb": "used_mib",
}
"""Column of ``dmon`` → name here."""
_TEXTS = frozenset({"time", "date", "uuid", "bus", "name", "process", "driver"})


class NotATable(ValueError):
    """The text is no table of nvidia-smi; ``str()`` says what is missing."""


@dataclass(frozen=True)
class Row:
    """One line: when (ns of Unix time; None: it does not say), and its values by name."""

    wall_ns: int | None
    values: dict[str, float | str | None] = field(default_factory=dict)

    def number(self, name: str) -> float | None:
        """A value that is a number."""
        value = self.values.get(name)
        return value if isinstance(value, float) else None

    def text(self, name: str) -> str:
        """A value that is text; empty where there is none."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Table:
    """A file's rows, in its order."""

    kind: str
    """``query-gpu``, ``compute-apps`` or ``dmon``."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    malformed: int
    """Lines that do not fit the header."""


def read_table(text: str) -> Table:
    """Read what ``nvidia-smi`` wrote, with its header.

    Raises:
        NotATable: it is none, or its header is missing (``--format=csv,noheader``).
    """
    lines = [line for line in text.replace("\x00", "").splitlines() if line.strip()]
    if not lines:
        raise NotATable("it is empty")
    if lines[0].lstrip().startswith("#"):
        return _read_dmon(lines)
    header = tuple(_query_name(cell) for cell in _cells(lines[0]))
    if not any(header):
        raise NotATable(
            "its first line names no column of nvidia-smi; write it with --format=csv, and not "
            "with noheader"
        )
    kind = "compute-apps" if "pid" in header else "query-gpu"
    rows: list[Row] = []
    malformed = 0
    for line in lines[1:]:
        cells = _cells(line)
        if len(cells) != len(header):
            malformed += 1
            continue
        if tuple(_query_name(cell) for cell in cells) == header:
            continue  # another run was appended
        values = dict(_values(header, cells))
        rows.append(Row(_wall_ns(values.pop("time", None)), values))
    return Table(kind, tuple(filter(None, header)), tuple(rows), malformed)


def _read_dmon(lines: list[str]) -> Table:
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    malformed = 0
    for line in lines:
        if line.lstrip().startswith("#"):
            names = tuple(_DMON.get(word.lower(), "") for word in _words(line.replace("#", " ")))
            if "index" in names:
                header = names  # it is repeated; the line of units below it is not one
            continue
        words = _words(line)
        if len(words) != len(header):
            malformed += 1
            continue
        values = dict(_values(header, words))
        date, time = values.pop("date", None), values.pop("time", None)
        rows.append(Row(_wall_ns(f"{date} {time}" if date and time else None), values))
    if not header:
        raise NotATable("its header names no column of nvidia-smi dmon")
    return Table("dmon", tuple(filter(None, header)), tuple(rows), malformed)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]


def _words(line: str) -> list[str]:
    """Of dmon: in columns, or with commas (``--format csv``)."""
    return [word.strip() for word in line.split(",")] if "," in line else line.split()


def _query_name(cell: str) -> str:
    return _QUERY.get(_UNIT.sub("", cell).strip().lower(), "")


def _values(header: tuple[str, ...], cells: list[str]) -> Iterator[tuple[str, float | str | None]]:
    for name, cell in zip(header, cells, strict=True):
        if name:
            yield name, _value(name, cell)


def _value(name: str, cell: str) -> float | str | None:
    if _NOT_TOLD.fullmatch(cell) or not cell:
        return None
    if name in _TEXTS:
        return cell
    if _HEX.fullmatch(cell):
        return float(int(cell, 16))
    number = _NUMBER.match(cell)
    return float(number[0]) if number is not None else None


def _wall_ns(text: object) -> int | None:
    """Unix time of ``2026/11/30 22:15:00.123`` or ``20261130 22:15:00``, local as they are."""
    if not isinstance(text, str):
        return None
    for shape in ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y%m%d %H:%M:%S"):
        try:
            at = datetime.strptime(text, shape)
        except ValueError:
            continue
        return round(at.timestamp() * 1_000_000) * 1_000
    return None
