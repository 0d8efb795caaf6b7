"""docs/licences.md names every package that mgtop needs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_every_dependency_has_its_licence_on_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    for extra in ("parquet", "metrics", "serve"):
        wanted += extras.get(extra, [])
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\S+) \| ([^|]+) \|", page, re.MULTILINE))
    for line in wanted:
        if "python_version" in line:  # not for the Python of the page
            continue
        name = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", line)[0]).lower()  # type: ignore[index]
        assert rows.get(name, "not told") != "not told", f"run docs/generate_licences.py: {name}"
