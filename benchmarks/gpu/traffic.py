"""Recording NVML traffic at the library boundary, and playing it back.

``Recorder`` stands in for the ``pynvml`` module and writes down every call with its answer
or error; ``Replay`` stands in for it later, on a machine without a GPU. Handles become
plain numbers, structures become their fields. A replay answers each call with what the
real driver had answered last at that time, so that a sampler with another schedule than
the recorded one still gets real answers.
"""

from __future__ import annotations

import ctypes
import gzip
import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NOT_RECORDED = ("nvmlGpmSampleAlloc", "nvmlGpmSampleFree")


class Recorder:
    """A ``pynvml`` that writes down what it is asked and what it answers."""

    def __init__(self, module: Any, path: Path) -> None:
        self._module = module
        self._file = gzip.open(path, "wt", compresslevel=9)  # noqa: SIM115  # closed by close()
        self._handles: dict[int, int] = {}
        constants = {
            name: value
            for name, value in vars(module).items()
            if name.startswith(("NVML_", "nvmlMemory")) and isinstance(value, int)
        }
        self._write({"constants": constants, "t": time.monotonic_ns(), "wall": time.time_ns()})

    def mark(self, phase: str) -> None:
        """Note that a phase of the scenario begins."""
        self._write({"phase": phase, "t": time.monotonic_ns()})

    def close(self) -> None:
        """End the recording."""
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if not name.startswith("nvml") or not callable(value) or isinstance(value, type):
            return value

        def call(*arguments: Any) -> Any:
            line: dict[str, Any] = {"n": name, "t": time.monotonic_ns()}
            if name not in ("nvmlGpmMetricsGet",):
                line["a"] = [self._plain(a) for a in arguments]
            try:
                answer = value(*arguments)
            except self._module.NVMLError as error:
                line.update(d=time.monotonic_ns() - line["t"], e=error.value)
                self._write(line)
                raise
            line.update(d=time.monotonic_ns() - line["t"], r=self._plain(answer))
            if name not in NOT_RECORDED:
                self._write(line)
            return answer

        return call

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def _plain(self, value: Any) -> Any:
        if value is None or isinstance(value, (int, float, str)):
            return value
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        if isinstance(value, ctypes.Array):
            return [self._plain(item) for item in value]
        if isinstance(value, ctypes._Pointer):  # noqa: SLF001  # the only name of that base
            address = ctypes.cast(value, ctypes.c_void_p).value or 0
            return {"handle": self._handles.setdefault(address, len(self._handles))}
        if type(value).__name__ == "c_nvmlGpmMetricsGet_t":
            metric = value.metrics[0]
            return {"metrics": [{"nvmlReturn": metric.nvmlReturn, "value": metric.value}]}
        if isinstance(value, (ctypes.Structure, ctypes.Union)):
            names = [field[0] for field in value._fields_]
            return {name: self._plain(getattr(value, name)) for name in names}
        if hasattr(value, "__dict__"):  # pynvml's friendly objects
            return {name: self._plain(item) for name, item in vars(value).items()}
        raise TypeError(f"cannot write down a {type(value)}")


class Replay:
    """A ``pynvml`` that answers from a recording.

    Args:
        path: the recording.
        now: time on the recording's clock, ns; moved by whoever replays.
        spend: told how long each call took then, ns, before it answers.

    Attributes:
        phases: ``(begin_ns, name)`` of the scenario.
        begin_ns, end_ns: span of the recording.
        override: name → function, to answer a call otherwise (to hang, to fail).
    """

    class NVMLError(Exception):
        """As pynvml's: ``value`` is the error's number."""

        def __init__(self, value: int) -> None:
            super().__init__(f"NVML error {value}")
            self.value = value

    def __init__(
        self, path: Path, now: Callable[[], int], spend: Callable[[int], None] = lambda _ns: None
    ) -> None:
        self._now, self._spend = now, spend
        self.phases: list[tuple[int, str]] = []
        self.override: dict[str, Callable[..., Any]] = {}
        self._constants: dict[str, int] = {}
        self._answers: dict[str, tuple[list[int], list[dict[str, Any]]]] = {}
        self.begin_ns = self.end_ns = 0
        for line in _lines(path):
            if "constants" in line:
                self._constants = line["constants"]
                self.begin_ns = line["t"]
                self.wall_offset_ns = line["wall"] - line["t"]
            elif "phase" in line:
                self.phases.append((line["t"], line["phase"]))
            else:
                times, lines = self._answers.setdefault(_key(line["n"], line.get("a")), ([], []))
                times.append(line["t"])
                lines.append(line)
            self.end_ns = max(self.end_ns, line["t"])

    def answers(self, name: str) -> Iterator[dict[str, Any]]:
        """All recorded answers of a call, whatever its arguments."""
        for key, (_times, lines) in self._answers.items():
            if key.split("(", 1)[0] == name:
                yield from lines

    def __getattr__(self, name: str) -> Any:
        if name in self._constants:
            return self._constants[name]
        if name == "c_nvmlGpmMetricsGet_t":
            return lambda: SimpleNamespace(metrics=[SimpleNamespace()])
        known = any(key.split("(", 1)[0] == name for key in self._answers)
        if name in NOT_RECORDED:
            return lambda *_: object()
        if not known and name not in self.override:
            raise AttributeError(name)
        return lambda *arguments: self._answer(name, arguments)

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if name in self.override:
            return self.override[name](*arguments)
        plain = None if name == "nvmlGpmMetricsGet" else [_unwrap(a) for a in arguments]
        times, lines = self._answers.get(_key(name, plain), ([], []))
        at = bisect_right(times, self._now()) - 1
        if not lines:
            raise self.NVMLError(2)
        line = lines[max(at, 0)]
        self._spend(line["d"])
        if name == "nvmlDeviceGetSamples":
            samples = _samples(lines[: max(at, 0) + 1], arguments[2])
            if not samples:
                raise self.NVMLError(6)
            return 1, samples
        if "e" in line:
            raise self.NVMLError(line["e"])
        return _wrap(line["r"])


def _samples(lines: list[dict[str, Any]], after_us: int) -> list[Any]:
    """All samples that the driver's buffer had held by then and that are newer."""
    found = {s["timeStamp"]: s for line in lines if "r" in line for s in line["r"][1]}
    return [_wrap(found[stamp]) for stamp in sorted(found) if stamp > after_us]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        for line in file:
            yield json.loads(line)


def _key(name: str, arguments: list[Any] | None) -> str:
    if name in ("nvmlDeviceGetSamples", "nvmlGpmSampleGet") and arguments:
        arguments = arguments[:1]  # the rest is a position or a buffer
    return f"{name}({json.dumps(arguments)})"


def _wrap(value: Any) -> Any:
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    if isinstance(value, dict):
        if "handle" in value and len(value) == 1:
            return Handle(value["handle"])
        return SimpleNamespace(**{name: _wrap(item) for name, item in value.items()})
    return value


def _unwrap(value: Any) -> Any:
    if isinstance(value, Handle):
        return {"handle": value.number}
    return [_unwrap(item) for item in value] if isinstance(value, (list, tuple)) else value


class Handle:
    """A device's, by the order in which it was first seen."""

    def __init__(self, number: int) -> None:
        self.number = number
