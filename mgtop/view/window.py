"""The piece of time that the screen shows, column by column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """The columns of the screen and their time.

    Attributes:
        end_ns: end of the last column; ``now`` may lie before it, and nothing stands there yet.
        step_ns: duration of a column.
        width: columns.
    """

    end_ns: int
    step_ns: int
    width: int

    @property
    def begin_ns(self) -> int:
        """Begin of the first column."""
        return self.end_ns - self.width * self.step_ns

    def past(self, now_ns: int) -> int:
        """How many columns have begun."""
        return max(1, min(self.width, -(-(now_ns - self.begin_ns) // self.step_ns)))

    def column(self, t_ns: int) -> int | None:
        """The column of a time; None outside the window."""
        column = (t_ns - self.begin_ns) // self.step_ns
        return column if 0 <= column < self.width else None
