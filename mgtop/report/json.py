"""``report --json``: the summary as plain data and as text, with the contract's keys and order.

What is not known is null and never left out; so the span names and memory stages that the
contract names are there even where nothing was measured.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mgtop.analysis.summary import StageMemory, Summary
from mgtop.report.json_text import json_text
from mgtop.report.paths import STAGES

SPAN_KEYS = (
    "decode",
    "resize",
    "h2d",
    "forward",
    "vae_decode",
    "postprocess",
    "encode",
    "write",
)


def plain_report(summary: Summary) -> dict[str, Any]:
    """The report as dicts, lists and plain values."""
    report: dict[str, Any] = msgspec.to_builtins(summary)
    for request in report["requests"]:
        request["spans"] = {**dict.fromkeys(SPAN_KEYS), **request["spans"]}
    stages = report["memory"]["stages"]
    nothing = msgspec.to_builtins(StageMemory())
    report["memory"]["stages"] = {
        **{stage: dict(nothing) for stage in STAGES},
        **stages,
    }
    return report


def render(summary: Summary) -> str:
    """The report as indented JSON text, ended by a line break; equal input, equal bytes."""
    return json_text(plain_report(summary))
