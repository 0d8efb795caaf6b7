"""Sweeps of a real program: what is kept of each round, what is left out, and going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from round_programs import Workplace, until

from mgtop.config.errors import ConfigError
from mgtop.record.from_config import plan_from
from mgtop.record.launch import start
from mgtop.record.status import read_status
from mgtop.record.tree import is_running
from mgtop.rounds.one_round import run_round
from mgtop.rounds.results import result_of
from mgtop.rounds.starting import FolderTaken, open_folder
from mgtop.rounds.state import find_sweep_of, find_unfinished, hold, read_state
from mgtop.session.lock import SessionBusy, is_live
from mgtop.session.writer import SessionWriteError

pytestmark = pytest.mark.e2e


def test_a_sweep_of_a_real_program(workplace: Workplace) -> None:
    workplace.config()
    code, state, prepared = workplace.carry_out(vary=["steps=8,4"], repeats=2)
    assert code == 0
    assert state.status == "finished"
    assert [(r.setting["steps"], r.repeat) for r in state.rounds] == [
        (4, 1),
        (8, 1),
        (8, 2),
        (4, 2),
    ]
    result = result_of(state, prepared.variables)
    assert [row.params["steps"] for row in result.table] == [4, 8]
    for row, least in zip(result.table, (2, 4), strict=True):
        assert row.p50_frame_ms[1] is not None
        assert least <= row.p50_frame_ms[1] < 4 * least
    sessions = workplace.sessions()
    assert sorted(s.name.split("-tiny-")[1] for s in sessions) == [
        "steps=4-repeat=1", "steps=4-repeat=2", "steps=8-repeat=1", "steps=8-repeat=2",
    ]  # fmt: skip
    assert find_sweep_of(sessions[0]) == workplace.sweeps()[0]
    assert find_sweep_of(workplace.folder) is None
    assert len(workplace.lines) == 4
    assert "left" in workplace.lines[0]
    assert workplace.lines[-1].startswith("[4/4] steps=4 #2: P50 ")


def test_memory_that_runs_out_is_a_finding_and_larger_settings_are_skipped(
    workplace: Workplace,
) -> None:
    workplace.config()
    code, state, prepared = workplace.carry_out(vary=["width=2000,4000,5000"], repeats=2)
    assert code == 0
    result = result_of(state, prepared.variables)
    rows = {(row.params["width"], row.repeat): row for row in result.rounds}
    assert (rows[2000, 1].oom, rows[2000, 1].oom_stage, rows[2000, 1].oom_frame) == (
        True, "steady", 13,
    )  # fmt: skip
    assert rows[2000, 2].oom  # it loads, so it is tried again
    assert rows[4000, 1].oom_place == "load"
    assert "out of memory at load" in rows[4000, 1].note
    for skipped in ((4000, 2), (5000, 1), (5000, 2)):
        assert rows[skipped].status == "skipped"
        assert "width=4000 could not be loaded" in rows[skipped].note
        assert rows[skipped].session is None
    assert [row.oom for row in result.table] == ["frame 13", "load", None]
    assert result.choice.params is None


def test_a_round_that_fails_is_recorded_and_the_sweep_goes_on(workplace: Workplace) -> None:
    workplace.config()
    code, state, _ = workplace.carry_out(vary=["steps=13,4"])
    assert code == 0
    failed = next(r for r in state.rounds if r.setting == {"steps": 13})
    assert failed.status == "failed"
    assert failed.row is not None
    assert failed.row.note == ("the program failed with exit code 1: 13 steps are not supported")


def test_where_no_round_gives_figures_the_target_failed(workplace: Workplace) -> None:
    workplace.config()
    code, state, _ = workplace.carry_out(vary=["steps=13"])
    assert code == 3
    assert "13 steps are not supported" in state.message


def test_a_program_that_cannot_be_started_ends_the_sweep(workplace: Workplace) -> None:
    workplace.config(command=["no-such-program", "{steps}"])
    code, state, _ = workplace.carry_out(vary=["steps=4,8"])
    assert code == 2
    assert "no-such-program" in state.message
    assert state.status == "failed"
    assert all(found.status == "waiting" for found in state.rounds)


def test_gates_drop_settings_and_decide_the_exit_code(workplace: Workplace) -> None:
    workplace.config(gate=["interval_ms.p50 < 7"])
    code, state, prepared = workplace.carry_out(vary=["steps=4,16"])
    assert code == 0
    assert result_of(state, prepared.variables).choice.params == {"steps": 4}
    dropped = next(r.row for r in state.rounds if r.setting == {"steps": 16})
    assert dropped is not None
    assert dropped.gates[0].startswith("gate not met: interval_ms.p50 < 7 (it is ")
    code, state, _ = workplace.carry_out(vary=["steps=4"], gates=["memory.peak.mib < 1"])
    assert code == 1
    assert "the value is not known" in state.message


def test_an_edited_copy_carries_the_parameter(workplace: Workplace) -> None:
    settings = workplace.folder / "settings.yaml"
    settings.write_text("# how many\nsampling: {steps: 4}  # default\n")
    program = workplace.folder / "edited.py"
    program.write_text(
        "import re, sys\nsys.argv[1:] = [re.search(r'steps: (\\d+)', open(sys.argv[1]).read())[1],"
        " '640', '24']\n" + (workplace.folder / "program.py").read_text()
    )
    workplace.config(
        command=[sys.executable, "edited.py", "settings.yaml"],
        edit={"settings.yaml": {"sampling.steps": "steps"}},
    )
    code, state, _ = workplace.carry_out(vary=["steps=4,12"])
    assert code == 0
    p50 = [found.row.p50_frame_ms for found in state.rounds if found.row is not None]
    assert p50[0] is not None
    assert p50[1] is not None
    assert p50[1] > 1.8 * p50[0]
    session = state.rounds[1].session
    assert session is not None
    copy = Path(session) / "edited" / "settings.yaml"
    assert copy.read_text() == "# how many\nsampling: {steps: 12}  # default\n"
    assert "steps: 4" in settings.read_text()


def test_a_stopped_sweep_goes_on_and_runs_nothing_twice(workplace: Workplace) -> None:
    """SIGKILL while the third of four rounds runs; then the same command again."""
    workplace.config(params={"frames": 200})  # 0.4 s and 0.8 s a round
    arguments = ("sweep", "tiny.yaml", "--vary", "steps=4,8", "--repeats", "2", "--headless")
    first = workplace.mgtop(*arguments)

    def third_runs() -> Path | None:
        for folder in workplace.sweeps():
            state = read_state(folder)
            if state is not None and len(state.rounds) == 4 and state.rounds[2].session:
                return folder
        return None

    folder = until(third_runs)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = read_state(folder)
    assert before is not None
    assert [found.status for found in before.rounds] == ["done", "done", "running", "waiting"]
    second = workplace.mgtop(*arguments, "--json")
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert "goes on where it was left: 2 of 4 rounds are kept" in err
    after = read_state(folder)
    assert after is not None
    assert after.status == "finished"
    assert workplace.sweeps() == [folder]
    assert len(workplace.sessions()) == 4  # the round that ran on by itself was taken over
    assert [found.session for found in after.rounds[:3]] == [r.session for r in before.rounds[:3]]
    assert [found.attempts for found in after.rounds] == [1, 1, 2, 1]
    data = json.loads(out)
    assert len(data["rounds"]) == 4
    assert all(row["p50_frame_ms"] is not None for row in data["rounds"])
    assert find_unfinished(after.order.fingerprint) is None


def test_a_program_that_lost_its_recorder_is_ended_before_its_round_is_run_anew(
    workplace: Workplace,
) -> None:
    workplace.config()
    prepared = workplace.prepared(vary=["steps=4"])
    job = prepared.job({"steps": 4}, 1, 1)
    params = {**job.config.params, "frames": 5_000}
    endless = msgspec.structs.replace(job.config, params=params)
    recording = start(plan_from(endless, Path(job.path)))
    recording.recorder.kill()
    recording.recorder.wait()
    assert is_running(recording.target_pid)
    ended = run_round(job, previous=recording.folder)
    assert not is_running(recording.target_pid)
    assert ended.row.counted > 10
    assert ended.row.session != str(recording.folder)


def test_an_interrupted_sweep_ends_its_program_and_says_how_to_go_on(workplace: Workplace) -> None:
    workplace.config(params={"frames": 5_000})
    process = workplace.mgtop("sweep", "tiny.yaml", "--vary", "steps=4,8", "--headless")

    def target() -> int | None:
        for folder in workplace.sessions():
            status = read_status(folder)
            if status is not None and status.target_pid is not None:
                return status.target_pid
        return None

    pid = until(target)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on where it was left" in err
    assert "Traceback" not in err
    assert not is_running(pid)
    state = read_state(workplace.sweeps()[0])
    assert state is not None
    assert state.status == "stopped"
    assert {found.status for found in state.rounds} == {"waiting"}


def test_a_folder_of_ones_own_keeps_everything_and_is_not_mixed_up(workplace: Workplace) -> None:
    workplace.config()
    out = str(workplace.folder / "out")
    code, state, prepared = workplace.carry_out(vary=["steps=4"], out=out)
    assert code == 0
    session = state.rounds[0].session
    assert session is not None
    assert Path(session).parent == Path(out)
    assert workplace.sweeps() == []
    opened = open_folder(prepared)
    assert opened.finished
    with pytest.raises(FolderTaken, match="holds another sweep"):
        open_folder(workplace.prepared(vary=["steps=8"], out=out))
    with pytest.raises(FolderTaken, match="holds a session"):
        open_folder(workplace.prepared(vary=["steps=8"], out=session))
    moved = Path(out).rename(workplace.folder / "out-moved")
    found = open_folder(workplace.prepared(vary=["steps=4"], out=str(moved)))
    assert found.finished
    kept = found.state.rounds[0]
    assert kept.row is not None
    assert kept.session == kept.row.session == str(moved / Path(session).name)
    assert Path(kept.session).is_dir()


def test_a_round_whose_begin_cannot_be_noted_does_not_go_on_unseen(workplace: Workplace) -> None:
    workplace.config(params={"frames": 100_000})
    seen: list[Path] = []

    def begun(folder: Path) -> None:
        seen.append(folder)
        raise SessionWriteError("no space left")

    with pytest.raises(SessionWriteError):
        run_round(workplace.prepared(vary=["steps=4"]).job({"steps": 4}, 1, 1), begun=begun)
    assert not is_live(seen[0])
    status = read_status(seen[0])
    assert status is not None
    assert (status.state, status.reason) == ("ended", "stopped")


def test_one_process_runs_a_sweep_at_a_time(workplace: Workplace) -> None:
    workplace.config()
    opened = open_folder(workplace.prepared(vary=["steps=4"]))
    with hold(opened.folder):
        code = "import sys, pathlib, mgtop.rounds.state as s; s.hold(pathlib.Path(sys.argv[1]))"
        words = [sys.executable, "-c", code, str(opened.folder)]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 1
        assert SessionBusy.__name__ in err
        again = open_folder(workplace.prepared(vary=["steps=4"]))
        assert again.pid == os.getpid()
        assert again.folder == opened.folder


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"vary": []}, "say what varies"),
        ({"vary": ["fps=25,50"]}, "{fps} stands neither in command nor in edit"),
        ({"vary": ["steps=4", "width=5", "frames=6"]}, "3 variables are too many"),
        ({"vary": ["steps=4", "steps=5"]}, "is varied twice"),
        ({"vary": ["resolution=4x4", "width=5"]}, "sets width and height itself"),
        ({"vary": ["steps=4"], "gates": ["p50 < 3"]}, "--gate"),
        ({"vary": ["steps=4,8"], "repeats": 600}, "more than 1,000 rounds"),
    ],
)
def test_what_cannot_be_swept_is_told_before_anything_runs(
    workplace: Workplace, more: dict[str, object], words: str
) -> None:
    workplace.config()
    with pytest.raises(ConfigError) as told:
        workplace.prepared(**more)
    assert words in str(told.value)
    assert workplace.sweeps() == []


def test_errors_of_the_file_name_its_line(workplace: Workplace) -> None:
    path = workplace.config(gate=["nonsense"])
    with pytest.raises(ConfigError) as told:
        workplace.prepared(vary=["steps=4"])
    assert str(told.value).startswith(f"{path}:")
