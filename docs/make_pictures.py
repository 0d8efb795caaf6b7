"""Make the pictures of README and docs from the program itself.

    python docs/make_pictures.py

Opens a session that was recorded on an H200 (tests/sessions) on the real screen, at the sizes
and in the themes that the docs show, and writes docs/pictures/*.svg.
"""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from pathlib import Path

from mgtop.view.app import MgtopApp

DOCS = Path(__file__).resolve().parent
SESSION = DOCS.parent / "tests" / "sessions" / "h200-alloc-retry" / "session.log.gz"
PICTURES = (
    ("live-120x40.svg", (120, 40), "mgtop-dark", ("N",)),
    ("live-80x24.svg", (80, 24), "mgtop-dark", ()),
    ("live-light.svg", (120, 40), "mgtop-light", ("N",)),
    ("late-120x40.svg", (120, 40), "mgtop-dark", ("N", "enter")),
    ("memory-120x40.svg", (120, 40), "mgtop-dark", ("3",)),
    ("help.svg", (100, 36), "mgtop-dark", ("question_mark",)),
)


async def draw(folder: Path, size: tuple[int, int], theme: str, keys: tuple[str, ...]) -> str:
    """The screen of a session as SVG, after some keys."""
    app = MgtopApp(folder)
    async with app.run_test(size=size) as pilot:
        while not app.feed.caught_up:
            await pilot.pause(0.1)
        app.theme = theme
        await pilot.pause(0.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.3)
        return app.export_screenshot()


def main() -> None:
    """Write all pictures."""
    target = DOCS / "pictures"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "session.log").write_bytes(gzip.decompress(SESSION.read_bytes()))
        for file, size, theme, keys in PICTURES:
            svg = asyncio.run(draw(folder, size, theme, keys))
            # Some renderers drop the spaces at the ends of texts otherwise.
            svg = svg.replace("<text ", '<text xml:space="preserve" ')
            (target / file).write_text(svg, encoding="utf-8")
            print(target / file)


if __name__ == "__main__":
    main()
