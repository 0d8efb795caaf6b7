"""Plain data → YAML that reads back the same, here and in other YAML 1.1 or 1.2 readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mgtop.config.document import SCALARS, TAG


def to_yaml(data: Mapping[str, Any]) -> str:
    """A YAML document; text that some reader would take for something else is quoted."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # the same list twice is written twice
            return True

    for kind, pattern, first in SCALARS:
        Dumper.add_implicit_resolver(TAG + kind, pattern, list(first))
    text: str = yaml.dump(dict(data), Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text
