"""Gates: conditions on the report that decide an exit code, as ``interval_ms.p95 < 80``.

A gate is ``METRIC OP NUMBER``: a dotted path over the keys of ``report --json``, one of
``<  <=  >  >=  ==  !=``, and a number. What is not known fails a gate: no condition is met by
a value that nobody measured.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mgtop.analysis.summary import Summary
from mgtop.report.json import plain_report
from mgtop.report.paths import UnknownKey, check_number, value_at

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

_EXPRESSION = re.compile(r"\s*([^\s<>=!]+)\s*([<>=!]+)\s*(\S+)\s*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


class GateError(ValueError):
    """The text is no gate; the message says what is wrong and what would be right."""


@dataclass(frozen=True)
class Gate:
    """One condition, ready to be held against a report."""

    expression: str
    keys: tuple[str, ...]
    op: str
    number: float


@dataclass(frozen=True)
class GateResult:
    """Outcome of one gate. ``value`` is None where the report does not know it."""

    expression: str
    value: float | None
    passed: bool
    message: str


def parse_gate(text: str) -> Gate:
    """Read ``METRIC OP NUMBER``.

    Raises:
        GateError: not of that form, or the report can have no such key.
    """
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise GateError(
            f"{text!r} is no gate: write METRIC OP NUMBER, as in 'interval_ms.p95 < 80'."
        )
    path, op, number = match.groups()
    if op not in OPERATORS:
        hint = "use == to compare" if op == "=" else f"use one of {' '.join(OPERATORS)}"
        raise GateError(f"Gate {text!r}: {op!r} is no comparison; {hint}.")
    if _NUMBER.fullmatch(number) is None:
        raise GateError(f"Gate {text!r}: {number!r} is not a number (units are left out).")
    try:
        keys = check_number(path)
    except UnknownKey as error:
        raise GateError(f"Gate {text!r}: {error}") from None
    return Gate(" ".join(text.split()), keys, op, float(number))


def evaluate(gate: Gate, summary: Summary) -> GateResult:
    """Hold one gate against a report.

    Raises:
        GateError: a parameter that is text, not a number.
    """
    return _evaluate(gate, plain_report(summary))


def evaluate_all(expressions: Iterable[str], summary: Summary) -> list[GateResult]:
    """Parse and evaluate gates, in their order.

    Raises:
        GateError: see :func:`parse_gate` and :func:`evaluate`.
    """
    gates = [parse_gate(text) for text in expressions]
    report = plain_report(summary)
    return [_evaluate(gate, report) for gate in gates]


def _evaluate(gate: Gate, report: dict[str, Any]) -> GateResult:
    value, reason = value_at(report, gate.keys), "the value is not known"
    if gate.keys[0] in ("tails", "causes"):
        if report["interval_ms"]["count"] == 0:
            # Without a judged interval there is no count of tails, not a count of none.
            value, reason = None, "no interval was measured"
        elif value is None and gate.keys[0] == "causes":
            value = 0  # a cause that no tail has is not listed
    if value is None:
        return GateResult(gate.expression, None, False, f"not met: {gate.expression} ({reason})")
    if not isinstance(value, (int, float)):
        raise GateError(
            f"Gate {gate.expression!r}: {'.'.join(gate.keys)} is {value!r}, not a number."
        )
    passed = OPERATORS[gate.op](value, gate.number)
    outcome = "met" if passed else "not met"
    shown = int(value) if isinstance(value, bool) else value
    text = f"{outcome}: {gate.expression} (it is {shown:.6g})"
    return GateResult(gate.expression, float(value), passed, text)
