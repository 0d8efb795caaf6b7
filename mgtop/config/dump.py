"""Plain data → YAML that reads back the same, here and in other YAML 1.1 or 1.2 readers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mgtop.config.document import SCALARS, TAG

_LINE_ENDS = re.compile("[\x85\u2028\u2029\ufeff]")
"""What YAML 1.1 takes for line ends, or drops, wherever it is not escaped."""


def to_yaml(data: Mapping[str, Any]) -> str:
    """A YAML document; text that some reader would take for something else is quoted."""
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
    text: str = yaml.dump(dict(data), Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text
