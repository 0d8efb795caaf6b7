"""Rows and states of rounds, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mgtop.rounds.row import Row
from mgtop.rounds.state import Order, Round, State


def row(setting: dict[str, Any], p50: float | None = 20.0, **more: Any) -> Row:
    """A round with figures; without, where ``p50`` is None."""
    counted = 0 if p50 is None else 100
    fields: dict[str, Any] = {
        "params": setting,
        "p50_frame_ms": p50,
        "p95_frame_ms": None if p50 is None else 1.1 * p50,
        "max_frame_ms": None if p50 is None else 1.2 * p50,
        "tails": None if p50 is None else 0,
        "counted": counted,
        "took_s": 10.0,
        "status": "failed" if p50 is None else "done",
    }
    return Row(**(fields | more))


def oom(setting: dict[str, Any], stage: str, frame: int | None = None, **more: Any) -> Row:
    """A round that ran out of memory before it gave figures."""
    return row(
        setting, None, oom=True, oom_stage=stage, oom_frame=frame, **({"status": "done"} | more)
    )


def state_of(rows: Sequence[Row], waiting: int = 0, **more: Any) -> State:
    """A sweep whose first rounds are over."""
    rounds = [
        Round(
            number=n, setting=found.params, repeat=found.repeat, took_s=found.took_s, row=found,
            status="skipped" if found.status == "skipped" else "done",
        )
        for n, found in enumerate(rows)
    ]  # fmt: skip
    rounds += [Round(number=len(rows) + n, setting={"steps": 99 + n}) for n in range(waiting)]
    order = Order(kind="sweep", config="/c.yaml", vary=["steps=4,8"])
    return State(**({"order": order, "name": "c", "began_s": 1000.0, "rounds": rounds} | more))
