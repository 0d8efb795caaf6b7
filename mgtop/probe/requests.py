"""Requests, and how an event finds the one it belongs to.

An event made through a :class:`Request` belongs to it. An event made through the module belongs
to the request that is open in the calling context (a context variable, so each asyncio task and
each thread has its own), else to the only one open in the process. Where several are open and
nothing tells them apart, it belongs to none of them: request 0.
"""

# ruff: noqa: SLF001 (this module owns what it reads of other requests)

from __future__ import annotations

from contextvars import ContextVar
from itertools import count
from time import monotonic_ns

from . import gc_clock, outlet, pack, torch_compile, torch_watch
from .outlet import swallowed
from .spans import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Type

ROUTE_SHIFT = 24
"""Numbers of requests that are told of apart hold their route above so many bits."""

_numbers = count(1)
_apart: Dict[int, Iterator[int]] = {}
_open: Dict[int, Request] = {}
_held: ContextVar[Tuple[Request, ...]] = ContextVar("mgtop_requests", default=())

_PARAMS_SIZE = 3500
_TOO_MANY = 1 << 31  # does not fit the field


class Request:
    """One request that the program serves: frames are counted from 0 within it.

    Use it in a ``with`` statement, or call :meth:`end`. All methods may be called from any
    thread; none raises, and none blocks.
    """

    __slots__ = ("_delivered", "_dropped", "_duplicated", "_emits", "_entered", "_is_open",
                 "_next_index", "_route", "_told", "emits", "gpu", "id", "number")  # fmt: skip

    id: str
    """The name that the program gave, else its number."""
    number: int
    """The process's own number for the request, from 1."""
    emits: int
    """Emits so far, which is the number of the next one."""

    def __init__(self, id: str, number: int, route: int = 0) -> None:  # noqa: A002
        self.id = id
        self.number = number
        self.gpu: Any = None
        self._route = route
        self._told = (0, 0)
        self._emits = count()
        self.emits = 0
        self._next_index = 0
        self._delivered = 0
        self._dropped = 0
        self._duplicated = 0
        self._entered = False
        self._is_open = number > 0

    def span(self, name: str, index: Optional[int] = None, gpu: Optional[bool] = None) -> Span:
        """A named piece of work of this request: ``with r.span("decode"): …``.

        Args:
            name: ``decode``, ``resize``, ``h2d``, ``forward``, ``vae_decode``, ``postprocess``,
                ``encode``, ``write``, ``preprocess``, or any name.
            index: the frame that the work is for; by default the next one to be emitted. Code
                that works ahead says it.
            gpu: whether to measure the work on the GPU's own time line too, by a pair of CUDA
                events; by default for ``forward`` and ``vae_decode``.
        """
        return Span(name, self, index, gpu)

    def preprocess_done(self) -> None:
        """Decode, resize and upload of the input have all finished."""
        if torch_compile.traces():
            return
        t_ns = monotonic_ns()
        try:
            out = outlet.current or outlet.start()
            if out is not None:
                out.event(pack.PREPROCESS_DONE_LAYOUT, t_ns, self.number)
        except Exception:
            swallowed()

    def frame(self, count: int = 1, index: Optional[int] = None) -> None:
        """``count`` frames were written to the output together.

        Args:
            count: how many; nothing is sent where it is below 1.
            index: the index of the first of them, where frames are left out or come out of
                order; by default it follows the frames before.
        """
        if torch_compile.traces():
            return
        t_ns = monotonic_ns()
        try:
            if not 0 < count < _TOO_MANY:
                return
            if index is None or not 0 <= index < _TOO_MANY:
                index = self._next_index
            self._next_index = index + count
            emit = next(self._emits)
            self.emits = emit + 1
            out = outlet.current or outlet.start()
            if out is None:
                return
            seq = out.next_seq()
            message = out.thread().pack_frame(
                t_ns, seq, self.number, index, emit, count, self._route,
                gc_clock.total_ns, torch_compile.compiles,
            )  # fmt: skip
            out.put(message, t_ns, seq)
            torch_watch.at_emit(out, self, emit, t_ns)
        except Exception:
            swallowed()

    def delivered(self, count: int = 1) -> None:
        """``count`` frames reached the viewer (or whoever takes them), after they were emitted.

        Delivery may go on after :meth:`end`. One thread should tell of it: counts that several
        add at the same moment can be lost.
        """
        if torch_compile.traces():
            return
        try:
            if 0 < count < _TOO_MANY:
                self._delivered += count
                self._tell_delivery()
        except Exception:
            swallowed()

    def dropped(self, count: int = 1) -> None:
        """``count`` emitted frames were thrown away instead of being delivered."""
        if torch_compile.traces():
            return
        try:
            if 0 < count < _TOO_MANY:
                self._dropped += count
                self._tell_delivery()
        except Exception:
            swallowed()

    def duplicated(self, count: int = 1) -> None:
        """``count`` frames were delivered once more, to fill a gap."""
        if torch_compile.traces():
            return
        try:
            if 0 < count < _TOO_MANY:
                self._duplicated += count
                self._tell_delivery()
        except Exception:
            swallowed()

    def _tell_delivery(self) -> None:
        t_ns = monotonic_ns()
        out = outlet.current or outlet.start()
        if out is not None:
            out.event(
                pack.DELIVERY_LAYOUT, t_ns, self.number, self._delivered, self._dropped,
                self._duplicated,
            )  # fmt: skip

    def end(self, frames: Optional[int] = None) -> None:
        """The request is over.

        Args:
            frames: the total, where the program counts them itself.
        """
        t_ns = monotonic_ns()
        try:
            if not self._is_open:
                return
            self._is_open = False
            _open.pop(self.number, None)
            outlet.opened.pop(self.number, None)
            held = _held.get()
            if self in held:
                _held.set(tuple([request for request in held if request is not self]))
            out = outlet.current or outlet.start()
            if out is None:
                return
            torch_watch.at_end(out, self)
            if frames is None:
                out.event(pack.STREAM_END_UNCOUNTED_LAYOUT, t_ns, self.number)
            else:
                out.event(pack.STREAM_END_LAYOUT, t_ns, self.number, frames)
        except Exception:
            swallowed()

    def failed(self, error: BaseException) -> None:
        """An exception ended the request, or ran through one of its spans."""
        t_ns = monotonic_ns()
        try:
            out = outlet.current or outlet.start()
            # Told once, however many blocks it runs through. An error of a later frame is often
            # at the same address.
            told = (id(error), self._next_index)
            if out is not None and self._told != told:
                self._told = told
                out.message(
                    pack.FAILURE, t_ns, pack.clip(type(error).__name__, 100),
                    pack.clip(str(error), 1000), self.number, self._next_index,
                )  # fmt: skip
        except Exception:
            swallowed()

    @property
    def next_index(self) -> int:
        """The index of the frame to be emitted next."""
        return self._next_index

    def __enter__(self) -> Request:
        try:
            self._entered = True
            held = _held.get()
            if not held or held[-1] is not self:
                others = [request for request in held if request is not self]
                _held.set((*others, self))
        except Exception:
            swallowed()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if isinstance(error, Exception):
            self.failed(error)
        self.end()

    def __repr__(self) -> str:
        return "<probe request %s, %d frames>" % (self.id, self._next_index)


