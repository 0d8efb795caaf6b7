"""What a smoke test sees from inside: weights as they are read, the model's work, GPU time.

Only loaded where ``MGTOP_SMOKE`` names a file for what is seen (one JSON object a line). Here,
and nowhere else, the GPU is waited for at the borders of spans, loads, frames and of the model's
outermost calls, so that host-side times are the GPU's as well. Standard library only.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic_ns

from . import natures
from .importing import when_imported
from .wrapping import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

VARIABLE = "MGTOP_SMOKE"
WEIGHTS = (
    ".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".gguf", ".onnx", ".engine", ".npz", ".msgpack",
)  # fmt: skip
"""Endings of files that hold weights."""
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
_MOST_CALLS = 20_000

_file = -1
_pid = 0
_path = ""
_hooks: List[Any] = []
_begun: Dict[int, List[Tuple[int, int]]] = {}
_calls = 0


def watch(path: str) -> None:
    """Begin to watch this process.

    Args:
        path: the file that what is seen is appended to.
    """
    global _path
    _path = path
    sys.addaudithook(_audit)
    when_imported("torch", _torch)
    when_imported("torch.serialization", _serialization)
    when_imported("torch.nn.modules.module", _modules)
    when_imported("safetensors.torch", _safetensors)
    when_imported("mgtop.probe.spans", _spans)
    when_imported("mgtop.probe.requests", _requests)
    when_imported("mgtop.probe", _probe)


def synchronise() -> None:
    """Wait for the GPU, where the program uses one; never while it captures a graph."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        if (
            cuda is not None
            and cuda.is_initialized()
            and not natures.traces()
            and not cuda.is_current_stream_capturing()
        ):
            cuda.synchronize()
    except Exception:  # an error of the GPU's is the program's to meet
        pass


def _tell(what: str, **fields: Any) -> None:
    global _file, _pid
    try:
        import json

        if _file < 0 or _pid != os.getpid():
            _file = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            _pid = os.getpid()
        line = json.dumps(dict(fields, what=what, pid=_pid, t_ns=monotonic_ns()))
        os.write(_file, line.encode() + b"\n")
    except Exception:
        pass


# -------------------------------------------------------------------------- weights


def _audit(event: str, args: Tuple[Any, ...]) -> None:
    """Python's own ``open``: of weights for reading, of a picture for writing."""
    if event != "open":
        return
    try:
        path, mode = args[0], args[1]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return
        name = path.lower()
        writes = (
            any(sign in mode for sign in "wax+")
            if isinstance(mode, str)
            else bool(args[2] & (os.O_WRONLY | os.O_RDWR))
        )
        if writes and name.endswith(PICTURES):
            _tell("writing", path=os.path.abspath(path))
        elif not writes and name.endswith(WEIGHTS):
            _tell("opened", path=os.path.abspath(path), bytes=os.stat(path).st_size)
    except Exception:
        pass


def _serialization(module: Any) -> None:
    wrap(module, "load", _loading, _loaded, _load_failed)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "load"):
        wrap(torch, "load", _loading, _loaded, _load_failed)


def _safetensors(module: Any) -> None:
    for name in ("load_file", "load_model"):
        if hasattr(module, name):
            wrap(module, name, _loading, _loaded, _load_failed)


def _loading(args: Any, kwargs: Any) -> int:
    synchronise()
    return monotonic_ns()


def _subject(args: Any, kwargs: Any) -> str:
    """The file that a loading function was given."""
    for value in [*args, *kwargs.values()]:
        if isinstance(value, (str, os.PathLike)):
            return os.path.abspath(os.fspath(value))
        name = getattr(value, "name", None)
        if isinstance(name, str):
            return os.path.abspath(name)
    return ""


def _loaded(begin_ns: int, args: Any, kwargs: Any, result: Any) -> None:
    synchronise()
    end_ns = monotonic_ns()
    path = _subject(args, kwargs)
    size = os.stat(path).st_size if path and os.path.exists(path) else None
    _tell("loaded", path=path, bytes=size, begin_ns=begin_ns, end_ns=end_ns)


def _load_failed(begin_ns: int, args: Any, kwargs: Any, error: BaseException) -> None:
    text = "%s: %s" % (type(error).__name__, error)
    _tell("load_failed", path=_subject(args, kwargs), text=" ".join(text.split())[:300])


# ----------------------------------------------------------------------- the model's work


def _torch(module: Any) -> None:
    """What is compiled is not to be looked into: a hook would be traced, or break the graph."""
    wrap(module, "compile", _compiled)
    if hasattr(module, "load"):
        wrap(module, "load", _loading, _loaded, _load_failed)


def _compiled(args: Any, kwargs: Any) -> None:
    if _hooks:
        for hook in _hooks:
            hook.remove()
        del _hooks[:]
        _tell("compiled")


def _modules(module: Any) -> None:
    _hooks.append(module.register_module_forward_pre_hook(_before))
    try:
        hook = module.register_module_forward_hook(_after, always_call=True)
    except TypeError:  # torch before 2.1
        hook = module.register_module_forward_hook(_after)
    _hooks.append(hook)


def _before(module: Any, args: Any) -> None:
    stack = _begun.setdefault(get_ident(), [])
    if not stack:
        synchronise()
    stack.append((id(module), monotonic_ns()))


def _after(module: Any, args: Any, result: Any) -> None:
    global _calls
    stack = _begun.get(get_ident(), [])
    while stack:
        number, begin_ns = stack.pop()
        if number == id(module):
            break
    else:
        return
    if not stack and _calls < _MOST_CALLS:
        synchronise()
        _calls += 1
        _tell("call", name=type(module).__name__, begin_ns=begin_ns, end_ns=monotonic_ns())


# ------------------------------------------------------------------------ the probe's borders


def _border(args: Any, kwargs: Any) -> None:
    synchronise()


def _spans(module: Any) -> None:
    wrap(module.Span, "__enter__", _border)
    wrap(module.Span, "__exit__", _border)


def _requests(module: Any) -> None:
    for name in ("frame", "preprocess_done", "end"):
        if hasattr(module.Request, name):
            wrap(module.Request, name, _border)


def _probe(module: Any) -> None:
    for name in ("load_begin", "load_done"):
        if hasattr(module, name):
            wrap(module, name, _border)
