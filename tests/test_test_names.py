"""Pytest imports test modules by their bare names: two of one name break the whole run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def test_every_test_module_has_a_name_of_its_own() -> None:
    names = Counter(
        path.name
        for path in Path(__file__).parent.rglob("*.py")
        if path.name not in ("conftest.py", "__init__.py")
    )
    assert [name for name, count in names.items() if count > 1] == []
