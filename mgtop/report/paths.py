"""The keys of ``report --json`` as dotted paths: which exist, and what stands there.

A path is keys and list positions joined by dots: ``interval_ms.p95``, ``tails.count``,
``requests.0.first_frame_ms``, ``interval_ms_by_count.12.p95``.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Any, get_args

import msgspec.inspect as inspect

from mgtop.analysis.summary import Stage, Summary

CAUSES = (
    "alloc_retry",
    "oom",
    "spill",
    "supply",
    "gc",
    "compile",
    "compute",
    "throttle",
    "neighbour",
    "cpu_contention",
    "blocked",
    "queue",
    "output",
    "observer",
    "unexplained",
)
"""Names under ``causes``; one is listed in a report only where a tail has it."""

STAGES: tuple[str, ...] = get_args(Stage)


class UnknownKey(ValueError):
    """The report has no such key; the message names the nearest ones."""


@cache
def known_paths() -> tuple[str, ...]:
    """All paths of the report, with ``N`` for list positions and free keys."""
    paths: list[str] = []
    _collect(inspect.type_info(Summary), "", paths)
    return tuple(paths)


def check_number(path: str) -> tuple[str, ...]:
    """Split a path into its keys.

    Raises:
        UnknownKey: a report can never have it, or what stands there is no number.
    """
    keys = tuple(path.split("."))
    at: inspect.Type = inspect.type_info(Summary)
    for depth, key in enumerate(keys):
        at = _without_null(at)
        where = ".".join(keys[:depth])
        if isinstance(at, inspect.StructType):
            fields = {field.encode_name: field.type for field in at.fields}
            if key not in fields:
                raise UnknownKey(_not_found(path, key, where, list(fields)))
            at = fields[key]
        elif isinstance(at, inspect.DictType):
            _check_free_key(path, key, where)
            at = at.value_type
        elif isinstance(at, inspect.ListType):
            if not key.isascii() or not key.isdigit():
                raise UnknownKey(
                    f"{where!r} in {path!r} is a list: give a position, as in {where}.0."
                )
            at = at.item_type
        elif not isinstance(at, inspect.AnyType):
            raise UnknownKey(f"{where!r} is a single value, so there is no {path!r}.")
    at = _without_null(at)
    _refuse_groups(path, at)
    if isinstance(at, (inspect.StrType, inspect.LiteralType)):
        raise UnknownKey(f"{path!r} is text, not a number.")
    return keys


def value_at(report: Any, keys: tuple[str, ...]) -> Any:
    """What stands at a path in the report as plain data; None where nothing does."""
    at = report
    for key in keys:
        if isinstance(at, dict):
            at = at.get(key)
        elif isinstance(at, list):
            position = int(key)
            at = at[position] if position < len(at) else None
        else:
            return None
    return at


def _without_null(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        if len(others) == 1:
            return others[0]
    return kind


def _check_free_key(path: str, key: str, where: str) -> None:
    """Names under ``causes`` and ``memory.stages`` are fixed, emit sizes are numbers."""
    names = {"causes": CAUSES, "memory.stages": STAGES}.get(where)
    if names is not None and key not in names:
        raise UnknownKey(_not_found(path, key, where, list(names)))
    if where == "interval_ms_by_count" and not (key.isascii() and key.isdigit()):
        raise UnknownKey(f"{where!r} has emit sizes as keys, so there is no {key!r} in it.")


def _refuse_groups(path: str, kind: inspect.Type) -> None:
    inside: list[str] = []
    if isinstance(kind, inspect.StructType):
        inside = [field.encode_name for field in kind.fields]
    elif isinstance(kind, (inspect.DictType, inspect.ListType)):
        inside = ["0" if isinstance(kind, inspect.ListType) else "NAME"]
    if inside:
        shown = ", ".join(f"{path}.{key}" for key in inside[:4])
        raise UnknownKey(f"{path!r} is a group of values: use one of them, as {shown}.")


def _collect(kind: inspect.Type, prefix: str, paths: list[str]) -> None:
    kind = _without_null(kind)
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            _collect(field.type, f"{prefix}{field.encode_name}.", paths)
    elif isinstance(kind, inspect.DictType):
        _collect(kind.value_type, f"{prefix}N.", paths)
    elif isinstance(kind, inspect.ListType):
        _collect(kind.item_type, f"{prefix}N.", paths)
    else:
        paths.append(prefix.removesuffix("."))


def _not_found(path: str, key: str, where: str, keys: list[str]) -> str:
    near = [f"{where}.{name}" if where else name for name in get_close_matches(key, keys, n=3)]
    if not near and not where:
        fixed = [name for name in known_paths() if ".N." not in name]
        near = [name for name in fixed if name.endswith("." + key)][:3]
        near = near or get_close_matches(path, fixed, n=3, cutoff=0.5)
    inside = f" in {where!r}" if where else ""
    hint = f" Did you mean {' or '.join(near)}?" if near else f" There are: {', '.join(keys)}."
    return f"The report has no key {key!r}{inside}.{hint}"
