"""Starts mgtop's part in a program that mgtop launched; then the sitecustomize that this one hides.

Python itself imports this at its start, whatever its version: so it is written for all of them.
"""

import os
import sys


def _begin():  # type: () -> None
    try:
        if sys.version_info >= (3, 8):
            import _mgtop_boot  # type: ignore[import-not-found,unused-ignore]

            _mgtop_boot.begin()
    except Exception:
        pass


def _go_on():  # type: () -> None
    """Import the next sitecustomize on the path, as if this folder were not on it."""
    me = sys.modules.pop(__name__)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    try:
        __import__(__name__)
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise  # the program's own error, which Python tells as it always does
    finally:
        sys.modules.setdefault(__name__, me)


_begin()
_go_on()
