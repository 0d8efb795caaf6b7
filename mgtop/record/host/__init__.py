"""The machine beside the GPU: CPU and memory of the target's tree and of the system."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mgtop.record.host.sampler import HostSampler

__all__ = ["HostSampler", "make_sampler"]


def make_sampler(target_pids: Callable[[], Collection[int]]) -> HostSampler:
    """A sampler of this machine and of the target's tree (started by the caller).

    Args:
        target_pids: pids of the tree, the launched one first.
    """
    return HostSampler(target_pids)
