"""Calls into NVML, each timed and with its failure sorted by what follows from it.

``pynvml`` is the boundary: everything above it works the same on a recording of its traffic
(tests/record/nvml). One thread calls; others may read the account.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mgtop.record.schedule import MetricGone, NoValue, SourceLost

SLOW_CALL_NS = 2_000_000
"""A call longer than this is written to the log, as a suspect for a stall."""

_NOTHING = {
    6: "not found",
    7: "it grew while it was read",
    21: "no data",
    27: "not ready",
}
_GONE = {
    2: "the driver refuses the call (invalid argument)",
    3: "not supported by this GPU or driver",
    4: "no permission",
    12: "no NVIDIA driver on this machine (libnvidia-ml.so.1 is missing)",
    13: "this driver is too old: it lacks the function",
    25: "this driver has another version of the structure",
    26: "the driver has dropped the call",
}
_LOST = {
    1: "NVML is not initialised",
    8: "the GPU lacks power (its extra power cable)",
    9: "the NVIDIA driver is not loaded",
    10: "the driver did not answer in time",
    11: "the kernel has trouble with the GPU's interrupts",
    15: "the GPU is lost (fallen off the bus, or reset)",
    16: "the GPU needs a reset",
    17: "the system blocked the call (in a container: access to the device was taken away)",
    18: "driver and library versions differ (the driver was updated: reboot or reload it)",
    20: "the driver is short of memory",
    23: "the driver is short of resources",
    28: "the GPU is not found any more",
    999: "unknown driver error (in a container: access to the device is lost; restart it)",
}


_REMEDIES = {
    2: "none is needed: this one figure is left out",
    3: "none is needed: this one figure is left out",
    4: "ask for it: run as root, or have the administrator allow the query to users",
    8: "connect the GPU's power cable",
    9: "load the driver: sudo modprobe nvidia",
    10: "wait, then try again; if it stays so, see dmesg for Xid errors",
    11: "see dmesg; reboot, or move the card to another slot",
    12: "install NVIDIA's driver; in a container, start it with --gpus all",
    13: "update the driver: 535 or later",
    15: "see dmesg for Xid errors; reset the GPU (nvidia-smi --gpu-reset) or reboot",
    16: "reset the GPU: sudo nvidia-smi --gpu-reset",
    17: "restart the container; for good: nvidia-container-toolkit's cdi mode or --device options",
    18: "reboot, or unload and load the driver's modules",
    25: "update nvidia-ml-py and the driver to versions of about the same age",
    26: "update mgtop and nvidia-ml-py",
    999: "restart the container, or see dmesg for Xid errors",
}


def remedy_of(reason: str) -> str | None:
    """What to do about a reason that :func:`sort_error` gave, in a line; None: nothing known."""
    for reasons in (_GONE, _LOST):
        for code, text in reasons.items():
            if text in reason:
                return _REMEDIES.get(code)
    return None


def sort_error(error: Exception) -> Exception:
    """The exception that an NVML error amounts to."""
    code = getattr(error, "value", None)
    if not isinstance(code, int):
        return MetricGone(str(error))
    return sort_code(code, str(error))


def sort_code(code: int, text: str = "") -> Exception:
    """The exception that an NVML error's number amounts to.

    Args:
        code: the number.
        text: what NVML says of it, for numbers that are not known here.
    """
    if code in _NOTHING:
        return NoValue(_NOTHING[code])
    if code in _LOST:
        return SourceLost(_LOST[code])
    if code in _GONE:
        return MetricGone(_GONE[code])
    return MetricGone(f"NVML error {code}: {text}" if text else f"NVML error {code}")


class Calls:
    """Calls functions of the ``pynvml`` module by name and keeps the account.

    Attributes:
        count: calls made.
        spent_ns: time spent inside them.
        slow: ``(name, ended_ns, duration_ns)`` of calls over :data:`SLOW_CALL_NS`,
            until taken by :meth:`take_slow`.
    """

    def __init__(self, module: Any, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._module = module
        self._clock = clock
        self._running: tuple[str, int] | None = None
        self._error: type[Exception] = module.NVMLError
        self.count = 0
        self.spent_ns = 0
        self.slow: list[tuple[str, int, int]] = []

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call ``pynvml.name(*arguments)``.

        Raises:
            NoValue, MetricGone, SourceLost: instead of pynvml's errors.
        """
        function = getattr(self._module, name, None)
        if function is None:
            raise MetricGone("the installed nvidia-ml-py lacks the function")
        clock = self._clock
        began = clock()
        self._running = (name, began)
        try:
            return function(*arguments)
        except self._error as error:
            raise sort_error(error) from None
        except (AttributeError, OSError, ValueError) as error:
            # A half-installed driver: a missing symbol, a library that does not load.
            raise MetricGone(f"{name}: {error}") from None
        finally:
            self._running = None
            ended = clock()
            self.count += 1
            self.spent_ns += ended - began
            if ended - began >= SLOW_CALL_NS:
                self.slow.append((name, ended, ended - began))

    def constant(self, name: str, default: Any = None) -> Any:
        """A constant of the module, or ``default`` where this version lacks it."""
        return getattr(self._module, name, default)

    def structure(self, name: str) -> Any:
        """A new instance of one of the module's structures.

        Raises:
            MetricGone: this version of the module lacks it.
        """
        kind = getattr(self._module, name, None)
        if kind is None:
            raise MetricGone("the installed nvidia-ml-py lacks the structure")
        return kind()

    def hanging(self, now_ns: int, limit_ns: int) -> tuple[str, int] | None:
        """Name and age (ns) of the call in progress, if it is older than ``limit_ns``."""
        running = self._running
        if running is None or now_ns - running[1] < limit_ns:
            return None
        return running[0], now_ns - running[1]

    def take_slow(self) -> list[tuple[str, int, int]]:
        """The slow calls since the last time; forgets them."""
        slow, self.slow = self.slow, []
        return slow


def text(value: Any) -> str:
    """NVML strings are bytes in older bindings."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
