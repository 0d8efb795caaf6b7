"""What the generator needs beside Python."""

from __future__ import annotations

from importlib.util import find_spec

from mgtop.demo.errors import DemoError


def check_packages() -> None:
    """See, without importing them, that torch and PyAV are there.

    Raises:
        DemoError: one is missing; it tells how to get it.
    """
    missing = [name for name in ("torch", "av") if find_spec(name) is None]
    if missing:
        raise DemoError(
            f"The demo needs {' and '.join(missing)}, missing here: pip install 'mgtop[demo]'."
        )
