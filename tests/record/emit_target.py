"""A target for tests: sends numbered emits into ``MGTOP_FIFO``, then does as it is told.

Usage: emit_target.py [--count N] [--rate PER_S] [--child] [--then exit|hang|kill] [--code N]
                      [--garbage N] [--sent FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time

from emitting import frame, wire

from mgtop.wire.records import FrameEmit, proc_of


def own_proc() -> int:
    with open("/proc/self/stat", "rb") as file:
        return proc_of(os.getpid(), int(file.read().rpartition(b")")[2].split()[19]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--child", action="store_true", help="a grandchild sends instead")
    parser.add_argument("--then", choices=("exit", "hang", "kill"), default="exit")
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("--garbage", type=int, default=0)
    parser.add_argument("--sent", help="file for the number of events sent, for a killer to read")
    args = parser.parse_args()
    if args.child:
        inner = [argument for argument in sys.argv[1:] if argument != "--child"]
        shell = f'"$@" & echo started; wait $!; exit {args.code}'
        sys.exit(subprocess.call(["sh", "-c", shell, "sh", sys.executable, __file__, *inner]))
    pipe = os.open(os.environ["MGTOP_FIFO"], os.O_RDWR | os.O_NONBLOCK)
    proc, began = own_proc(), time.monotonic()
    sent = os.open(args.sent, os.O_WRONLY | os.O_CREAT, 0o600) if args.sent else None
    for seq in range(args.count):
        event = FrameEmit(
            t_ns=time.monotonic_ns(), seq=seq, proc=proc, tid=os.getpid(), request=1, index=seq,
            emit=seq, count=1,
        )  # fmt: skip
        with contextlib.suppress(BlockingIOError):  # full: dropped, as the probe does
            os.write(pipe, wire(event))
        if sent is not None:
            os.pwrite(sent, b"%d" % (seq + 1), 0)
        if args.garbage and seq % args.garbage == 0:
            os.write(pipe, b"garbage " * 8)
            os.write(pipe, frame(b"\x93\x06\xc0\xc0"))
        if args.rate:
            time.sleep(max(0.0, began + (seq + 1) / args.rate - time.monotonic()))
    print("sent", args.count, flush=True)
    if args.then == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while args.then == "hang":
        time.sleep(0.05)
    sys.exit(args.code)


if __name__ == "__main__":
    main()
