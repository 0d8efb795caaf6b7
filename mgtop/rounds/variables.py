"""What a round varies: a parameter, and the values that it takes.

``resolution`` is one variable that sets two parameters, ``width`` and ``height``, where the
configuration has those and no parameter of that name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mgtop.config.document import parse
from mgtop.config.errors import ConfigError

WHERE = "--vary"
RESOLUTION = "resolution"
MOST_VALUES = 200
_RESOLUTION = re.compile(r"([1-9]\d{0,5})\s*[x×X]\s*([1-9]\d{0,5})")
_OPEN, _CLOSE = "[{", "]}"


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter and the values to try, in the order given.

    A value is a number, a text, true or false, or a list of these.
    """

    name: str
    values: list[Any]

    def ordered(self) -> list[Any]:
        """The values from small to large; those without a size as they were given."""
        sizes = [size_of(value) for value in self.values]
        if any(size is None for size in sizes):
            return list(self.values)
        return [value for _, value in sorted(zip(sizes, self.values, strict=True), key=_first)]


def _first(pair: tuple[float | None, Any]) -> float:
    assert pair[0] is not None
    return pair[0]


def read_variable(text: str, params: Mapping[str, Any]) -> Variable:
    """Read ``NAME=V1,V2,…``; values are words as in YAML, lists stand in brackets.

    Args:
        text: as on the command line, ``steps=4,8,16`` or ``schedule=[1,2],[1,2,3]``.
        params: the parameters of the configuration.

    Raises:
        ConfigError: not of that form, no such parameter, or a value given twice.
    """
    name, equals, rest = text.partition("=")
    name = name.strip().removeprefix("params.")
    if not equals or not name:
        raise ConfigError(f"{text!r} is not NAME=V1,V2,…, as in steps=4,8,16", WHERE)
    values = [_value(part, name) for part in _split(rest, name)]
    return checked(Variable(name=name, values=values), params, WHERE)


def checked(variable: Variable, params: Mapping[str, Any], where: str) -> Variable:
    """The variable, if the configuration has what it varies.

    Raises:
        ConfigError: no such parameter, no values, or a value that cannot be used.
    """
    name = variable.name
    if not variable.values:
        raise ConfigError("has no values", where, key=name)
    if len(variable.values) > MOST_VALUES:
        raise ConfigError(f"has more than {MOST_VALUES} values", where, key=name)
    for n, value in enumerate(variable.values):
        if value is None or isinstance(value, dict):
            raise ConfigError("a value must be a number, a name or a list", where, key=name)
        if any(_same(value, other) for other in variable.values[:n]):
            raise ConfigError(f"{shown(value)} is given twice", where, key=name)
    if name in params:
        return variable
    if not is_resolution(name, params):
        raise ConfigError(_unknown(name, params), where, key=name)
    for value in variable.values:
        if pixels(value) is None:
            raise ConfigError(
                f"{shown(value)} is not WIDTHxHEIGHT, as in 1280x720", where, key=name
            )
    return variable


def is_resolution(name: str, params: Mapping[str, Any]) -> bool:
    """Whether ``name`` stands for the parameters ``width`` and ``height``."""
    return name == RESOLUTION and name not in params and {"width", "height"} <= set(params)


def applied(params: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a round: the configuration's, with the varied ones put over them."""
    result = dict(params)
    for name, value in setting.items():
        found = pixels(value) if is_resolution(name, params) else None
        if found is not None:
            result["width"], result["height"] = found
        else:
            result[name] = value
    return result


def present(params: Mapping[str, Any], name: str) -> Any:
    """The value that a configuration has for a variable; None: none."""
    if is_resolution(name, params):
        return f"{params['width']}x{params['height']}"
    return params.get(name)


def pixels(value: Any) -> tuple[int, int] | None:
    """Width and height of ``1280x720``; None for anything else."""
    match = _RESOLUTION.fullmatch(value.strip()) if isinstance(value, str) else None
    return (int(match.group(1)), int(match.group(2))) if match else None


def size_of(value: Any) -> float | None:
    """How large a value is: a number itself, pixels of a resolution, the length of a list.

    None: names have no size.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, list):
        return float(len(value))
    found = pixels(value)
    return float(found[0] * found[1]) if found else None


def not_smaller(setting: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Whether a setting is at least as large as another one in everything that varies.

    What has no size counts only where it is the same.
    """
    for name, value in setting.items():
        if _same(value, than[name]):
            continue
        mine, other = size_of(value), size_of(than[name])
        if mine is None or other is None or mine < other:
            return False
    return True


def same_setting(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two settings are the same, types included (1 is not true, nor ``"1"``)."""
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def shown(value: Any) -> str:
    """A value as people write it on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(map(shown, value)) + "]"
    return str(value)


def label(setting: Mapping[str, Any]) -> str:
    """``steps=16 height=544``; a setting in which nothing varies is the baseline."""
    return " ".join(f"{name}={shown(value)}" for name, value in setting.items()) or "baseline"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _split(text: str, name: str) -> list[str]:
    """Parts between commas that stand in no brackets and no quotes."""
    parts, start, depth, quote = [], 0, 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
        if depth < 0:
            break
    if depth or quote:
        raise ConfigError(f"{text!r} has a bracket or quote without its partner", WHERE, key=name)
    return [*parts, text[start:]]


def _value(text: str, name: str) -> Any:
    if not text.strip():
        raise ConfigError("a value is missing between the commas", WHERE, key=name)
    try:
        return parse(text.strip(), WHERE, name)[0]
    except ConfigError as error:
        raise ConfigError(f"{text.strip()!r}: {error.message}", WHERE, key=name) from None


def _unknown(name: str, params: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(params), 1)
    if close:
        return f"{name!r} is not among params; did you mean {close[0]!r}?"
    known: Sequence[str] = list(params)
    there = f"there are {', '.join(known)}" if known else "there are none: give params: {…}"
    return f"{name!r} is not among params ({there})"
