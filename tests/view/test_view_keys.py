from __future__ import annotations

import re

import pytest

from mgtop.view.app import MgtopApp
from mgtop.view.bindings import PLACES, Key, footer, footer_action
from mgtop.view.screens.places import class_of
from mgtop.view.screens.session_screen import SessionScreen

SCREENS = [class_of(place.name) for place in PLACES]
KEYS = [(screen, key) for screen in SCREENS for key in screen.KEYS]


@pytest.mark.parametrize(("screen", "key"), KEYS, ids=lambda item: getattr(item, "keys", ""))
def test_every_key_does_something(screen: type[SessionScreen], key: Key) -> None:
    namespace, _, name = re.sub(r"\(.*", "", key.action).rpartition(".")
    owner = MgtopApp if namespace == "app" else screen
    assert callable(getattr(owner, f"action_{name}", None)), key.action


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things(screen: type[SessionScreen]) -> None:
    keys = [name for key in screen.KEYS for name in key.keys.split(",")]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("screen", SCREENS)
def test_the_footer_can_be_clicked(screen: type[SessionScreen]) -> None:
    text = footer(screen.KEYS, readonly=False)
    assert len(text) <= 78
    for key in screen.KEYS:
        if key.label:
            at = text.index(key.label)
            assert footer_action(screen.KEYS, False, at) == key.action
            assert footer_action(screen.KEYS, False, at + len(key.label) - 1) == key.action
    assert footer_action(screen.KEYS, False, len(text)) is None


@pytest.mark.parametrize("screen", SCREENS)
def test_no_single_key_destroys(screen: type[SessionScreen]) -> None:
    """Stopping and signalling go through a dialog."""
    actions = {key.action for key in screen.KEYS}
    assert not [action for action in actions if "kill" in action or "stop" in action]
