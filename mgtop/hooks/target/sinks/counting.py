"""Counting at the sinks: the outermost call counts, once; how long it took is a span.

Libraries stand upon each other: diffusers' export writes through imageio, that through a pipe
into ffmpeg. While a sink's call runs, those inside it (same thread, or same asyncio task) are
silent. Each output - a writer, a connection, a pipe - is one request of the route ``sinks``.
"""

from __future__ import annotations

import sys
from _weakref import ref
from contextvars import ContextVar
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, Tuple

SINKS = 2
"""The route: a place in the records' ``ROUTES``."""
MOST_OUTPUTS = 256
"""Of objects that cannot say when they go, no more than so many are remembered."""


_forks = 0
"""Forks that led to this process since the first frame: its requests are its own."""
_counts_forks = False


def _see_to_forks() -> None:
    global _counts_forks
    if not _counts_forks:
        _counts_forks = True
        from mgtop.probe import outlet

        outlet.on_fork.append(_forked)


def _forked() -> None:
    global _forks
    _forks += 1


class Output:
    """Something of the program that takes frames.

    Attributes:
        name: what it is, as ``cv2.VideoWriter``.
        params: ``width``, ``height``, ``fps``, as far as the program says them.
        whole: it takes complete clips: when their frames were made, it cannot know.
    """

    __slots__ = ("_forks", "_request", "name", "params", "whole")

    def __init__(
        self, name: str, params: Optional[Mapping[str, object]] = None, whole: bool = False
    ) -> None:
        self.name = name
        self.params: Dict[str, object] = dict(params or {})
        self.whole = whole
        self._request: Any = None
        self._forks = _forks

    @property
    def opened(self) -> Any:
        """Its request in this process; None before the first frame."""
        return self._request if self._forks == _forks else None

    def request(self) -> Any:
        """Its request; opened, and told of, at the first frame."""
        if self.opened is None:
            self._forks = _forks
            from mgtop.probe import outlet, pack
            from mgtop.probe.requests import request_apart

            _see_to_forks()
            self._request = request = request_apart(None, None, SINKS)
            out = outlet.current or outlet.start()
            if out is not None:
                params = pack.fitting(self.params, 2000)
                out.message(
                    pack.SINK, monotonic_ns(), request.number, pack.clip(self.name, 200),
                    self.whole, params,
                )  # fmt: skip
        return self._request

    def frames(self, count: int) -> None:
        """So many frames have left through it."""
        if count > 0:
            self.request().frame(count)

    def end(self) -> None:
        """It takes no more. Another use of the same object is another request."""
        request, self._request = self.opened, None
        if request is not None:
            request.end()


class Call:
    """A call of a sink that is under way; the outermost one of its thread or task."""

    __slots__ = ("open", "output", "owners", "span")

    def __init__(self) -> None:
        self.open = True
        self.owners: Any = ()
        self.output: Optional[Output] = None
        self.span: Any = None


_outermost: ContextVar[Optional[Call]] = ContextVar("mgtop_sink", default=None)
_span_class: Any = None

asked_for = False
"""Frames are to be taken from sinks, whatever else tells of them."""


def enter(output: Optional[Output] = None, span: Optional[str] = "write") -> Optional[Call]:
    """A sink's call begins. None: it stands inside another one, which counts.

    What the program tells by itself is not told again: its frames, where it has a request of its
    own open by the probe; the call's time, inside a span of the same kind.

    Args:
        output: whose frames it takes; None where only its time is of interest.
        span: the name of its time, ``write`` or ``encode``; None where it waits for other
            things than the output.
    """
    outer = _outermost.get()
    if outer is not None and outer.open:
        return None
    call = Call()
    own_frames, own_time = _told_by_the_program()
    call.output = None if own_frames else output
    _outermost.set(call)
    if span is not None and not own_time:
        # Kept out of the class: a span holds the time of its beginning.
        call.span = (_span_class or _make_span_class())(span, output)
        call.span.__enter__()
    return call


def _told_by_the_program() -> Tuple[bool, bool]:
    """Whether it tells of its frames, and of the time that this thread spends on output."""
    requests, outlet = (sys.modules.get("mgtop.probe." + name) for name in ("requests", "outlet"))
    if requests is None or outlet is None or outlet.current is None:
        return False, False
    return not asked_for and requests.are_open(), outlet.current.thread().outputs > 0


