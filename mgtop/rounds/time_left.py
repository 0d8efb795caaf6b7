"""How long the rounds that are left will take."""

from __future__ import annotations

from mgtop.rounds.state import Round, State
from mgtop.rounds.variables import same_setting


def time_left_s(state: State, now_s: float) -> float | None:
    """Seconds until the last round ends, by what finished ones took; None: nothing is known.

    A round takes what others of its setting took; else what rounds took on average. Where
    several run at once, the work that is left is shared among them.
    """
    took = [found for found in state.rounds if found.took_s is not None]
    left = [found for found in state.rounds if found.status in ("waiting", "running")]
    if not left:
        return 0.0
    if not took:
        return None
    running = [found for found in left if found.status == "running"]
    total = 0.0
    for found in left:
        wanted = _usual_s(found, took)
        if found.status == "running" and found.began_s is not None:
            wanted = max(0.0, wanted - (now_s - found.began_s))
        total += wanted
    return total / max(1, len(running))


def _usual_s(found: Round, took: list[Round]) -> float:
    own = [r.took_s for r in took if same_setting(r.setting, found.setting) and r.took_s]
    times = own or [r.took_s for r in took if r.took_s is not None]
    return sum(times) / len(times)
