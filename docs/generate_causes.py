"""Writes docs/causes/README.md, the list of causes, from the causes themselves.

python docs/generate_causes.py
"""

from __future__ import annotations

from pathlib import Path

from mgtop.analysis.causes import all_causes

PAGE = Path(__file__).parent / "causes" / "README.md"
HEAD = """# Causes of late frames

Written by `docs/generate_causes.py` from the causes themselves. Each is credited only the
milliseconds that it can prove; where all together explain less than half of what was lost, the
frame is *unexplained*. [Concepts](../concepts.md) has the rules; how often it is right was
[scored against the truth](../causes-scored.md), [on a GPU](../causes-scored-gpu.md), too.

| on the screen | cause | | what to do |
|---|---|---|---|
"""


def page() -> str:
    """The page's text."""
    return HEAD + "".join(
        f"| `{cause.letter}` | [`{cause.name}`]({cause.name}.md) | {cause.summary} "
        f"| {cause.remedy} |\n"
        for cause in sorted(all_causes(), key=lambda cause: cause.name)
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
