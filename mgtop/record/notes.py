"""The recorder's own diagnostics, in ``recorder.log``."""

from __future__ import annotations

import sys
import time


def note(text: str) -> None:
    """Write a line to the recorder's own diagnostics (``recorder.log``)."""
    try:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        print(f"{stamp} {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a full disk: what matters is in the status
        pass
