"""What a smoke test runs: the configuration's own, or the run's command at its smallest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mgtop.config import RunConfig
from mgtop.config.command import fill

_STEPS = (
    "steps",
    "num_steps",
    "num_inference_steps",
    "sample_steps",
    "inference_steps",
    "sampling_steps",
)
_SIZE = re.compile(r"^\s*(\d{2,5})\s*[xX×*]\s*(\d{2,5})\s*$")


class Smallest(NamedTuple):
    """A configuration whose command is the smallest run.

    Attributes:
        config: to be launched.
        output: where the picture is to be, as an absolute path; None: the program must say.
        size: (width, height) that the command asks for; None: it names none.
        note: what was made smaller, in words; empty where the configuration has its own test.
    """

    config: RunConfig
    output: Path | None
    size: tuple[int, int] | None
    note: str


def smallest_run(config: RunConfig, path: Path) -> Smallest:
    """The smallest run of a configuration.

    Args:
        config: the configuration.
        path: its file, for messages and relative paths.

    Raises:
        ConfigError: a text of its ``smoke`` cannot be filled in.
    """
    cwd = (path.parent / Path(config.cwd).expanduser()).resolve()
    if config.smoke is not None:
        output = fill(config.smoke.output, config.params, str(path), "smoke.output")
        words = config.smoke.command
        edit = {name: keys for name, keys in config.edit.items() if any(name in w for w in words)}
        own = msgspec.structs.replace(config, command=words, edit=edit)
        return Smallest(own, cwd / Path(output).expanduser(), _size_of(own), "")
    params, changed = _smaller(config)
    own = msgspec.structs.replace(config, params=params)
    note = "the run's own command"
    if changed:
        note += " with " + ", ".join(f"{name}={value}" for name, value in changed.items())
    return Smallest(own, None, _size_of(own), note)


def _smaller(config: RunConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters at the smallest values that the configuration itself lists as supported."""
    params, changed = dict(config.params), {}
    for name, values in config.fallback.items():
        numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
        if name in params and numbers and len(numbers) == len(values):
            changed[name] = min(numbers)
        elif name == "steps" and numbers:
            changed.update({known: min(numbers) for known in _STEPS if known in params})
        sizes = [size for size in map(size_of, values) if size is not None]
        if sizes:
            width, height = min(sizes, key=lambda size: size[0] * size[1])
            if "width" in params and "height" in params:
                changed |= {"width": width, "height": height}
            elif name in params:
                changed[name] = min(values, key=lambda value: _area(value))
    changed = {name: value for name, value in changed.items() if params.get(name) != value}
    return params | changed, changed


def size_of(value: object) -> tuple[int, int] | None:
    """``1280x720`` → (1280, 720); also a list of two numbers."""
    if isinstance(value, str) and (match := _SIZE.match(value)):
        return int(match[1]), int(match[2])
    if isinstance(value, list) and len(value) == 2 and all(isinstance(v, int) for v in value):
        return value[0], value[1]
    return None


def _area(value: object) -> int:
    width, height = size_of(value) or (0, 0)
    return width * height


def _size_of(config: RunConfig) -> tuple[int, int] | None:
    """The picture's size as the command asks for it: by parameters it uses, or its options."""
    used = set(re.findall(r"\{(\w+)\}", " ".join(config.command)))
    edited = {name for keys in config.edit.values() for name in keys.values()}
    params = {name: value for name, value in config.params.items() if name in used | edited}
    if found := _size_in(params):
        return found
    return _size_in(_options(config.command))


def _size_in(values: Mapping[str, Any]) -> tuple[int, int] | None:
    width, height = (_number(values.get(name)) for name in ("width", "height"))
    if width and height:
        return width, height
    width, height = (_number(values.get(name)) for name in ("w", "h"))
    if width and height:
        return width, height
    for name in ("resolution", "size"):
        if found := size_of(values.get(name)):
            return found
    return None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() else None


def _options(command: list[str]) -> dict[str, str]:
    """``--height 480`` and ``--height=480``, by name."""
    found = {}
    for at, word in enumerate(command):
        if not word.startswith("-"):
            continue
        name, sign, value = word.lstrip("-").partition("=")
        if not sign and at + 1 < len(command):
            value = command[at + 1]
        found[name.replace("-", "_").lower()] = value
    return found
