"""The documentation becomes a site without a network, and its links lead somewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mgtop.analysis.causes import all_causes

ROOT = Path(__file__).parents[2]


def test_the_site_is_whole_and_fetches_nothing(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "make_site.py", tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Why did that frame come late?" in page
    for place in ('<script src="http', '<link rel="stylesheet" href="http', "fonts.googleapis"):
        assert place not in page


def test_the_list_of_causes_is_the_causes_own() -> None:
    page = (ROOT / "docs" / "causes" / "README.md").read_text("utf-8")
    for cause in all_causes():
        row = f"| `{cause.letter}` | [`{cause.name}`]({cause.name}.md) | {cause.summary} |"
        assert row in page, "run python docs/generate_causes.py"
