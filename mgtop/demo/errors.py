"""What the demo says when it cannot do what was asked."""

from __future__ import annotations


class DemoError(Exception):
    """Wrong usage, or something is missing; ``str()`` is one sentence that says what to do."""
