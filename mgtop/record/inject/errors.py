"""Why an injection cannot be, or did not go through."""

from __future__ import annotations


class CannotInject(Exception):
    """The process was not changed; ``str()`` says why, and the exact remedy."""
