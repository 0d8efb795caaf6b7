"""Input frames are decoded ahead, by a thread of its own, into a queue that holds so many."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType

from torch import Tensor

from mgtop.demo.clip import endless, picture_from

QUEUE = "prefetch"

Decoding = Callable[[int], AbstractContextManager[object]]
Tell = Callable[[str, int, int], None]


class Prefetch:
    """Decoded pictures of a clip, in order, without end.

    Args:
        clip: the video to decode.
        capacity: pictures that the queue holds.
        decoding: makes a context to put around the decoding of picture ``index``.
        tell: called with name, depth and capacity of the queue when it changed.
    """

    def __init__(self, clip: Path, capacity: int, decoding: Decoding, tell: Tell) -> None:
        self.capacity = capacity
        self._clip = clip
        self._decoding = decoding
        self._tell = tell
        self._pictures: deque[Tensor] = deque()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._closed = False
        self._pauses: set[int] = set()
        self._paused = False
        self._rest_s: float | None = None
        self._thread = threading.Thread(target=self._fill, name="prefetch", daemon=True)

    def start(self) -> None:
        """Begin to decode."""
        self._thread.start()

    def take(self, count: int) -> list[Tensor]:
        """The next ``count`` pictures, ``[height, width, 3]`` bytes each; waits for them.

        Raises:
            DemoError: the clip cannot be decoded.
        """
        taken: list[Tensor] = []
        with self._changed:
            while len(taken) < count:
                self._await_pictures(1)
                taken.append(self._pictures.popleft())
                self._tell(QUEUE, len(self._pictures), self.capacity)
                self._changed.notify_all()
        return taken

    def pause_before(self, index: int) -> None:
        """Let the thread stop before it hands out picture ``index``, until :meth:`starve`."""
        with self._changed:
            self._pauses.add(index)

    def starve(self, ms: float, count: int) -> None:
        """Wait until ``count`` pictures are there; none comes for ``ms`` after a pause."""
        with self._changed:
            self._rest_s = ms / 1e3
            self._changed.notify_all()
            self._await_pictures(count)

    def _await_pictures(self, count: int) -> None:
        while len(self._pictures) < count:
            if self._failure is not None:
                raise self._failure
            if self._paused and self._rest_s is None:
                self._rest_s = 0.0  # nobody may wait for a thread that waits for him
                self._changed.notify_all()
            self._changed.wait()

    def _fill(self) -> None:
        try:
            with closing(endless(self._clip)) as frames:
                for index in itertools.count():
                    with self._decoding(index):
                        picture = picture_from(next(frames))
                    if not self._put(index, picture):
                        return
        except BaseException as failure:  # the consumer raises it
            with self._changed:
                self._failure = failure
                self._changed.notify_all()

    def _put(self, index: int, picture: Tensor) -> bool:
        """Queue a picture when there is room; False: not wanted any more."""
        with self._changed:
            if index in self._pauses and not self._pause():
                return False
            self._changed.wait_for(lambda: self._closed or len(self._pictures) < self.capacity)
            if self._closed:
                return False
            self._pictures.append(picture)
            self._tell(QUEUE, len(self._pictures), self.capacity)
            self._changed.notify_all()
        return True

    def _pause(self) -> bool:
        self._paused = True
        self._changed.notify_all()
        self._changed.wait_for(lambda: self._closed or self._rest_s is not None)
        self._paused = False
        end = time.monotonic() + (self._rest_s or 0.0)
        self._rest_s = None
        while not self._closed and (left := end - time.monotonic()) > 0:
            self._changed.wait(left)
        return not self._closed

    def close(self) -> None:
        """Stop decoding."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Prefetch:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
