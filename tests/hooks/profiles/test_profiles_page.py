"""docs/profiles.md is true: what it calls tested is tested, and its example loads."""

from __future__ import annotations

import re
from pathlib import Path

from mgtop.hooks.profile import Entry, Profile
from mgtop.hooks.profile_files import SHIPPED, read

PAGE = (Path(__file__).parents[3] / "docs" / "profiles.md").read_text("utf-8")
ENTRIES = {
    f"{path.stem}:{name}": entry
    for path in SHIPPED.glob("*.yaml")
    for name, entry in read(path).profile.entries.items()
}


def test_the_table_names_the_tested_entries() -> None:
    rows = set(re.findall(r"^\| ([\w.-]+:[\w-]+) \| .*\| right \|$", PAGE, re.MULTILINE))
    assert rows == {name for name, entry in ENTRIES.items() if entry.tested}


def test_the_rest_is_named_as_not_tested() -> None:
    (text,) = re.findall(r"^Not tested: (.*?)\.$", PAGE, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([\w.-]+:[\w-]+)`", text))
    assert named == {name for name, entry in ENTRIES.items() if not entry.tested}


def test_the_example_is_a_profile(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    assert list(read(path).profile.entries) == ["infer"]


def test_every_key_is_on_the_page() -> None:
    fields = {*Profile.__struct_fields__, *Entry.__struct_fields__} - {"entries"}
    assert [name for name in sorted(fields) if f"{name}`" not in PAGE] == []
