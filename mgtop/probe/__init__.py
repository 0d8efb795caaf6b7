"""The probe: what a program tells mgtop about its frames.

::

    from mgtop import probe

    with probe.request("7f3a", width=1280, height=720, steps=24, fps=16) as r:
        with r.span("decode"): ...
        r.preprocess_done()
        for frames in generate():
            r.frame(count=len(frames))

Standard library only, Python 3.8 and later. It makes no thread and takes no lock, never blocks,
and never raises into the program. Nothing happens before the first call; with
``MGTOP_PROBE=off`` nothing happens at all. ``docs/probe.md`` tells what it costs and how to
measure that.
"""

from __future__ import annotations

from time import monotonic_ns

from . import outlet as _outlet
from . import pack as _pack
from . import torch_compile as _torch_compile
from . import torch_watch as _torch_watch
from .requests import CurrentSpan, Request, frame_of_current, open_request
from .spans import Span, Waiting
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

__version__ = VERSION

__all__ = [
    "Request",
    "Span",
    "Waiting",
    "__version__",
    "frame",
    "load_begin",
    "load_done",
    "mark",
    "queue",
    "request",
    "span",
    "waiting",
]


def request(id: Optional[str] = None, /, **params: object) -> Request:  # noqa: A002
    """A request was received: the clock of its first frame starts now.

    Use the result in a ``with`` statement, or call its :meth:`~Request.end`.

    Args:
        id: how the program calls it; by default the number of the request.
        **params: its parameters, such as ``width=1280, steps=24, fps=16``; they are stored in
            the session. Numbers, texts, lists and dicts; of other objects only the type is told.
    """
    return open_request(id, params)


def frame(count: int = 1, index: Optional[int] = None) -> None:
    """``count`` frames of the current request were written to the output together.

    Where no request is open, one is opened, whose time of arrival is not known.

    Args:
        count: how many; nothing is sent where it is below 1.
        index: the index of the first of them; by default it follows the frames before.
    """
    if _torch_compile.traces():
        return
    try:
        frame_of_current(count, index)
    except Exception:
        _outlet.swallowed()


def span(name: str, index: Optional[int] = None, gpu: Optional[bool] = None) -> Span:
    """A named piece of work of the current request, or of none: ``with probe.span("encode"):``.

    Args:
        name: as in :meth:`Request.span`.
        index: the frame that the work is for; by default the next one to be emitted.
        gpu: whether to measure it on the GPU's own time line too; by default for ``forward``
            and ``vae_decode``.
    """
    return CurrentSpan(name, None, index, gpu)


def waiting() -> Waiting:
    """A person is waited for: ``with probe.waiting(): input()``. It counts in no interval."""
    return Waiting()


def load_begin() -> None:
    """Loading of weights begins."""
    _tell(_pack.LOAD, False)


def load_done() -> None:
    """Weights are loaded; what memory is in use now is resident."""
    _tell(_pack.LOAD, True, read_memory=True)


def mark(text: str) -> None:
    """Put a note on the time axis."""
    _tell(_pack.MARK, text)


def queue(name: str, depth: int, capacity: int = 0, dropped: int = 0) -> None:
    """The state of a named queue, after it changed.

    Args:
        name: ``prefetch``, ``frames``, or any name.
        depth: what is in it now.
        capacity: what fits (0: no limit).
        dropped: how many items were thrown away so far.
    """
    if _torch_compile.traces():
        return
    t_ns = monotonic_ns()
    try:
        out = _outlet.current or _outlet.start()
        if out is not None:
            number = out.number_of(name, t_ns)
            out.event(_pack.QUEUE_LAYOUT, t_ns, number, depth, capacity, dropped)
    except Exception:
        _outlet.swallowed()


def _tell(tag: int, value: object, read_memory: bool = False) -> None:
    if _torch_compile.traces():
        return
    t_ns = monotonic_ns()
    try:
        out = _outlet.current or _outlet.start()
        if out is not None:
            out.message(tag, t_ns, value if tag == _pack.LOAD else _pack.clip(str(value), 3800))
            if read_memory:
                _torch_watch.between(out, t_ns, at_once=True)
    except Exception:
        _outlet.swallowed()
