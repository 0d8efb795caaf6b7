"""``mgtop run CONFIG``: rounds, parameters in the target's own files, hooks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from machine import FRAMES, PYTHON, Machine, last_line, records_of

from mgtop.wire.records import FrameEmit, SessionStart, TargetStart

pytestmark = pytest.mark.e2e

SHOW = """
import sys
print(open(sys.argv[1]).read(), end="")
"""
SETTINGS = (
    "model:  # large\n  sample_steps: 24   # as in the paper\n  sizes:\n  - 1\n  - 2\n  - 3\n"
)


@pytest.fixture
def project(mgtop: Machine) -> Path:
    folder = mgtop.folder
    (folder / "conf").mkdir()
    (folder / "conf" / "infer.yaml").write_text(SETTINGS)
    (folder / "show.py").write_text(SHOW)
    (folder / "base.yaml").write_text(
        "command: [python, show.py, conf/infer.yaml, --token, '{token}']\n"
        f"python: {PYTHON}\n"
        "params: {steps: 24, sizes: [1, 2, 3], token: hush-hush}\n"
        "edit: {conf/infer.yaml: {model.sample_steps: steps, model.sizes: sizes}}\n"
    )
    return folder


def test_the_program_reads_an_edited_copy(mgtop: Machine, project: Path) -> None:
    arguments = ["--set", "params.steps=16", "--set", "params.sizes=[4, 8]"]
    done = mgtop.run("run", "base.yaml", "--headless", *arguments)
    assert done.returncode == 0, done.stderr
    folder = last_line(done.stdout)
    edited = SETTINGS.replace(": 24", ": 16").replace("- 1\n  - 2\n  - 3", "- 4\n  - 8")
    assert (folder / "stdout.log").read_text() == edited
    assert (folder / "edited" / "conf" / "infer.yaml").read_text() == edited
    assert (project / "conf" / "infer.yaml").read_text() == SETTINGS
    target = next(r for r in records_of(folder) if isinstance(r, TargetStart))
    assert target.command[1:] == ["show.py", f"{folder}/edited/conf/infer.yaml", "--token", "***"]


def test_no_secret_stays_in_the_session(mgtop: Machine, project: Path) -> None:
    (project / "round.yaml").write_text("baseline: base.yaml\nparams: {token: hush-again}\n")
    done = mgtop.run("run", "round.yaml", "--headless")
    folder = last_line(done.stdout)
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"hush" not in everything
    assert "hush" not in folder.name
    assert "hush" not in done.stderr
    first = records_of(folder)[0]
    assert isinstance(first, SessionStart)
    assert first.params == {"steps": 24, "sizes": [1, 2, 3], "token": "***"}


def test_one_difference_from_the_baseline_is_in_the_name(mgtop: Machine, project: Path) -> None:
    (project / "round.yaml").write_text("baseline: base.yaml\nparams: {steps: 16}\n")
    done = mgtop.run("run", "round.yaml", "--headless")
    assert last_line(done.stdout).name.endswith("-round-steps=16")
    assert "differs" not in done.stderr


def test_more_than_one_difference_is_said(mgtop: Machine, project: Path) -> None:
    (project / "round.yaml").write_text(
        "baseline: base.yaml\nparams: {steps: 16}\nenv: {A: '1'}\ngate: ['fps > 1']\n"
    )
    arguments = ["--set", "params.sizes=[4, 8]", "--set", "smoke={command: [x], output: o}"]
    done = mgtop.run("run", "round.yaml", "--headless", *arguments)
    (line,) = [line for line in done.stderr.splitlines() if "differs" in line]
    assert line == (
        "mgtop: round.yaml differs from its baseline base.yaml in 3 things, so what is seen "
        "cannot be put down to one of them: params.steps (24 → 16), "
        "params.sizes ([1, 2, 3] → [4, 8]), env.A (n/a → 1)"
    )
    assert last_line(done.stdout).name.endswith("-round-steps=16-sizes=_4_8-env.A=1")


def test_hooks_tell_of_the_frames_of_a_program_that_nobody_changed(
    mgtop: Machine, project: Path
) -> None:
    (project / "frames.py").write_text("def show(n):\n    return [0] * n\n")
    (project / "main.py").write_text("import frames\nfor _ in range(5):\n    frames.show(3)\n")
    (project / "hooks.yaml").write_text(
        f"command: [{PYTHON}, main.py]\nframes:\n  hooks:\n"
        "    - {target: 'frames:show', event: frame_emit, count: len(result)}\n"
    )
    done = mgtop.run("run", "hooks.yaml", "--headless")
    report = mgtop.run("report", "--json", str(last_line(done.stdout)))
    told = json.loads(report.stdout)
    assert told["target"]["route"] == "hooks"
    assert [(r["frames"], r["blocks"]) for r in told["requests"]] == [(15, 5)]


def test_a_wrong_hook_is_said_before_anything_starts(mgtop: Machine, project: Path) -> None:
    path = project / "hooks.yaml"
    for line, message in [
        ("{target: 'a:b', event: frame_emit, count: 'f(result)'}", "count: 'f(result)' cannot be"),
        ("{target: 'a:b', event: frame_emitted}", "event: is 'frame_emitted', but must be one of"),
        ("{target: a.b, event: frame_emit}", "target: is 'a.b', but must be package.module:"),
        ("{target: '__main__:b', event: frame_emit}", "target: is in __main__, whose functions"),
        ("{target: 'a:b', event: frame_emit, every: '{n}'}", "every: {n} is not among params"),
        ("{target: 'a:b', event: frame_emit, every: x}", "every: 'x' is not a whole number"),
    ]:
        path.write_text(f"command: ['true']\nframes:\n  hooks:\n    - {line}\n")
        done = mgtop.run("run", "hooks.yaml", "--headless")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"hooks.yaml:4: frames.hooks[0].{message}" in done.stderr
    assert mgtop.sessions() == []


def test_what_is_wrong_is_said_with_file_line_and_key(mgtop: Machine, project: Path) -> None:
    (project / "round.yaml").write_text("baseline: base.yaml\nname: r\n")
    for arguments, message in [
        (["frames.from=hooks"], "--set: frames.from: is hooks, but no hook under frames.hooks"),
        (["python=/nix"], "--set: python: /nix does not exist"),
        (["command=[x]"], "base.yaml:4: edit.conf/infer.yaml: no word of the command is conf/"),
        (["edit={conf/infer.yaml: {steps: steps}}"], "did you mean 'model.sample_steps'?"),
        (['gate=["fps > 1", "fps >"]'], "--set: gate[1]: 'fps >' is no gate: "),
    ]:
        sets = [word for text in arguments for word in ("--set", text)]
        done = mgtop.run("run", "round.yaml", "--headless", *sets)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert message in done.stderr
    done = mgtop.run("run", "--headless", "--set", "python=/nix", "--", "python3")
    assert done.stderr == "mgtop: --set: python: /nix does not exist\n"
    assert mgtop.sessions() == []


def test_a_folder_that_was_deleted_is_said(mgtop: Machine) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; exec "{PYTHON}" -m mgtop run --headless -- true'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=mgtop.folder,
        env=mgtop.env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "mgtop: The folder that you are in was deleted; go to another one first.\n",
    )


def test_a_relative_runtime_folder_is_where_the_user_is(mgtop: Machine) -> None:
    mgtop.env["MGTOP_RUNTIME"] = "pipes"
    (mgtop.folder / "elsewhere").mkdir()
    (mgtop.folder / "elsewhere" / "frames.py").write_text(FRAMES)
    (mgtop.folder / "run.yaml").write_text(
        f"command: [python, frames.py, '3']\npython: {PYTHON}\ncwd: elsewhere\n"
    )
    done = mgtop.run("run", "run.yaml", "--headless")
    assert done.returncode == 0, done.stderr
    assert len([r for r in records_of(last_line(done.stdout)) if isinstance(r, FrameEmit)]) == 3
    assert (mgtop.folder / "pipes").is_dir()
