"""How hooks and sinks tell of requests, frames and work: into the probe, under their route.

Each route tells of the program's frames by itself, with requests of its own numbers; the
analysis believes the highest route that has spoken (probe, hooks, sinks, log). So neither has to
know of the other, and nothing is counted twice.

Where a request's identity is not given, events belong to the request that the calling context
(thread or task) opened last, else to the only open one of the route. A request ends by
:func:`ended`, by :func:`returned`, or by the next one of the same context.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import monotonic_ns

from .notices import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional

__all__ = [
    "HOOKS", "SINKS", "action", "ended", "frame", "load", "mark", "notice", "preprocess_done",
    "received", "request_of", "returned", "span", "waited", "waiting",
]  # fmt: skip

HOOKS = 1
SINKS = 2
"""Routes: places in the records' ``ROUTES``."""

_MOST_OPEN = 256


class _Stream:
    """The open requests of one route."""

    def __init__(self, route: int) -> None:
        self.route = route
        self.open: Dict[str, Any] = {}
        self.held: ContextVar[Any] = ContextVar("mgtop_route_%d" % route, default=None)
        self.unattributed: Any = None

    def find(self, identity: Optional[str]) -> Any:
        """The request that an event belongs to; None: there is none yet."""
        if identity is not None:
            return self.open.get(identity)
        held = self._held_open()
        if held is not None:
            return held
        if len(self.open) <= 1:
            for request in list(self.open.values()):
                return request
            return None
        if self.unattributed is None:
            from mgtop.probe.requests import Request

            self.unattributed = Request("", 0, self.route)
        return self.unattributed

    def _held_open(self) -> Any:
        held: Any = self.held.get()
        return held if held is not None and self.open.get(held.id) is held else None

    def begin(self, identity: Optional[str], params: Optional[Mapping[str, object]]) -> Any:
        """A new request; with ``params`` it is told that it was received now."""
        from mgtop.probe.requests import request_apart

        before = self._held_open() if identity is None else self.open.get(identity)
        if before is not None:
            self.end(before)
        request: Any = request_apart(identity, params, self.route)
        if len(self.open) >= _MOST_OPEN:
            self.end(next(iter(self.open.values())))
        self.open[request.id] = request
        self.held.set(request)
        return request

    def end(self, request: Any, frames: Optional[int] = None) -> None:
        identity: str = request.id
        if self.open.get(identity) is request:
            del self.open[identity]
        request.end(frames)

    def forget(self) -> None:
        self.open.clear()


_streams: Dict[int, _Stream] = {HOOKS: _Stream(HOOKS), SINKS: _Stream(SINKS)}
_forgets = False


def _stream(route: int) -> _Stream:
    global _forgets
    if not _forgets:
        _forgets = True
        from mgtop.probe import outlet

        outlet.on_fork.append(_forget)
    return _streams[route]


def _forget() -> None:
    """In a forked child: the parent serves these requests, not the child."""
    for stream in _streams.values():
        stream.forget()


def received(
    route: int, request: Optional[object] = None, params: Optional[Mapping[str, object]] = None
) -> Any:
    """A request was received now.

    Args:
        route: :data:`HOOKS` or :data:`SINKS`.
        request: its identity, where several may be open at once.
        params: its parameters, for the session.

    Returns:
        What :func:`returned` takes.
    """
    identity = None if request is None else str(request)
    return _stream(route).begin(identity, params or {})


def returned(route: int, request: Any) -> None:
    """The call that began a request has returned: it is over, if frames came meanwhile.

    Where none came they are to follow, as of a program that writes its frames afterwards.
    """
    if request is not None and request.next_index > 0:
        _stream(route).end(request)


def preprocess_done(route: int, request: Optional[object] = None) -> None:
    """A request's input is decoded, resized and uploaded."""
    found = _stream(route).find(None if request is None else str(request))
    if found is not None:
        found.preprocess_done()


def frame(
    route: int, count: int = 1, request: Optional[object] = None, index: Optional[int] = None
) -> None:
    """``count`` frames came out together. Where no request is open, one is, unknown since when.

    Args:
        route: :data:`HOOKS` or :data:`SINKS`.
        count: how many; nothing is told where it is below 1.
        request: identity of the request that they are of.
        index: the index of the first of them; by default it follows those before.
    """
    stream = _stream(route)
    identity = None if request is None else str(request)
    found = stream.find(identity)
    if found is None:
        found = stream.begin(identity, None)
    found.frame(count, index)


def ended(route: int, request: Optional[object] = None, frames: Optional[int] = None) -> None:
    """A request is over; ``frames``: its total, where the program says it."""
    stream = _stream(route)
    found = stream.find(None if request is None else str(request))
    if found is not None and found.number:
        stream.end(found, frames)


def request_of(route: int, request: Optional[object] = None) -> Any:
    """The open request of a route that the calling context, or an identity, belongs to; or None.

    One that stands for several which cannot be told apart has the number 0.
    """
    return _stream(route).find(None if request is None else str(request))


_span_class: Any = None


def span(name: str, request: Optional[object] = None) -> Any:
    """Named work of the request that is open in the calling context, for a ``with`` statement.

    Of the program's own where it uses the probe, else of the hooks', else of the sinks'. Make one
    for each call of a coroutine.

    Args:
        name: what the work is called.
        request: identity of the hooks' request that it is for.
    """
    global _span_class
    if _span_class is None:
        from mgtop.probe.requests import current_request
        from mgtop.probe.spans import Span

        class RouteSpan(Span):
            __slots__ = ()

            def _owner(self) -> Any:
                return self._request or current_request() or request_of(HOOKS) or request_of(SINKS)

        _span_class = RouteSpan
    return _span_class(name, None if request is None else request_of(HOOKS, request))


def waiting() -> Any:
    """A person is waited for, in a ``with`` statement: it counts in no interval."""
    from mgtop import probe

    return probe.waiting()


def waited(begin_ns: int) -> None:
    """A person was waited for from ``begin_ns`` (``monotonic_ns``) until now."""
    from mgtop.probe import outlet, pack

    t_ns = monotonic_ns()
    out = outlet.current or outlet.start()
    if out is not None:
        out.event(pack.WAIT_LAYOUT, t_ns, t_ns - begin_ns)


def load(done: bool) -> None:
    """Loading of weights begins (False) or is done (True)."""
    from mgtop import probe

    if done:
        probe.load_done()
    else:
        probe.load_begin()


def mark(text: str) -> None:
    """Put a note on the time axis."""
    from mgtop import probe

    probe.mark(text)


def action(kind: str) -> None:
    """A person's input has arrived now: a key, a line, a message of the viewer.

    Args:
        kind: ``input``, ``key``, ``message``, or any name.
    """
    from mgtop.probe import outlet, pack

    t_ns = monotonic_ns()
    out = outlet.current or outlet.start()
    if out is not None:
        out.message(pack.ACTION, t_ns, pack.clip(str(kind), 200))
