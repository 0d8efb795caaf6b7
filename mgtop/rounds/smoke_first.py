"""The smoke test before a sweep: where the smallest run fails, timings would mean nothing."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import msgspec

from mgtop.config import RunConfig
from mgtop.preflight import smoke
from mgtop.session.stop import CannotStop, NotLive, request_stop

PASSED = "passed"
_LOOK_S = 0.2


class Smoke(msgspec.Struct, frozen=True):
    """How it ended; ``text`` says why it failed, or that it passed."""

    passed: bool
    text: str


def smoke_first(
    config: RunConfig, path: Path, stop: threading.Event, out: Path | None = None
) -> Smoke:
    """Run the configuration's smoke test.

    Args:
        config: the configuration, which has one.
        path: its file.
        stop: set, it ends the test's program.
        out: folder for its session; None: one in the user's state folder.

    Raises:
        ConfigError, LaunchError: it cannot be started as it is given.
    """
    over = threading.Event()

    def started(folder: Path) -> None:
        threading.Thread(target=_end_when, args=(stop, over, folder), daemon=True).start()

    try:
        result = smoke.run(config, path, out=out, on_start=started)
    finally:
        over.set()
    if result.passed:
        return Smoke(True, PASSED)
    unmet = ", ".join(criterion.evidence for _, criterion in result.criteria.unmet())
    why = result.failure_text or unmet
    kind = (result.failure or "other").replace("_", " ")
    return Smoke(False, f"{kind}: {why}" if why else kind)


def _end_when(stop: threading.Event, over: threading.Event, folder: Path) -> None:
    """End the recording of ``folder`` once it is not wanted any more."""
    while not over.wait(_LOOK_S):
        if stop.is_set():
            with contextlib.suppress(NotLive, CannotStop):
                request_stop(folder, target=True)
            return
