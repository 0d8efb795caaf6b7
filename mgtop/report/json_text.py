"""JSON as mgtop prints it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from mgtop.wire.text import printable

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal or an editor would obey, beyond the control characters that JSON escapes."""


def json_text(value: Any) -> str:
    """Indented JSON with a line break at its end.

    Characters that command a terminal are escaped, so that names of others can be printed.
    """
    try:
        plain = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a session's folder, or what it recorded, is not UTF-8
        plain = msgspec.json.encode(printable(msgspec.to_builtins(value)))
    text = msgspec.json.format(plain, indent=2).decode()
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
