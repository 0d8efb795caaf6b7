"""What msgspec found wrong, in everyday words: the key, what it must be, and what it is."""

from __future__ import annotations

import difflib
import re
import shlex
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from mgtop.config.structs import RunConfig

_PATH = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_KINDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
_LONGEST = 60


def explain(
    error: msgspec.ValidationError, data: dict[str, Any], schema: type[msgspec.Struct] = RunConfig
) -> tuple[str, str]:
    """The offending key (dotted; empty: the whole) and what is wrong with it."""
    text = str(error)
    found = _PATH.search(text)
    key = _named(found.group(1).lstrip("."), data, schema) if found else ""
    if unknown := _UNKNOWN.search(text):
        name = unknown.group(1)
        return (f"{key}.{name}" if key else name), _unknown(name, key, data, schema)
    if missing := _MISSING.search(text):
        return key, f"must have the key {missing.group(1)}"
    hint, value = _hint(key, schema), _value(data, key)
    if hint is None:
        return key, text[: found.start()] if found else text
    if value is None:
        return key, f"is empty; it must be {_wanted(hint)}, or left out"
    return key, f"must be {_wanted(hint)}, but is {_given(value)}{_remedy(hint, value)}"


def nearest(key: str, known: dict[str, Any]) -> str:
    """The innermost known key that a key lies in; empty where there is none."""
    while key and key not in known:
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return key


def _named(path: str, data: dict[str, Any], schema: type[msgspec.Struct]) -> str:
    """``env[...]`` → ``env.HF_HOME``: msgspec does not say which value of a mapping is wrong."""
    *outer, last = path.split("[...]")
    keys: list[str | int] = []
    value: Any = data
    shown = ""
    for part in outer:
        shown += part
        for step in _steps(part):
            place = int(step) if isinstance(value, list) else step
            keys.append(place)
            value = value[place]
        for key, item in value.items():
            try:
                msgspec.convert(_put(data, keys, {key: item}), schema)
            except msgspec.ValidationError:
                keys.append(key)
                value = item
                shown += f".{key}"
                break
    return shown + last


def _steps(key: str) -> list[str]:
    return [step for step in re.split(r"[.\[\]]+", key) if step]


def _put(data: Any, keys: list[str | int], value: Any) -> Any:
    """The same data with another value at a place."""
    if not keys:
        return value
    inner = _put(data[keys[0]], keys[1:], value)
    if isinstance(data, list):
        return [inner if number == keys[0] else item for number, item in enumerate(data)]
    return {**data, keys[0]: inner}


def _value(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        if not key:
            return data
        for name, item in data.items():  # a name may hold dots
            rest = key.removeprefix(name)
            if key.startswith(name) and (not rest or rest[0] in ".["):
                return _value(item, rest.lstrip("."))
    if isinstance(data, list) and (index := re.match(r"\[(\d+)\]\.?", key)):
        return _value(data[int(index.group(1))], key[index.end() :])
    return data


def _hint(key: str, schema: type[msgspec.Struct]) -> Any:
    """The type that the schema asks for at a key; None where it does not know the key."""
    hint: Any = schema
    for step in _steps(key):
        structs = list(_structs(hint))
        origin = get_origin(hint)
        if structs and origin not in (list, dict):
            fields = msgspec.structs.fields(structs[0])
            hint = next((field.type for field in fields if field.encode_name == step), None)
        elif origin is list:
            hint = get_args(hint)[0]
        elif origin is dict:
            hint = get_args(hint)[1]
            if get_origin(hint) is not dict and not list(_structs(hint)):
                return hint
        else:
            return None
    return hint


def _structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    elif get_origin(hint) not in (Literal, Annotated):
        for inner in get_args(hint):
            yield from _structs(inner)


def _wanted(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        kinds = [_wanted(inner) for inner in get_args(hint) if inner is not type(None)]
        return " or ".join(kinds)
    if origin is Literal:
        values = ", ".join(map(str, get_args(hint)))
        return f"one of {values}" if len(get_args(hint)) > 1 else values
    if origin is Annotated:
        kind, *metas = get_args(hint)
        limits = [
            f"above {meta.gt:g}" if meta.gt is not None else f"of at least {meta.ge:g}"
            for meta in metas
            if isinstance(meta, msgspec.Meta) and (meta.gt is not None or meta.ge is not None)
        ]
        return " ".join([_wanted(kind), *limits])
    if origin is list:
        return "a list"
    if origin is dict or list(_structs(hint)):
        return "a mapping"
    return _KINDS.get(hint, "something else")


def _given(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
    return str(value)


def _remedy(hint: Any, value: Any) -> str:
    if get_origin(hint) is list and isinstance(value, str) and value:
        args = get_args(hint)
        try:
            words = shlex.split(value) if args == (str,) and "<" not in value else [value]
        except ValueError:
            words = [value]
        listed = ", ".join(
            word if re.fullmatch(r"[\w./-]+", word) else f'"{word}"' for word in words
        )
        return f"; write [{listed}]"
    if isinstance(value, bool) and "text" in _wanted(hint):
        return f'; write "{str(value).lower()}"'
    if isinstance(value, dict) and list(value.values()) == [None] and "text" in _wanted(hint):
        return f'; write "{{{next(iter(value))}}}"'  # {steps} without quotes is a mapping
    return ""


def _unknown(name: str, parent: str, data: dict[str, Any], schema: type[msgspec.Struct]) -> str:
    """That a key is not known, and which one may be meant."""
    structs = list(_structs(_hint(parent, schema))) if parent else [schema]
    known = [field.encode_name for field in msgspec.structs.fields(structs[0])] if structs else []
    close = [path for path in _paths(schema, "") if path.split(".")[-1] == name]
    close = close or difflib.get_close_matches(name, known, 1)
    if close:
        return f"is not a known key (did you mean {close[0]!r}?)"
    more = ""
    if schema is RunConfig and not parent and not isinstance(data.get(name), (dict, list)):
        more = f"; a parameter of the program belongs under params, as params.{name}"
    return f"is not a known key (known are {', '.join(known)}){more}"


def _paths(struct: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        yield prefix + field.encode_name
        if get_origin(field.type) is not list:
            for inner in _structs(field.type):
                yield from _paths(inner, f"{prefix}{field.encode_name}.")
