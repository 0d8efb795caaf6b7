"""A far and narrow line between an SSH client and its server: a relay on loopback.

    python -m benchmarks.ssh.line --to PORT [--delay-ms 125] [--rate 8000]

Prints the port on which it listens. Each direction delays what it carries by ``--delay-ms`` and
carries at most ``--rate`` bytes a second, 52 of them for the headers of each packet. Only
:data:`QUEUED_S` of data wait in it, as in a router; then it stops reading, and its sockets'
buffers are small, so that the sender feels the line. Kill it, and the connection is cut; stop it
(SIGSTOP), and the network is silent.

Where the kernel has the ``netem`` discipline this would be ``tc``'s job; many kernels of cloud
machines and containers have none.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import subprocess
import sys
from pathlib import Path

PACKET_BYTES, HEADER_BYTES = 1448, 52
QUEUED_S = 0.2
BUFFER_BYTES = 4096


class Direction:
    """One way of a connection.

    Args:
        delay_s: added to everything.
        rate: bytes a second; 0: no limit.
    """

    def __init__(self, delay_s: float, rate: float) -> None:
        self._delay_s, self._rate = delay_s, rate
        self._sent: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        self._free_s = 0.0
        """When the line has carried all that was read."""

    async def carry(self, source: socket.socket, sink: socket.socket) -> None:
        """Carry what comes, until either end is gone."""
        deliver = asyncio.create_task(self._deliver(sink))
        try:
            await self._take(source)
        finally:
            self._sent.put_nowait((0.0, b""))
            await deliver

    async def _take(self, source: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(max(0.0, self._free_s - loop.time() - QUEUED_S))
            try:
                data = await loop.sock_recv(source, PACKET_BYTES)
            except OSError:
                return
            if not data:
                return
            self._free_s = max(self._free_s, loop.time())
            if self._rate:
                self._free_s += (len(data) + HEADER_BYTES) / self._rate
            self._sent.put_nowait((self._free_s + self._delay_s, data))

    async def _deliver(self, sink: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s, data = await self._sent.get()
            if not data:
                break
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            try:
                await loop.sock_sendall(sink, data)
            except OSError:
                break
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def _small(kind: socket.socket) -> socket.socket:
    kind.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    kind.setblocking(False)
    return kind


async def relay(to_port: int, delay_s: float, rate: float) -> None:
    """Listen, say where, and carry every connection that comes."""
    loop = asyncio.get_running_loop()
    listener = _small(socket.socket())
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    carried = set()
    while True:
        near, _ = await loop.sock_accept(listener)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = _small(socket.socket())
        await loop.sock_connect(far, ("127.0.0.1", to_port))
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(_both_ways(near, far, delay_s, rate))
        carried.add(task)
        task.add_done_callback(carried.discard)


async def _both_ways(near: socket.socket, far: socket.socket, delay_s: float, rate: float) -> None:
    """Carry a connection until both ends have said all; only then close anything of it."""
    with near, far:
        await asyncio.gather(
            Direction(delay_s, rate).carry(near, far), Direction(delay_s, rate).carry(far, near)
        )


class Relay:
    """A relay in a process of its own.

    Attributes:
        port: where it listens.
        process: to be killed or stopped.
    """

    def __init__(self, to_port: int, delay_ms: float, rate: float) -> None:
        command = [sys.executable, "-m", "benchmarks.ssh.line", "--to", str(to_port)]
        command += ["--delay-ms", str(delay_ms), "--rate", str(rate)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def cut(self) -> None:
        """Cut every connection."""
        self.process.kill()
        self.process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=int, required=True, metavar="PORT")
    parser.add_argument("--delay-ms", type=float, default=125, help="each way")
    parser.add_argument("--rate", type=float, default=8000, help="bytes a second each way, 0: any")
    args = parser.parse_args()
    asyncio.run(relay(args.to, args.delay_ms / 1e3, args.rate))
    return 0


if __name__ == "__main__":
    sys.exit(main())