class CurrentSpan(Span):
    """A span of whatever request is open in the calling context when it is entered."""

    __slots__ = ()

    def _owner(self) -> Optional[Request]:
        return current_request()


unattributed: Request = Request("", 0)
"""Stands for open requests that cannot be told apart."""

_implicit: Optional[Request] = None


def open_request(id: Optional[str], params: Mapping[str, object], route: int = 0) -> Request:  # noqa: A002
    """A request was received; ``params`` go into the session.

    ``route`` is an index into the records' ``ROUTES``: who speaks for the program.
    """
    global _implicit
    t_ns = monotonic_ns()
    number = next(_numbers)
    request = Request(str(number), number, route)
    try:
        if _implicit is not None:
            _implicit.end()
            _implicit = None
        if id is not None:
            request.id = pack.clip(str(id), 200)
        _open[number] = request
        _held.set((*_held.get(), request))
        out = outlet.current or outlet.start()
        if out is not None:
            torch_watch.look()
            kept = pack.fitting(params, _PARAMS_SIZE)
            told = (t_ns, number, request.id, kept, route)
            out.message(pack.REQUEST_RECEIVED, *told)
            outlet.remember(told)
            torch_watch.between(out, t_ns)
    except Exception:
        swallowed()
    return request


def are_open() -> bool:
    """Whether the program has requests open, by calls of its own."""
    return bool(_open)


def request_apart(id: Optional[str], params: Optional[Mapping[str, object]], route: int) -> Request:  # noqa: A002
    """A request that another route tells of: the program's own calls do not meet it.

    Each route numbers its own from 1, above :data:`ROUTE_SHIFT` bits that say which route it is,
    so that the program's own requests have the numbers that they have without it. ``params``
    None: when it was received is not known, so nothing is said about it.
    """
    t_ns = monotonic_ns()
    nth = next(_apart.setdefault(route, count(1)))
    number = route << ROUTE_SHIFT | nth
    request = Request(str(nth) if id is None else pack.clip(id, 200), number, route)
    try:
        out = outlet.current or outlet.start()
        if out is not None and params is not None:
            torch_watch.look()
            kept = pack.fitting(params, _PARAMS_SIZE)
            told = (t_ns, number, request.id, kept, route)
            out.message(pack.REQUEST_RECEIVED, *told)
            outlet.remember(told)
            torch_watch.between(out, t_ns)
    except Exception:
        swallowed()
    return request


def current_request() -> Optional[Request]:
    """The request of the calling context: None, or :data:`unattributed` if it cannot be told."""
    held = _held.get()
    if held:
        last = held[-1]
        if last._is_open and (last._entered or len(held) == 1):
            return last
        live = [request for request in held if request._is_open]
        if live:
            last = live[-1]
            return last if last._entered or len(live) == 1 else unattributed
    if not _open:
        return None
    if len(_open) == 1:
        for request in list(_open.values()):
            return request
    return unattributed


def frame_of_current(count: int, index: Optional[int]) -> None:
    """A frame of the current request; where none is open, one is opened.

    When that request was received is not known, so nothing is said about it.
    """
    global _implicit
    request = current_request()
    if request is None:
        number = next(_numbers)
        request = _implicit = Request(str(number), number)
        _open[number] = request
    request.frame(count, index)


def _forget() -> None:
    """In a forked child: the parent serves these requests, not the child."""
    global _implicit
    _implicit = None
    for request in _open.values():
        request._is_open = False
    _open.clear()
    outlet.opened.clear()


outlet.on_fork.append(_forget)
