"""Gates over a comparison: ``interval_ms.p95.change_percent < 10``.

METRIC is a figure of ``compare --json``, held against every session's value; or, with
``.change_percent``, ``.low`` or ``.high`` behind it, against every session's change to the
first one. What is not known fails a gate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from mgtop.report.gates import OPERATORS, GateError, GateResult
from mgtop.rounds.compare import Comparison

_EXPRESSION = re.compile(r"\s*([^\s<>=!]+)\s*([<>=!]+)\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*")
_CHANGES = ("change_percent", "low", "high")
_SHAPE = re.compile(
    r"(?:first_frame_ms|interval_ms|frame_interval_ms|fps|tails|causes|playout|memory)(?:\.\w+)*"
)


def check(expression: str) -> tuple[str, str, str, float]:
    """Read a gate as metric, part (empty: the value itself), operator and number.

    Raises:
        GateError: it is none.
    """
    match = _EXPRESSION.fullmatch(expression)
    if match is None or match.group(2) not in OPERATORS:
        raise GateError(
            f"{expression!r} is no gate: write METRIC OP NUMBER, as in "
            "'interval_ms.p95.change_percent < 10'."
        )
    path, op, text = match.groups()
    metric, _, part = path.rpartition(".")
    if part not in _CHANGES:
        metric, part = path, ""
    if _SHAPE.fullmatch(metric) is None:
        raise GateError(f"Gate {expression!r}: a comparison has no figure {metric!r}.")
    try:
        return metric, part, op, float(text)
    except ValueError:
        raise GateError(f"Gate {expression!r}: {text!r} is not a number.") from None


def evaluate(expressions: Sequence[str], comparison: Comparison) -> list[GateResult]:
    """Hold gates against a comparison, in their order.

    Raises:
        GateError: one is no gate, or the comparison has no such figure.
    """
    return [_evaluate(expression, comparison) for expression in expressions]


def _evaluate(expression: str, comparison: Comparison) -> GateResult:
    name, part, op, number = check(expression)
    metric = comparison.metrics.get(name)
    values: list[float | None]
    if metric is not None:
        values = getattr(metric, part)[1:] if part else metric.values
    elif name.startswith("causes."):
        values = [None if part else 0.0]  # no late frame of any session has that cause
    else:
        near = get_close_matches(name, comparison.metrics, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise GateError(f"Gate {expression!r}: a comparison has no figure {name!r}{hint}")
    unmet = [v for v in values if v is None or not OPERATORS[op](v, number)]
    shown = ", ".join("not known" if v is None else f"{v:.6g}" for v in (unmet or values))
    outcome = "not met" if unmet else "met"
    text = f"{outcome}: {' '.join(expression.split())} (it is {shown})"
    return GateResult(expression, (unmet or values)[0], not unmet, text)
