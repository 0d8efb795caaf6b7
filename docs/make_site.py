"""Makes the documentation a site in site/: python docs/make_site.py [FOLDER].

README.md is its first page. Every page of docs/ must stand in the navigation, and every link must
lead somewhere: what does not is said, and the exit code is 1. Needs zensical; no network.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCE = "https://github.com/mgtop/mgtop/blob/main/"
"""Where links to files that are no pages lead."""
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_LINK = re.compile(r"(!?\[[^\]]*\])\((?P<to>[^)\s]+)\)")


class Links(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and ids."""
        for name, value in attrs:
            if value and name in ("href", "src") and tag in ("a", "img", "link", "script"):
                self.to.append(value)
            if value and name == "id":
                self.places.add(value)


def relinked(text: str, at: Path) -> str:
    """A page's text with links that hold inside the site.

    Args:
        text: Markdown.
        at: where the page stands in the repository.
    """

    def replaced(match: re.Match[str]) -> str:
        where, mark, place = match["to"].partition("#")
        if not where or urlsplit(where).scheme:
            return match[0]
        target = (at.parent / where).resolve()
        name = target.relative_to(ROOT).as_posix()
        up = "../" * (len(at.relative_to(ROOT).parts) - 2) if at.is_relative_to(DOCS) else ""
        if name in PAGES:
            new = up + PAGES[name]
        elif target.is_relative_to(DOCS) and (target / "README.md").is_file():
            new = up + target.relative_to(DOCS).as_posix() + "/README.md"
        elif target.is_relative_to(DOCS) and target.is_file() and target.suffix != ".py":
            new = up + target.relative_to(DOCS).as_posix()
        else:
            new = SOURCE + name
        return f"{match[1]}({new}{mark}{place})"

    return _LINK.sub(replaced, text)


def listed(nav: Any) -> Iterator[str]:
    """The pages of the navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for item in nav:
            yield from listed(item)
    elif isinstance(nav, dict):
        for item in nav.values():
            yield from listed(item)


def prepare(scratch: Path) -> list[str]:
    """Lay out what is built; say which pages are missing in the navigation."""
    config = yaml.safe_load((DOCS / "site.yml").read_text("utf-8"))
    causes = sorted(
        (path.name for path in (DOCS / "causes").glob("*.md")), key=lambda name: name != "README.md"
    )
    for section in config["nav"]:
        if "Causes" in section:
            section["Causes"] = [f"causes/{name}" for name in causes]
    pages = scratch / "docs"
    for path in sorted(DOCS.rglob("*")):
        if path.suffix == ".md":
            to = pages / path.relative_to(DOCS)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(relinked(path.read_text("utf-8"), path), "utf-8")
    for name, page in PAGES.items():
        (pages / page).write_text(relinked((ROOT / name).read_text("utf-8"), ROOT / name), "utf-8")
    for folder in ("pictures", "schema"):
        if (DOCS / folder).is_dir():
            shutil.copytree(DOCS / folder, pages / folder)
    (scratch / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    here = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    named = set(listed(config["nav"]))
    return [f"{page} is not in the navigation (docs/site.yml)" for page in sorted(here - named)] + [
        f"docs/site.yml names {page}, which is not there" for page in sorted(named - here)
    ]


def broken(site: Path) -> Iterator[str]:
    """Links that lead nowhere, and what would be fetched from elsewhere."""
    pages = {path: Links(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, links in pages.items():
        if path.name == "404.html":
            continue
        for link in links.to:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists():
                yield f"{path.relative_to(site)}: {link} leads nowhere"
                continue
            place = unquote(parts.fragment)
            if place and not place.startswith("__") and place not in pages[to].places:
                yield f"{path.relative_to(site)}: {link} names no place there"


def main() -> int:
    """Build the site; 1 where something is amiss."""
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        problems = prepare(scratch)
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "-f", "mkdocs.yml"],
            cwd=scratch,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stdout + done.stderr)
            return 1
        problems += broken(scratch / "site")
        if to.exists():
            shutil.rmtree(to)
        shutil.move(scratch / "site", to)
    for problem in problems:
        print(problem)
    print(f"{to}: {len(list(to.rglob('*.html')))} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
