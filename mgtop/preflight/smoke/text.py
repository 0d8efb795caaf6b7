"""A finished smoke test for a terminal."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterator

from mgtop.preflight.smoke.result import FrameTimes, SmokeResult

Paint = Callable[[bool, str], str]
"""Colours a text by whether something holds."""

_NAMES = {
    "weights_loaded": "weights loaded",
    "output_reported": "output reported",
    "output_valid": "output valid",
    "exit_zero": "exit code 0",
    "no_errors": "no errors",
}
_FAILURES = {
    "no_cuda": "no CUDA",
    "oom": "out of memory",
    "weights_path": "bad weights path",
    "other": "other",
}
_LABEL = 18


def render(result: SmokeResult, width: int, paint: Paint) -> str:
    """The whole page, at most ``width`` columns."""
    width = max(40, width)
    lines = _wrapped(f"$ {shlex.join(result.command)}", width)
    if result.note:
        lines += _wrapped(f"({result.note})", width)
    lines.append("")
    for name, label in _NAMES.items():
        criterion = getattr(result.criteria, name)
        mark = "✓" if criterion.passed else "✗"
        head = f"{mark} {label}".ljust(_LABEL)
        body = textwrap.wrap(criterion.evidence, width - _LABEL, break_on_hyphens=False) or [""]
        lines.append(paint(criterion.passed, head) + body[0])
        lines += [" " * _LABEL + line for line in body[1:]]
    lines += ["", *_times(result, width), ""]
    if result.passed:
        lines.append(paint(True, "passed"))
    else:
        kind = _FAILURES[result.failure or "other"]
        lines += [
            paint(False, "failed") + line if at == 0 else line
            for at, line in enumerate(_wrapped(f"{': ' + kind}: {result.failure_text}", width - 6))
        ]
    if result.session:
        lines += _wrapped(f"Session: {result.session}", width)
    return "\n".join(lines)


def _times(result: SmokeResult, width: int) -> Iterator[str]:
    yield f"{'ms':{_LABEL}}{'LOAD':>10}{'FWD':>10}{'POST':>10}{'TOTAL':>10}"
    for label, times in (("first frame, cold", result.cold), ("second, warm", result.warm)):
        yield f"{label:{_LABEL}}" + "".join(f"{_ms(value):>10}" for value in _figures(times))
    if result.times_note:
        yield from _wrapped(f"({result.times_note})", width)


def _figures(times: FrameTimes) -> tuple[float | None, ...]:
    return times.load_ms, times.fwd_ms, times.post_ms, times.total_ms


def _ms(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
