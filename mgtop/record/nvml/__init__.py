"""NVML: memory, utilisation, clocks and processes of the GPUs, cheaply and honestly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.record.schedule import MetricGone

__all__ = ["MetricGone", "NvmlSampler", "make_sampler"]


def make_sampler(
    target_pids: Callable[[], Collection[int]] = tuple,
    target_environment: Callable[[], Mapping[str, str]] = dict,
) -> NvmlSampler:
    """A sampler over the installed NVML bindings (started by the caller).

    Raises:
        MetricGone: the bindings cannot be used; ``str()`` says why and what to do.
    """
    return NvmlSampler(load_bindings(), target_pids, target_environment)


def load_bindings() -> object:
    """The ``pynvml`` module of ``nvidia-ml-py``.

    Raises:
        MetricGone: it is missing, or another package took its place.
    """
    try:
        import pynvml
    except ImportError as error:
        raise MetricGone(f"nvidia-ml-py is not installed ({error})") from None
    if not hasattr(pynvml, "nvmlDeviceGetComputeRunningProcesses"):
        where = getattr(pynvml, "__file__", "?")
        raise MetricGone(
            f"another package shadows nvidia-ml-py: {where} "
            "(remove pynvml and nvidia-ml-py3, then reinstall nvidia-ml-py)"
        )
    return pynvml
