"""A map of the caching allocator's segments, taken between frames when somebody asks for it.

The question is a file beside the FIFO, ``FIFO.ask``, with a token and the time; its name is
looked for four times a second at most, at an emit, by one system call that keeps the GIL. The
answer is a file beside the FIFO, too: ``FIFO.map-TOKEN-PID.json``. So nothing interrupts the
program, and both sides reach the files by the same folder even across containers.
"""

# ruff: noqa: SLF001 (torch offers it in no other way)

from __future__ import annotations

import gc
import os
import stat
from time import monotonic_ns

from . import pack
from .outlet import ASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .outlet import Outlet

LOOK_NS = 250_000_000
GOOD_FOR_NS = 60_000_000_000
"""A question older than that was left behind by somebody who is gone."""
SCHEMA = 1
_MOST_TOKEN = 64
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW

next_look_ns = 0
_answered = ""


def look(out: Outlet, torch: Any, request: int, index: int, t_ns: int) -> None:
    """Answer the question, if there is a new one."""
    global next_look_ns, _answered
    next_look_ns = t_ns + LOOK_NS
    if not out.is_asked():
        return
    token = _question(out.fifo_path + ASK, t_ns)
    if token is None or token == _answered:
        return
    _answered = token
    began_ns = monotonic_ns()
    segments: List[Any] = []
    error = ""
    # Many small objects are made and dropped: a collection would find nothing, and take longer.
    collects = gc.isenabled()
    gc.disable()
    try:
        found = _snapshot(torch)
        segments = found["segments"]
        if not segments and _backend(torch) != "native":
            error = "%s keeps no segments of its own" % _backend(torch)
        else:
            path = "%s.map-%s-%d.json" % (out.fifo_path, token, out.pid)
            _write(path, _plain(found, torch, token, out.pid, began_ns))
    except Exception as failure:
        error = pack.clip("%s: %s" % (type(failure).__name__, failure), 300)
    finally:
        if collects:
            gc.enable()
    ended_ns = monotonic_ns()
    out.cost_ns += ended_ns - began_ns
    totals = [
        sum(int(segment.get(key, 0)) for segment in segments)
        for key in ("total_size", "allocated_size")
    ]
    known = not error
    out.message(
        pack.SEGMENT_MAP, ended_ns, request, index, ended_ns - began_ns, token,
        len(segments) if known else None, totals[0] if known else None,
        totals[1] if known else None, error,
    )  # fmt: skip


def _question(path: str, t_ns: int) -> Optional[str]:
    """The token of a fresh question; None where there is none, or it is not ours to answer."""
    try:
        fd = os.open(path, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (os.geteuid(), 0):
            return None
        words = os.read(fd, 256).decode("ascii", "replace").split()
    finally:
        os.close(fd)
    if len(words) != 2 or not words[1].isdigit() or abs(t_ns - int(words[1])) > GOOD_FOR_NS:
        return None
    token = words[0]
    plain = token.replace("-", "").replace("_", "")
    return token if len(token) <= _MOST_TOKEN and plain.isalnum() and plain.isascii() else None


def _backend(torch: Any) -> str:
    try:
        return str(torch._C._cuda_getAllocatorBackend())
    except Exception:
        return "native"


def _snapshot(torch: Any) -> Dict[str, Any]:
    """The allocator's segments; without the history of allocations where torch can leave it out."""
    call = getattr(torch._C, "_cuda_memorySnapshot", None)
    if call is not None:
        for arguments in (((0, 0, False),), (None,), ()):
            try:
                found = call(*arguments)
            except Exception:  # noqa: S112 (another torch takes other arguments)
                continue
            if isinstance(found, dict) and "segments" in found:
                return found
    return {"segments": torch.cuda.memory_snapshot()}


def _plain(found: Dict[str, Any], torch: Any, token: str, pid: int, t_ns: int) -> Dict[str, Any]:
    """What is written down: sizes, addresses and states; no stack traces."""
    settings = found.get("allocator_settings")
    return {
        "schema": SCHEMA,
        "token": token,
        "pid": pid,
        "t_ns": t_ns,
        "torch": str(getattr(torch, "__version__", "")),
        "backend": _backend(torch),
        "settings": settings if isinstance(settings, dict) else {},
        "segments": [
            {
                "device": segment.get("device"),
                "address": segment.get("address"),
                "total": segment.get("total_size"),
                "allocated": segment.get("allocated_size"),
                "active": segment.get("active_size"),
                "stream": segment.get("stream"),
                "kind": segment.get("segment_type"),
                "pool": segment.get("segment_pool_id"),
                "expandable": bool(segment.get("is_expandable", False)),
                "blocks": [
                    [block.get("size"), block.get("requested_size"), block.get("state")]
                    for block in segment.get("blocks", ())
                ],
            }
            for segment in found["segments"]
        ],
    }


def _write(path: str, content: Dict[str, Any]) -> None:
    """Write a file that appears whole or not at all."""
    import json

    data = json.dumps(content, separators=(",", ":"), default=str).encode()
    part = path + ".part"
    fd = os.open(part, _WRITE, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
    os.rename(part, path)


def forget() -> None:
    """In a forked child: nothing was answered yet."""
    global next_look_ns, _answered
    next_look_ns, _answered = 0, ""
