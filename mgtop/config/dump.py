"""Plain data → YAML that reads back the same, here and in other YAML 1.1 or 1.2 readers."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mgtop.config.document import SCALARS, TAG

if TYPE_CHECKING:
    import yaml

_LINE_ENDS = re.compile("[\n\r\t\x85\u2028\u2029\ufeff]")
"""What ends a line for YAML 1.1, or is dropped there, wherever it is not escaped."""


def to_yaml(data: Mapping[str, Any]) -> str:
    """A YAML document; text that some reader would take for something else is quoted."""
    import yaml

    text: str = yaml.dump(dict(data), Dumper=_dumper(), sort_keys=False, allow_unicode=True)
    return text


def to_flow(value: Any, quotes: str | None = None) -> str:
    """One value as it is written within a line; a text with ``quotes`` in these, if it can be."""
    import yaml

    text: str = yaml.dump(
        [value],
        Dumper=_dumper(),
        default_flow_style=True,
        default_style=quotes if isinstance(value, str) else None,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 30,
    )
    return text.strip()[1:-1]


@functools.cache
def _dumper() -> type[yaml.SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # the same list twice is written twice
            return True

    def text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = '"' if _LINE_ENDS.search(text) else None
        return dumper.represent_scalar(f"{TAG}str", text, style=style)

    Dumper.add_representer(str, text_node)
    for kind, pattern, first in SCALARS:
        Dumper.add_implicit_resolver(TAG + kind, pattern, list(first))
    return Dumper
