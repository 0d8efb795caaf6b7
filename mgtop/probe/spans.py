"""Named pieces of work, and waiting for a person."""

from __future__ import annotations

from _thread import get_ident
from time import monotonic_ns

from . import names, outlet, pack, torch_compile, torch_watch
from .outlet import TIMED, swallowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, Optional, Tuple, Type

    from .requests import Request

    # begin_ns, request, index, cpu_ns, run_delay_ns, CUDA event pair, the entry around this one
    Begun = Tuple[int, Optional[Request], int, int, Optional[int], Any, Any]

LONG_NS = 1_000_000
"""Spans that take as long as this carry the thread's CPU time and run-queue delay."""

FRESH_NS = 50_000
"""A reading of the thread's times no older than this serves as the one at a span's start."""

ON_GPU = ("forward", "vae_decode")
"""Spans that are measured on the GPU's time line too, unless said otherwise."""

OUTPUT = ("encode", "write")
"""Spans of the way out. A thread counts those it has open (``ThreadContext.outputs``), so that
what mgtop finds in there by itself is not told as well."""

_enters = 0


class Span:
    """A piece of work, timed from entering to leaving the ``with`` block.

    The object may be used again, nested in itself, and from several threads at once; each
    thread's times are its own.
    """

    __slots__ = ("_begun", "_gpu", "_index", "_request", "name")

    name: str
    """What the work is called."""

    def __init__(
        self,
        name: str,
        request: Optional[Request],
        index: Optional[int] = None,
        gpu: Optional[bool] = None,
    ) -> None:
        self.name = name
        self._request = request
        self._index = index
        self._gpu = name in ON_GPU if gpu is None else gpu
        self._begun: Dict[int, Begun] = {}

    def _owner(self) -> Optional[Request]:
        return self._request

    def __enter__(self) -> Span:
        global _enters
        if torch_compile.traces():
            return self
        t_ns = monotonic_ns()
        try:
            out = outlet.current or outlet.start()
            if out is None:
                return self
            request = self._owner()
            index = self._index
            if index is None:
                index = -1 if request is None else request.next_index
            if len(torch_watch.modules) != torch_watch.seen:
                torch_watch.look()
            thread = out.thread()
            if t_ns - thread.read_ns > FRESH_NS:
                thread.read(t_ns)
            pair = None
            if self._gpu and request is not None:
                pair = torch_watch.begin_pair(out, thread, request)
            me = get_ident()
            begun = self._begun
            if self.name in OUTPUT:
                thread.outputs += 1
            _enters += 1
            begin_ns = monotonic_ns()
            if not _enters % TIMED:
                out.took(begin_ns - t_ns)
            begun[me] = (
                begin_ns, request, index, thread.cpu_ns, thread.run_delay_ns, pair, begun.get(me),
            )  # fmt: skip
        except Exception:
            swallowed()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if torch_compile.traces():
            return
        t_ns = monotonic_ns()
        try:
            out = outlet.current
            if out is None or not self._begun:
                return
            me = get_ident()
            begun = self._begun.pop(me, None)
            same_thread = begun is not None
            if begun is None:
                me, begun = self._begun.popitem()
            begin_ns, request, index, cpu_ns, delay_ns, pair, around = begun
            if around is not None:
                self._begun[me] = around
            if pair is not None:
                torch_watch.end_pair(out, pair)
            name = names.numbers.get(self.name)
            if name is None:
                name = out.number_of(self.name, t_ns)
            number = 0 if request is None else request.number
            duration_ns = t_ns - begin_ns
            thread = out.thread()
            if same_thread and thread.outputs and self.name in OUTPUT:
                thread.outputs -= 1
            seq = out.next_seq()
            if duration_ns < LONG_NS or not same_thread:
                message = pack.pack_span(thread.who, t_ns, seq, number, index, name, duration_ns)
            else:
                thread.read(t_ns)
                # The first reading was taken a little before the beginning.
                cpu_ns = min(thread.cpu_ns - cpu_ns, duration_ns)
                if thread.run_delay_ns is None or delay_ns is None:
                    message = pack.SPAN_CPU_LAYOUT.pack(
                        thread.who, t_ns, seq, number, index, name, duration_ns, cpu_ns,
                        thread.cpu_ns,
                    )  # fmt: skip
                else:
                    delay_ns = min(thread.run_delay_ns - delay_ns, duration_ns)
                    message = pack.SPAN_FULL_LAYOUT.pack(
                        thread.who, t_ns, seq, number, index, name, duration_ns, cpu_ns, delay_ns,
                        thread.cpu_ns, thread.run_delay_ns,
                    )  # fmt: skip
            out.put(message, t_ns, seq)
            if self._gpu and request is not None:
                torch_watch.after_span(out, request, name, duration_ns, t_ns)
            if error is not None and request is not None and is_out_of_memory(error):
                request.failed(error)
        except Exception:
            swallowed()

    def __repr__(self) -> str:
        return "<probe span %s>" % self.name


class Waiting:
    """A person is waited for, from entering to leaving the ``with`` block."""

    __slots__ = ("_begin_ns",)

    def __init__(self) -> None:
        self._begin_ns = 0

    def __enter__(self) -> Waiting:
        self._begin_ns = monotonic_ns()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        t_ns = monotonic_ns()
        try:
            out = outlet.current or outlet.start()
            if out is not None and self._begin_ns:
                out.event(pack.WAIT_LAYOUT, t_ns, t_ns - self._begin_ns)
        except Exception:
            swallowed()


def is_out_of_memory(error: BaseException) -> bool:
    """Python's own, torch's ``OutOfMemoryError``, or older torch's ``RuntimeError``."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and "out of memory" in str(error))
    )
