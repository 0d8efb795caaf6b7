"""JSON Schemas of what commands print with ``--json``, made from the structs that they print.

The version in a schema's name is that of ``schema`` in the report: it changes when a key changes
its meaning. Keys are only ever added otherwise, so a schema allows more than it names.
"""

from __future__ import annotations

from typing import Any

import msgspec

VERSION = 1
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _structs() -> dict[str, type[msgspec.Struct]]:
    from mgtop.analysis.summary import Summary
    from mgtop.preflight.check.run import Checked
    from mgtop.preflight.smoke.result import SmokeResult
    from mgtop.record.health.examine import Examined
    from mgtop.rounds.compare import Comparison
    from mgtop.rounds.fallback_result import FallbackResult
    from mgtop.rounds.results import Result

    return {
        "report": Summary,
        "compare": Comparison,
        "sweep": Result,
        "fallback": FallbackResult,
        "check": Checked,
        "smoke": SmokeResult,
        "doctor": Examined,
    }


NAMES = ("report", "compare", "sweep", "fallback", "check", "smoke", "doctor")
"""Commands that have one."""


def _anything(kind: type) -> dict[str, Any]:
    """Parameters of a run may be any value."""
    if kind is object:
        return {"description": "Any value."}
    raise NotImplementedError(kind)


def schema_of(command: str) -> dict[str, Any]:
    """The schema of what a command prints with ``--json``; every key is always there."""
    schema = msgspec.json.schema(_structs()[command], schema_hook=_anything)
    for each in schema.get("$defs", {}).values():
        if each.get("type") == "object" and "properties" in each:
            each["required"] = list(each["properties"])
    return {
        "$schema": DIALECT,
        "$id": f"https://github.com/mgtop/mgtop/blob/main/docs/schema/{command}-{VERSION}.json",
        "title": f"mgtop {command} --json",
        **schema,
    }
