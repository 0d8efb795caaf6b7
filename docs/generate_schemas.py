"""Writes docs/schema/*.json, the JSON Schemas of what commands print with --json.

python docs/generate_schemas.py
"""

from __future__ import annotations

from pathlib import Path

from mgtop.cli.schemas import NAMES, VERSION, schema_of
from mgtop.report.json_text import json_text

FOLDER = Path(__file__).parent / "schema"


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        path = FOLDER / f"{name}-{VERSION}.json"
        path.write_text(json_text(schema_of(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
