"""docs/configuration.md is true: it names every key with its default, and its examples load."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mgtop.config import RunConfig
from mgtop.config.document import DEEPEST, MOST_BYTES, MOST_VALUES
from mgtop.config.load import build_config, load_config

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_.]+)` \| `([^`]*)` \|", PAGE, re.MULTILINE))
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of structs, with their defaults."""
    for field in msgspec.structs.fields(type(value)):
        item = getattr(value, field.name)
        if isinstance(item, msgspec.Struct):
            yield from leaves(item, f"{prefix}{field.encode_name}.")
        else:
            yield prefix + field.encode_name, item


KEYS = dict(leaves(RunConfig()))


def test_every_key_is_on_the_page_and_no_other() -> None:
    assert set(ROWS) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_the_default_is_the_real_one(key: str) -> None:
    default = KEYS[key]
    assert ROWS[key] == (default if isinstance(default, str) else json.dumps(default))


def test_the_examples_load(tmp_path: Path) -> None:
    first, edit, round_ = EXAMPLES
    (tmp_path / "steps24.yaml").write_text(first)
    (tmp_path / "steps16.yaml").write_text(round_)
    config = load_config(tmp_path / "steps16.yaml")
    assert (config.name, config.params["steps"], config.params["width"]) == ("steps16", 16, 1280)
    assert config.env["OMP_NUM_THREADS"] == "4"
    (tmp_path / "edit.yaml").write_text(edit)
    config = load_config(tmp_path / "edit.yaml")
    (named,) = config.edit
    assert named in config.command
    assert set(config.edit[named].values()) == set(config.params)


def test_the_examples_of_set_work() -> None:
    found = re.findall(r"--set '?([a-z_.]+=.+?)'?`", PAGE)
    assert len(found) == 3
    config = build_config({"command": ["x"]}, found)
    assert (config.params, config.detect.ratio, config.gate) == ({"steps": 16}, 3.0, ["fps > 15"])


def test_the_limits_are_the_real_ones() -> None:
    assert f"{MOST_BYTES >> 10} KiB, {MOST_VALUES:,} values" in PAGE
    assert f"and {DEEPEST} levels" in PAGE
