"""Configurations become plans; secrets stay out of what is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from mgtop.config import RunConfig
from mgtop.config.load import ConfigError, build_config, load_config
from mgtop.record.from_config import (
    config_for_command,
    config_yaml,
    git_state,
    name_of_command,
    plan_from,
)
from mgtop.session.secrets import MASK


def test_paths_start_from_the_configurations_folder(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    path = tmp_path / "steps24.yaml"
    config = RunConfig(
        command=["run.sh", "--steps", "{steps}"], cwd="repo", params={"steps": 24, "fps": 16}
    )
    plan = plan_from(config, path)
    assert plan.cwd == str(tmp_path / "repo")
    assert plan.command == ["run.sh", "--steps", "24"]
    assert plan.name == "steps24"
    assert plan.settings.target_fps == 16
    assert plan_from(config, path, name="other").name == "other"
    assert plan_from(config, tmp_path / "mgtop.yaml").name == tmp_path.name


def test_a_command_is_taken_literally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["python", "x.py", "--json", '{"a": {b}}']
    config = build_config(config_for_command(command), ["params.fps=12"])
    plan = plan_from(config, Path("command"))
    assert plan.command == command
    assert plan.cwd == str(tmp_path)
    assert plan.settings.target_fps == 12


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "infer.py", "--steps"], "infer"),
        (["/opt/conda/bin/python3.10", "-u", "a/generate.py"], "generate"),
        (["python", "-m", "pkg.sub.tool"], "tool"),
        (["torchrun", "--nproc_per_node=2", "generate.py"], "generate"),
        (["./start.sh", "x.py"], "start"),
        (["python", "-c", "pass"], "python"),
    ],
)
def test_sessions_are_named_after_what_runs(command: list[str], name: str) -> None:
    assert name_of_command(command) == name


def test_hooks_as_the_only_source_need_one_that_tells_of_frames(tmp_path: Path) -> None:
    frames = {"from": "hooks", "hooks": [{"target": "a:b", "span": "decode"}]}
    config = build_config({"command": ["true"], "frames": frames})
    with pytest.raises(ConfigError, match=r"frames.from: is hooks, but no hook under frames.hooks"):
        plan_from(config, tmp_path / "c.yaml")


def test_the_kept_configuration_can_be_run_again(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "command: [sh, -c, 'echo {steps}', a.yaml]\nparams: {steps: 4}\n"
    )
    path = tmp_path / "round.yaml"
    path.write_text(
        "baseline: base.yaml\nparams: {steps: 8, db_password: hush}\ncwd: .\n"
        "env: {A: '1', MY_TOKEN: hush, URL: 'http://me:hush@host/x'}\n"
        "smoke: {command: [x, --token, hush], output: o}\n"
        "edit: {a.yaml: {model.api_key: db_password}}\n"
    )
    (tmp_path / "a.yaml").write_text("model: {api_key: none}\n")
    config = load_config(path)
    plan = plan_from(config, path)
    kept = tmp_path / "session" / "config.yaml"
    kept.parent.mkdir()
    kept.write_text(config_yaml(config, path, plan))
    assert "hush" not in kept.read_text()
    again = plan_from(load_config(kept), kept)
    assert (again.command, again.cwd, again.name) == (plan.command, plan.cwd, plan.name)
    assert again.params == {**plan.params, "db_password": MASK}
    data = yaml.safe_load(kept.read_text())
    assert data["env"] == {"A": "1", "MY_TOKEN": MASK, "URL": f"http://{MASK}@host/x"}
    assert data["smoke"]["command"] == ["x", "--token", MASK]
    assert data["edit"] == {"a.yaml": {"model.api_key": "db_password"}}


def test_git_state(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    state = git_state(tmp_path)
    assert state is not None
    assert len(state) == 12
    (tmp_path / "file").write_text("1")
    subprocess.run(["git", "-C", str(tmp_path), "add", "file"], check=True)
    assert git_state(tmp_path) == f"{state}-dirty"
