"""The recent past of one kind of reading, in the order of its own times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Items by time, the newest ``most`` of them, and none older than ``keep_ns``.

    Items may come a little out of order. Forgetting is done in lots, so up to a quarter
    more than ``most`` may be held for a while; what is held depends on the items alone.
    """

    __slots__ = ("_items", "_keep_ns", "_most", "_times", "forgotten")

    def __init__(self, most: int, keep_ns: int | None = None) -> None:
        self._times: list[int] = []
        self._items: list[T] = []
        self._most = most
        self._keep_ns = keep_ns
        self.forgotten = 0
        """Items that were dropped for age or number."""

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def add(self, t_ns: int, item: T) -> None:
        """Add one item; equal times keep the order of arrival."""
        times = self._times
        if not times or t_ns >= times[-1]:
            times.append(t_ns)
            self._items.append(item)
        else:
            at = bisect_right(times, t_ns)
            times.insert(at, t_ns)
            self._items.insert(at, item)
        if len(times) > self._most + (self._most >> 2) + 1:
            self._forget(len(times) - self._most)
        elif self._keep_ns is not None and len(times) & 0xFF == 0:
            self.forget_before(times[-1] - self._keep_ns)

    def forget_before(self, t_ns: int) -> None:
        """Drop what is older than ``t_ns``, once that is worth it."""
        at = bisect_left(self._times, t_ns)
        if at >= 64 or at == len(self._times):
            self._forget(at)

    def _forget(self, n: int) -> None:
        self.forgotten += n
        del self._times[:n]
        del self._items[:n]

    def between(self, begin_ns: int, end_ns: int) -> list[T]:
        """Items with begin < time ≤ end."""
        times = self._times
        return self._items[bisect_right(times, begin_ns) : bisect_right(times, end_ns)]

    def since(self, t_ns: int) -> list[T]:
        """Items with time ≥ ``t_ns``."""
        return self._items[bisect_left(self._times, t_ns) :]

    def at(self, t_ns: int) -> T | None:
        """The item in force at ``t_ns``: the last one not later."""
        at = bisect_right(self._times, t_ns)
        return self._items[at - 1] if at else None

    def after(self, t_ns: int) -> T | None:
        """The first item at or after ``t_ns``."""
        at = bisect_left(self._times, t_ns)
        return self._items[at] if at < len(self._items) else None

    def last(self) -> T | None:
        """The newest item."""
        return self._items[-1] if self._items else None
