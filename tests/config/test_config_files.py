"""Every file in tests/configs: a new case is a new file, with what is expected beside it.

``valid/NAME.yaml`` must load; ``NAME.json`` names keys (dotted) and their values.
``invalid/NAME.yaml`` must not; ``NAME.txt`` is the whole message, without the folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mgtop.config.load import ConfigError, load_config

CONFIGS = Path("tests/configs")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name the file as it was given."""
    monkeypatch.chdir(ROOT)


def names(folder: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / CONFIGS / folder).glob("*.yaml"))


def at(value: Any, key: str) -> Any:
    """The value at a dotted key, whose parts may hold dots themselves."""
    if not key:
        return value
    for name, item in value.items():
        if key == name or key.startswith(f"{name}."):
            return at(item, key[len(name) + 1 :])
    raise KeyError(key)


@pytest.mark.parametrize("name", names("valid"))
def test_a_valid_file(name: str) -> None:
    config = load_config(CONFIGS / "valid" / f"{name}.yaml")
    plain = msgspec.to_builtins(config)
    expected = json.loads((CONFIGS / "valid" / f"{name}.json").read_text("utf-8"))
    assert expected
    found = {key: at(plain, key) for key in expected}
    assert found == expected
    assert {key: type(found[key]) for key in found} == {key: type(expected[key]) for key in found}


@pytest.mark.parametrize("name", names("invalid"))
def test_an_invalid_file(name: str) -> None:
    path = CONFIGS / "invalid" / f"{name}.yaml"
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message == f"{path.parent}/{path.with_suffix('.txt').read_text('utf-8').rstrip()}"
    assert "\n" not in message
    assert len(message) < 320


def test_there_are_cases() -> None:
    assert len(names("valid")) > 10
    assert len(names("invalid")) > 50
