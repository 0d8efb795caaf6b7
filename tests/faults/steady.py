"""A program that emits frames by mgtop's probe, and tells how many calls had returned.

Usage: steady.py FRAMES RATE COUNTER [END]

RATE is frames a second, 0 as fast as can be. COUNTER is a file with the number of the frames
whose call has returned. END: what to do after them, ``segv``, ``oom``, ``wait`` (until a file
COUNTER.go is there; ``oom`` waits so, too) or nothing. It prints the count and exits with 7.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

from mgtop import probe


def main() -> int:
    frames, rate, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    end = sys.argv[4] if len(sys.argv) > 4 else ""
    counter = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    began = time.monotonic()
    emitted = 0
    with probe.request(f"r{os.getpid()}", fps=rate or 1000) as request:
        for number in range(frames):
            if rate:
                time.sleep(max(0.0, began + number / rate - time.monotonic()))
            request.frame()
            emitted += 1
            os.pwrite(counter, b"%d" % emitted, 0)
        if end == "segv":
            ctypes.string_at(0)
        if end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while end == "oom" and not os.path.exists(path + ".go"):
            time.sleep(0.02)
        if end == "oom":
            os.write(1, b"out of memory next\n")
            hold = []
            while True:
                hold.append(bytearray(os.urandom(1 << 20)))
        while end == "wait" and not os.path.exists(path + ".go"):
            time.sleep(0.02)
            request.frame()
            emitted += 1
            os.pwrite(counter, b"%d" % emitted, 0)
    print("emitted", emitted if end != "wait" else "all", flush=True)
    return 7


if __name__ == "__main__":
    sys.exit(main())
