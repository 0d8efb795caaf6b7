"""docs/session-log.md is true: tags, magic and limits are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from log_records import emit, start, write

from mgtop.session.chunks import HEADER, MAGIC, MAX_PAYLOAD
from mgtop.session.folder import folder_name
from mgtop.wire.records import AnyRecord

PAGE = (Path(__file__).parents[2] / "docs" / "session-log.md").read_text("utf-8")


def test_every_record_is_listed_with_its_tag() -> None:
    listed = {name: int(tag) for tag, name in re.findall(r"(\d+) \| `(\w+)`", PAGE)}
    real = {kind.__name__: kind.__struct_config__.tag for kind in get_args(AnyRecord)}
    assert listed == real


def test_the_header() -> None:
    assert f"`{MAGIC.hex(' ')}`" in PAGE
    assert HEADER.size == 4 + 4 + 4
    assert f"at most {MAX_PAYLOAD >> 20} MiB" in PAGE


def test_the_name_of_the_example() -> None:
    made = folder_name("stormlight", {"steps": 16}, 0)
    assert re.search(r"`\d{8}-\d{6}" + re.escape(made[15:]) + "`", PAGE)


def test_the_example_of_reading_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    write(tmp_path, [start(), emit(0)])
    printed: list[object] = []
    exec(code.replace("session-folder", str(tmp_path)), {"print": printed.append})
    assert printed == [start(), emit(0)]
