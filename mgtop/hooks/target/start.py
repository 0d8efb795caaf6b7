"""The one entry: what is hooked in this process, from its start on or from now on."""

from __future__ import annotations

import os

from . import importing, natures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from .configured import Configured

VARIABLE = "MGTOP_HOOKS"
"""Environment variable that holds the settings."""

SMOKE_VARIABLE = "MGTOP_SMOKE"
"""A smoke test's own: the file for what it sees."""

_started = False


def start(settings: Optional[str] = None, late: bool = False) -> None:
    """Install hooks, sinks and what tells of a person's input. Done twice, it is done once.

    Nothing is sent and nothing is opened before one of them has something to tell.

    Args:
        settings: as :func:`configured.written` gives them; None: what the environment holds.
        late: the program runs already, so functions may have been imported by name.
    """
    global _started
    text = os.environ.get(VARIABLE, "auto") if settings is None else settings
    if _started:
        if late:  # by somebody who has other hooks than those it was started with
            _install_hooks(text, late)
        return
    _started = True
    importing.when_imported("torch.compiler", _know_tracing)
    importing.when_imported("torch._dynamo.callback", _count_compilations)
    from . import actions

    actions.watch()
    if os.environ.get(SMOKE_VARIABLE):
        from . import smoke_watch

        smoke_watch.watch(os.environ[SMOKE_VARIABLE])
    source = _install_hooks(text, late)
    if source in ("auto", "sinks"):
        from . import sinks

        sinks.watch(late)
        if source == "sinks":
            from .sinks import counting

            counting.asked_for = True


def _install_hooks(text: str, late: bool) -> str:
    """Install what is configured; where frames are to come from."""
    if text.isalpha():
        return text
    from .configured import taken
    from .hooking import install

    source, hooks = taken(text)
    wanted = source in ("auto", "hooks")
    install([hook for hook in hooks if wanted or _only_span(hook)], late)
    return source


def _only_span(hook: Configured) -> bool:
    """Strip a hook of its event, where frames are taken from elsewhere; False: nothing is left."""
    if hook.event in ("frame_emit", "request_received", "preprocess_done", "stream_end"):
        hook.event = hook.count = ""
    return bool(hook.event or hook.span)


def _know_tracing(module: Any) -> None:
    """Torch is there: wrappers step aside while it traces."""
    found = getattr(module, "is_dynamo_compiling", None) or getattr(module, "is_compiling", None)
    if found is not None:
        natures.traces = found


def _count_compilations(module: Any) -> None:
    """The compiler is there: what it compiles before the first frame counts, too."""
    from mgtop.probe import torch_watch

    torch_watch.look()
