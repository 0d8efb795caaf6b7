from __future__ import annotations

import re

import pytest

from mgtop.view.app import MgtopApp
from mgtop.view.bindings import LIVE_KEYS, Key
from mgtop.view.screens.live import LiveScreen


@pytest.mark.parametrize("key", LIVE_KEYS, ids=lambda key: key.keys)
def test_every_key_does_something(key: Key) -> None:
    namespace, _, name = key.action.rpartition(".")
    owner = MgtopApp if namespace == "app" else LiveScreen
    name = re.sub(r"\(.*", "", name)
    assert callable(getattr(owner, f"action_{name}", None)), key.action


def test_no_key_means_two_things() -> None:
    keys = [name for key in LIVE_KEYS for name in key.keys.split(",")]
    assert len(keys) == len(set(keys))
