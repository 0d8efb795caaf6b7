"""What becomes of an error inside an app: it leaves the app, as it would leave a function.

Textual prints a page of traceback with the values of all variables, and goes on as if the user
had left. Here the terminal is restored and the error is raised again, so that the command line
says one sentence and keeps the traceback in a file.
"""

from __future__ import annotations

import sys
from typing import Generic, TypeVar

from textual.app import App

T = TypeVar("T")


class RaisingApp(App[T], Generic[T]):
    """An app whose errors come out of :meth:`show`."""

    crash: BaseException | None = None

    def _fatal_error(self) -> None:
        if self.crash is None:
            self.crash = sys.exc_info()[1]
        self.panic()

    def show(self) -> T | None:
        """Run until the user leaves; return what was asked for on leaving."""
        result = self.run()
        if self.crash is not None:
            raise self.crash
        return result
