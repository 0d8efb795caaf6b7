"""JSON as mgtop prints it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal or an editor would obey, beyond the control characters that JSON escapes."""


def json_text(value: Any) -> str:
    """Indented JSON with a line break at its end.

    Characters that command a terminal are escaped, so that names of others can be printed.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
