"""``python -m mgtop.report FOLDER``: reads along with a long recording, and leaves its digest.

The recorder starts it once a recording has become long. It runs only where nobody else wants the
core, reads what is new twice a minute with at most a quarter of a core, and writes what the report
needs when the recording has ended. Where it could not keep up, it leaves that to whoever asks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mgtop.report import digest as digests
from mgtop.report.follow import Follower
from mgtop.report.load import digest_of
from mgtop.session.priority import give_way

PERIOD_S = 30.0
MOST_SHARE = 0.25
"""Of a core, while the program runs."""
ENOUGH = 0.9
"""Of the log, read by the end of the recording: else it could not keep up."""
PATIENCE_S = 120.0
"""What is left to read must have become less after so long, or it will never keep up."""


def read_along(folder: Path, period_s: float = PERIOD_S) -> bool:
    """Read until the recording has ended; whether its digest was kept."""
    follower = Follower(folder)
    kept_up = 0.0
    while True:
        origin = digests.origin_of(folder)
        spent = time.process_time()
        left: float | None = None
        looked = time.monotonic()
        for _ in follower.rest():
            now = time.process_time()
            if follower.live:
                kept_up = follower.share_read
                if left is None or time.monotonic() - looked > PATIENCE_S:
                    before, left = left, (1 - kept_up) * digests.size_of(digests.origin_of(folder))
                    looked = time.monotonic()
                    if before is not None and left > before:
                        return False
                time.sleep((now - spent) * (1 / MOST_SHARE - 1))
            elif kept_up < ENOUGH:
                return False
            spent = now
        if follower.live:
            time.sleep(period_s)
        elif digests.origin_of(folder) == origin:
            return digests.keep(folder, digest_of(follower, origin))
        # Else a mark was set meanwhile, or the log grew: once more.


if __name__ == "__main__":
    give_way()
    sys.exit(0 if read_along(Path(sys.argv[1])) else 1)