def leave(call: Optional[Call], count: int = 0) -> None:
    """The call that :func:`enter` gave has returned, and ``count`` frames were taken."""
    if call is None:
        return
    call.open = False
    if call.span is not None:
        call.span.__exit__(None, None, None)
    if count > 0 and call.output is not None:
        call.output.frames(count)


def failed(call: Any, args: Any, kwargs: Any, error: BaseException) -> None:
    """The call raised: it took no frame. In the shape of ``wrap``'s callback."""
    leave(call)


def _make_span_class() -> Any:
    """Spans belong to the request that the program or its hooks have open, else to the sink's."""
    global _span_class
    from mgtop.probe.requests import current_request
    from mgtop.probe.spans import Span

    from .. import emitting

    class SinkSpan(Span):
        __slots__ = ("_output",)

        def __init__(self, name: str, output: Optional[Output]) -> None:
            Span.__init__(self, name, None)
            self._output = output

        def _owner(self) -> Any:
            owner = current_request() or emitting.request_of(emitting.HOOKS)
            if owner is None and self._output is not None:
                owner = self._output.opened
            return owner

    _span_class = SinkSpan
    return SinkSpan


class Outputs:
    """The outputs of one kind, each found by the object that the program holds."""

    def __init__(self) -> None:
        self._by_id: Dict[int, Tuple[Any, Output]] = {}

    def find(self, owner: Any) -> Optional[Output]:
        """The output of an object; None where it has none yet."""
        known = self._by_id.get(id(owner))
        if known is None:
            return None
        reference, output = known
        if reference is not None and reference() is not owner:
            self._by_id.pop(id(owner), None)  # another object has got its place in memory
            return None
        return output

    def add(self, owner: Any, output: Output) -> Output:
        """Remember the output of an object, until that goes or :meth:`end` is called."""
        self.end(owner)
        key = id(owner)
        try:
            reference: Any = ref(owner, self._gone(key))
        except TypeError:
            reference = None
            if len(self._by_id) >= MOST_OUTPUTS:
                self._by_id.pop(next(iter(self._by_id)))[1].end()
        self._by_id[key] = (reference, output)
        return output

    def get(self, owner: Any, make: Callable[[Any], Output]) -> Output:
        """The output of an object; ``make(object)`` makes it where it has none yet."""
        return self.find(owner) or self.add(owner, make(owner))

    def end(self, owner: Any) -> None:
        """The object takes no more frames."""
        known = self._by_id.pop(id(owner), None)
        if known is not None:
            known[1].end()

    def _gone(self, key: int) -> Callable[[Any], None]:
        def gone(reference: Any) -> None:
            try:
                known = self._by_id.get(key)
                if known is not None and known[0] is reference:
                    del self._by_id[key]
                    known[1].end()
            except Exception:
                pass  # at the interpreter's end, anything may be gone

        return gone


def ends(outputs: Outputs) -> Callable[[Any, Any, Any, Any], None]:
    """For ``wrap``'s ``after``: the object whose method it was takes no more frames."""

    def after(token: Any, args: Any, kwargs: Any, result: Any) -> None:
        outputs.end(args[0])

    return after


def length(frames: Any) -> Optional[int]:
    """How many frames a clip holds, by its first dimension; None where it does not say."""
    shape = getattr(frames, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    try:
        return len(frames)
    except TypeError:
        return None


def argument(args: Any, kwargs: Any, place: int, name: str, default: Any = None) -> Any:
    """An argument of a call, by its place or by its name."""
    if len(args) > place:
        return args[place]
    return kwargs.get(name, default)


def whole_number(value: Any) -> Optional[int]:
    """``value`` where it is a number above 0, as whole number."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number > 0 else None


def size_and_rate(width: Any, height: Any, fps: Any) -> Dict[str, object]:
    """The parameters of an output, without what is not known."""
    size = {"width": whole_number(width), "height": whole_number(height)}
    params: Dict[str, object] = {name: n for name, n in size.items() if n is not None}
    try:
        rate = float(fps)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return params
    if 0 < rate < 10_000:
        params["fps"] = rate
    return params
