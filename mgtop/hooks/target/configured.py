"""Configured hooks as they are handed to a program: one text in its environment."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List, Mapping, Optional, Tuple

EVENTS = (
    "frame_emit", "request_received", "preprocess_done", "stream_end", "load", "load_begin",
    "load_done", "action", "user_wait", "mark",
)  # fmt: skip
"""What a hook can tell of."""

FIELDS = ("target", "event", "span", "count", "request", "when", "every")
EXPRESSIONS = ("count", "request", "when")

_FIELD, _HOOK = "\x1f", "\x1e"  # the separators of ASCII: in no name and no expression


class Configured:
    """One hook. ``every`` is a number; texts are empty where nothing is given."""

    __slots__ = FIELDS

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.target: str = fields.get("target", "")
        self.event: str = fields.get("event", "")
        self.span: str = fields.get("span", "")
        self.count: str = fields.get("count", "")
        self.request: str = fields.get("request", "")
        self.when: str = fields.get("when", "")
        self.every: int = int(fields.get("every") or 1)

    @property
    def module(self) -> str:
        """The module that it is in."""
        return self.target.partition(":")[0]

    @property
    def names(self) -> List[str]:
        """What leads from the module to the function."""
        return self.target.partition(":")[2].split(".")


def written(source: str, hooks: Iterable[Mapping[str, str]]) -> str:
    """``frames.from`` and the hooks as one text, for :func:`taken`."""
    rows = [_FIELD.join(str(hook.get(name) or "") for name in FIELDS) for hook in hooks]
    return _HOOK.join([source, *rows])


def taken(text: str) -> Tuple[str, List[Configured]]:
    """What :func:`written` wrote."""
    source, *rows = text.split(_HOOK)
    hooks = [
        Configured(dict(zip(FIELDS, row.split(_FIELD))))  # noqa: B905 (Python 3.8)
        for row in rows
    ]
    return source, hooks


def problem(hook: Mapping[str, Optional[str]], running: bool = False) -> Optional[Tuple[str, str]]:
    """What is wrong with a hook's texts: the key and a sentence. None: nothing, as far as is seen.

    Whether there is such a function is known only where it runs. ``running``: the program does
    already, so the functions of its script are there.
    """
    found = _target_problem(hook.get("target") or "", running)
    if found:
        return "target", found
    event = hook.get("event")
    if not event and not hook.get("span"):
        return "target", "says neither an event nor a span; add event: frame_emit, or span: NAME"
    if event and event not in EVENTS:
        return "event", "is %r, but must be one of %s" % (event, ", ".join(EVENTS))
    for key in EXPRESSIONS:
        text = hook.get(key)
        if text is None:
            continue
        from .expressions import Wrong, read  # not needed where no hook is configured

        if key == "count" and event != "frame_emit":
            return key, "is only for event: frame_emit"
        try:
            read(text)
        except Wrong as error:
            at = " (column %d)" % error.column if error.column else ""
            return key, "%r cannot be used: %s%s" % (text, error, at)
    for key in FIELDS:
        if any(sign in str(hook.get(key) or "") for sign in (_FIELD, _HOOK, "\0")):
            return key, "holds a control character"
    return None


def _target_problem(target: str, running: bool) -> str:
    module, colon, path = target.partition(":")
    names = [*module.split("."), *path.split(".")]
    if not colon or not all(name.isidentifier() for name in names):
        return "is %r, but must be package.module:function or package.module:Class.method" % target
    if module == "__main__" and not running:
        return (
            "is in __main__, whose functions are not there before it runs; name what the script "
            "imports instead"
        )
    return ""
