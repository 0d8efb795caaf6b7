"""What one configured hook tells when its function is called: the callbacks of its wrapper."""

from __future__ import annotations

from itertools import count

from . import emitting
from .emitting import HOOKS
from .expressions import count_of, identity_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .configured import Configured
    from .expressions import Closure

SKIPPED = object()
"""Token of a call that counts nothing."""


class _Token:
    """What a call has open: a span, a wait, a request that it began."""

    __slots__ = ("request", "span", "wait")

    def __init__(self) -> None:
        self.span: Any = None
        self.wait: Any = None
        self.request: Any = None


class Told:
    """The callbacks of one hook, for :func:`wrapping.wrap`.

    A frame is told of when the function has returned, or for each item that it yields; a request
    when it is called; everything else when it has returned.
    """

    def __init__(self, hook: Configured) -> None:
        self._event = hook.event
        self._span = hook.span
        self._kind = hook.names[-1]
        self._target = hook.target
        self._count = _optional(hook.count)
        self._request = _optional(hook.request)
        self._when = _optional(hook.when)
        self._every = hook.every
        self._calls: Callable[[], int] = count(1).__next__
        self._needs_token = bool(self._span) or self._event in (
            "request_received", "user_wait", "load", "load_begin",
        )  # fmt: skip

    # ---------------------------------------------------------------------- callbacks

    def before(self, args: Any, kwargs: Any) -> Any:
        """The call begins."""
        if not self._needs_token:
            return None
        if self._when is not None and not _on_entry(self._when, args, kwargs):
            return SKIPPED
        token = _Token()
        if self._event == "request_received" and self._is_due():
            token.request = emitting.received(HOOKS, self._identity(args, kwargs, None))
        elif self._event in ("load", "load_begin"):
            emitting.load(False)
        elif self._event == "user_wait":
            token.wait = emitting.waiting()
            token.wait.__enter__()
        if self._span:
            token.span = emitting.span(self._span, self._identity(args, kwargs, None))
            token.span.__enter__()
        return token

    def after(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        """It has returned."""
        self._close(token, None)
        self._tell(token, args, kwargs, result)

    def each(self, token: Any, args: Any, kwargs: Any, item: Any) -> None:
        """It has yielded an item."""
        if token is not None and token is not SKIPPED and token.span is not None:
            token.span.__exit__(None, None, None)
        if self._event in ("frame_emit", "action"):
            self._tell(token, args, kwargs, item)

    def resumed(self, token: Any, args: Any, kwargs: Any) -> None:
        """It goes on after a yield."""
        if token is not None and token is not SKIPPED and token.span is not None:
            token.span.__enter__()

    def finished(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        """It was a generator, and is through."""
        self._close(token, None)
        if self._event not in ("frame_emit", "action"):
            self._tell(token, args, kwargs, result)

    def failed(self, token: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        """It raised: nothing came of it, but what it had open is over."""
        self._close(token, error)
        if token is not SKIPPED and self._event == "stream_end":
            emitting.ended(HOOKS, self._identity(args, kwargs, None))

    # -------------------------------------------------------------------------- inside

    def _close(self, token: Any, error: Optional[BaseException]) -> None:
        if token is None or token is SKIPPED:
            return
        if token.span is not None:
            token.span.__exit__(None if error is None else type(error), error, None)
            token.span = None
        if token.wait is not None:
            token.wait.__exit__(None, None, None)
        if token.request is not None:
            emitting.returned(HOOKS, token.request)

    def _is_due(self) -> bool:
        return self._every == 1 or self._calls() % self._every == 0

    def _identity(self, args: Any, kwargs: Any, result: Any) -> Optional[str]:
        return None if self._request is None else identity_of(self._request(args, kwargs, result))

    def _tell(self, token: Any, args: Any, kwargs: Any, result: Any) -> None:
        event = self._event
        if token is SKIPPED or event in ("", "request_received", "user_wait", "load_begin"):
            return
        if self._when is not None and not self._when(args, kwargs, result):
            return
        if not self._is_due():
            return
        if event == "frame_emit":
            frames = 1 if self._count is None else count_of(self._count(args, kwargs, result))
            if frames > 0:
                emitting.frame(HOOKS, frames, self._identity(args, kwargs, result))
        elif event == "preprocess_done":
            emitting.preprocess_done(HOOKS, self._identity(args, kwargs, result))
        elif event == "stream_end":
            emitting.ended(HOOKS, self._identity(args, kwargs, result))
        elif event in ("load", "load_done"):
            emitting.load(True)
        elif event == "action":
            emitting.action(self._kind)
        elif event == "mark":
            emitting.mark(self._target)


def _optional(text: str) -> Optional[Closure]:
    return read(text) if text else None


def _on_entry(when: Closure, args: Any, kwargs: Any) -> bool:
    """A condition that holds at the call already; one about the result is for its end."""
    try:
        return bool(when(args, kwargs, None))
    except (AttributeError, TypeError, IndexError, KeyError):
        return True
