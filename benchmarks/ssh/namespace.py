"""A far and narrow line made by the kernel: a network namespace with a discipline on each end.

Needs root, ``ip`` and ``tc``. Where the kernel knows ``netem`` it delays and limits like
:mod:`benchmarks.ssh.line`, with no program of ours on the way; ``tbf``, which more kernels know,
limits alone.
"""

from __future__ import annotations

import os
import subprocess

HERE, THERE = "10.213.77.1", "10.213.77.2"
QUEUE_PACKETS = 20
BURST_BYTES, LATENCY_MS = 3000, 200


def netem(delay_ms: float, rate: float) -> list[str]:
    """The discipline that delays and limits; ``rate`` in bytes a second."""
    return ["netem", "delay", f"{delay_ms}ms", "rate", f"{rate * 8:.0f}bit", "limit",
            str(QUEUE_PACKETS)]  # fmt: skip


def tbf(rate: float) -> list[str]:
    """The discipline that limits alone."""
    return ["tbf", "rate", f"{rate * 8:.0f}bit", "burst", str(BURST_BYTES),
            "latency", f"{LATENCY_MS}ms"]  # fmt: skip


def kernel_has(discipline: list[str]) -> bool:
    """Whether a namespace can be made here, and the kernel knows the discipline."""
    words = " ".join(discipline)
    script = f"ip link set lo up && tc qdisc add dev lo root {words}"
    try:
        done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


class Namespace:
    """Two ends of a cable, ours here and one in a namespace; each sends through the discipline.

    Attributes:
        prefix: put it before a command to run that in there.
        address: of the end in there.
    """

    address = THERE

    def __init__(self, discipline: list[str]) -> None:
        self._name = name = f"mgtop-{os.getpid()}"
        self.prefix = ["ip", "netns", "exec", name]
        self._link = f"mg{os.getpid()}"
        _run("ip", "netns", "add", name)
        try:
            _run("ip", "link", "add", self._link, "type", "veth", "peer", "far0", "netns", name)
            _run("ip", "addr", "add", f"{HERE}/30", "dev", self._link)
            _run("ip", "link", "set", self._link, "up")
            _run(*self.prefix, "ip", "addr", "add", f"{THERE}/30", "dev", "far0")
            _run(*self.prefix, "ip", "link", "set", "far0", "up")
            _run("tc", "qdisc", "add", "dev", self._link, "root", *discipline)
            _run(*self.prefix, "tc", "qdisc", "add", "dev", "far0", "root", *discipline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take it away; both ends of the cable go with it."""
        subprocess.run(["ip", "link", "del", self._link], capture_output=True)
        _run("ip", "netns", "del", self._name)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
