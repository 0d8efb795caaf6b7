"""torch's compilations, by the callbacks it offers, once the program has imported Dynamo.

And how the probe keeps out of compiled code: while torch traces a function, the probe's calls in
it do nothing and trace to nothing. Else each would break the graph, or make ``fullgraph=True``
fail.
"""

from __future__ import annotations

from _thread import get_ident
from time import monotonic_ns

from . import outlet, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping


def _never() -> bool:
    return False


traces: Callable[[], bool] = _never
"""Whether torch is tracing the caller. Only torch's own function is known to its tracer as
constant, so it stands here as soon as the program has imported torch. It is the one that says
False in all code that runs: ``is_compiling`` is True in every thread while one compiles, and
frames of the others would be lost."""

compiles: int = 0
"""Compilations, graph recordings and the like that have started."""

_registered = False
_began_ns: Dict[int, int] = {}


def register(modules: Mapping[str, Any]) -> None:
    """Ask for the callbacks, if Dynamo is there (torch 2.5 and later) and was not asked yet."""
    global _registered, traces
    if traces is _never:
        compiler = modules.get("torch.compiler")
        older = getattr(compiler, "is_compiling", _never)  # torch 2.1
        traces = getattr(compiler, "is_dynamo_compiling", older)
    if _registered:
        return
    handler = getattr(modules.get("torch._dynamo.callback"), "callback_handler", None)
    if handler is not None:
        _registered = True
        try:
            handler.register_start_callback(_on_start)
            handler.register_end_callback(_on_end)
        except Exception:
            outlet.swallowed()


def _on_start(*_: Any) -> None:
    global compiles
    try:
        compiles += 1
        _began_ns[get_ident()] = monotonic_ns()
    except Exception:
        outlet.swallowed()


def _on_end(*arguments: Any) -> None:
    t_ns = monotonic_ns()
    try:
        began_ns = _began_ns.pop(get_ident(), None)
        out = outlet.current
        if out is None or began_ns is None:
            return
        what = ""
        if arguments:
            trigger = getattr(getattr(arguments[0], "callback_trigger", None), "name", "compile")
            what = "%s %s" % (trigger.lower(), getattr(arguments[0], "compile_id", ""))
        out.message(pack.COMPILE, t_ns, t_ns - began_ns, pack.clip(what, 200))
    except Exception:
        outlet.swallowed()
