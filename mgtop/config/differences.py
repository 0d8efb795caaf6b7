"""In what a configuration differs from another one, above all from its baseline."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config.structs import RunConfig

Differences = dict[str, tuple[Any, Any]]
"""Dotted keys, each with the value before and after; None: not given."""

_OWN = ("name", "baseline", "gate", "fallback", "smoke")
"""What does not change how the program runs, nor what is measured of it."""


def differences(base: RunConfig, config: RunConfig) -> Differences:
    """The keys in which two configurations differ, with both values.

    ``name`` and ``baseline`` do not count (every round has its own), nor do gates, fallbacks
    and the smoke test, which change neither the run nor its figures.
    """
    before = dict(_flatten(msgspec.to_builtins(base)))
    after = dict(_flatten(msgspec.to_builtins(config)))
    return {
        key: (before.get(key), after.get(key))
        for key in {**before, **after}
        if key.split(".")[0] not in _OWN and before.get(key) != after.get(key)
    }


def from_baseline(config: RunConfig, path: Path) -> Differences | None:
    """The differences from the configuration's baseline; None where it names none.

    Args:
        config: the configuration, overrides included.
        path: its file; the baseline's name is relative to it.

    Raises:
        ConfigError: the baseline cannot be read.
    """
    from mgtop.config.load import load_config

    if config.baseline is None:
        return None
    folder = path if os.path.isdir(path) else path.parent
    return differences(load_config(folder / Path(config.baseline).expanduser()), config)


def varied(found: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The new values by short name (``params.steps`` → ``steps``), for a session's name."""
    return {key.removeprefix("params."): after for key, (_, after) in found.items()}


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and (value or "." not in prefix):
        for key, item in value.items():
            yield from _flatten(item, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value
