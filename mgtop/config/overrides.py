"""``--set KEY=VALUE``: single values put over those of a configuration."""

from __future__ import annotations

import os
from typing import Any

from mgtop.config.document import parse, scalar
from mgtop.config.errors import ConfigError

WHERE = "--set"
Origin = dict[str, tuple[str, int | None]]

_FLAT = ("params", "env", "fallback")
"""Mappings of names to values, whose names may hold dots."""


def override(data: dict[str, Any], origin: Origin, text: str) -> None:
    """Put one ``KEY=VALUE`` into ``data``, and into ``origin`` that it comes from ``--set``.

    The value is a YAML scalar (quotes as in YAML), or a list or mapping in brackets.

    Raises:
        ConfigError: it is not KEY=VALUE, or the key leads through something else than a mapping.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    keys = _keys(name)
    if not equals or not all(keys):
        raise ConfigError(f"{text!r} is not KEY=VALUE, as in params.steps=16", WHERE)
    if keys[0] == "baseline":
        raise ConfigError("can only stand in the file", WHERE, key=name)
    if keys[0] == "edit" and len(keys) > 1:
        raise ConfigError("can only be set as a whole (edit={…})", WHERE, key=name)
    at: Any = data
    for n, key in enumerate(keys[:-1], 1):
        inner = at.get(key)
        if inner is None:
            inner = {}
            origin[".".join(keys[:n])] = (WHERE, None)
        if not isinstance(inner, dict):
            raise ConfigError(f"{'.'.join(keys[:n])} holds no keys", WHERE, key=name)
        at[key] = inner = dict(inner)
        at = inner
    at[keys[-1]] = _value(value, name)
    origin[name] = (WHERE, None)
    for other in [key for key in origin if key.startswith((f"{name}.", f"{name}["))]:
        del origin[other]
    if keys == ["cwd"] or (keys == ["python"] and "/" in value):
        data[name] = os.path.abspath(os.path.expanduser(str(data[name])))
    if keys[0] in ("python", "conda"):
        data.pop("conda" if keys[0] == "python" else "python", None)


def _keys(name: str) -> list[str]:
    first, dot, rest = name.partition(".")
    if first in _FLAT and dot:
        return [first, rest.strip()]
    return [key.strip() for key in name.split(".")]


def _value(text: str, key: str) -> Any:
    text = text.strip()
    if not text:
        return ""
    if text[0] in "[{'\"":
        try:
            return parse(text, WHERE, key)[0]
        except ConfigError as error:
            raise ConfigError(error.message, WHERE, key=error.key or key) from None
    return scalar(text, WHERE, key)
