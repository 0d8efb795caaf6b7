"""Rounds on a real Ray cluster of this machine, also with a worker that is killed midway."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from round_programs import Workplace, until

from mgtop.rounds.results import result_of
from mgtop.rounds.state import read_state

pytest.importorskip("ray", reason="Ray is not installed (pip install 'mgtop[ray]')")
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
ARGUMENTS = ("sweep", "tiny.yaml", "--vary", "steps=4,8", "--repeats", "2", "--headless",
             "--on", "ray")  # fmt: skip


def test_the_table_is_that_of_rounds_run_here(workplace: Workplace) -> None:
    workplace.config()
    process = workplace.mgtop(*ARGUMENTS)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    state = read_state(Path(out.splitlines()[-1]))
    assert state is not None
    assert state.status == "finished"
    table = result_of(state, workplace.prepared(vary=["steps=4,8"]).variables).table
    assert [row.params for row in table] == [{"steps": 4}, {"steps": 8}]
    assert [row.repeats for row in table] == [2, 2]
    assert len(workplace.sessions()) == 4
    assert all("-tiny-steps=" in folder.name for folder in workplace.sessions())


def workers_of(session: Path) -> list[int]:
    """The Ray worker that waits for a session: the parent of its recorder."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        if b"mgtop.record" in words and os.fsencode(session) in words:
            found.append(int(stat.rpartition(")")[2].split()[1]))
    return found


def test_a_worker_that_is_killed_costs_no_round(workplace: Workplace) -> None:
    workplace.config(params={"frames": 1_000})  # two and four seconds a round
    process = workplace.mgtop(*ARGUMENTS)

    def worker() -> int | None:
        for folder in workplace.sessions():
            for pid in workers_of(folder):
                return pid
        return None

    os.kill(until(worker, 60), signal.SIGKILL)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    state = read_state(Path(out.splitlines()[-1]))
    assert state is not None
    assert [found.status for found in state.rounds] == ["done"] * 4
    assert sum(found.attempts for found in state.rounds) == 5
    assert all(found.row is not None and found.row.counted > 900 for found in state.rounds)


def test_a_cluster_that_is_not_there_is_told(workplace: Workplace) -> None:
    workplace.config()
    process = workplace.mgtop(*ARGUMENTS[:-1], "nonsense")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "it is ray, or ray://ADDRESS" in err
