"""Copies of the target's YAML files: which, where, and which word of the command names them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mgtop.config import RunConfig
from mgtop.config.load import ConfigError
from mgtop.record.edited import place_copies
from mgtop.record.from_config import plan_from
from mgtop.record.plan import Plan

FILE = """\
model:  # the large one
  sample_steps: 24   # see the paper
  sizes: [4, 8]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "a.yaml").write_text(FILE)
    return folder


def plan_for(project: Path, command: list[str], **given: object) -> Plan:
    settings: dict[str, object] = {
        "params": {"steps": 16, "sizes": [2, 4, 8]},
        "edit": {"conf/a.yaml": {"model.sample_steps": "steps", "model.sizes": "sizes"}},
    }
    config = RunConfig(command=command, **{**settings, **given})  # type: ignore[arg-type]
    return plan_from(config, project / "c.yaml")


def refusal(project: Path, command: list[str], **given: object) -> str:
    with pytest.raises(ConfigError) as caught:
        plan_for(project, command, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("conf/a.yaml", "{copy}"),
        ("./conf/a.yaml", "{copy}"),
        ("--config=conf/a.yaml", "--config={copy}"),
        ("config_file=conf/../conf/a.yaml", "config_file={copy}"),
        ("{project}/conf/a.yaml", "{copy}"),
    ],
)
def test_the_copy_is_edited_and_named(
    project: Path, tmp_path: Path, word: str, becomes: str
) -> None:
    word = word.replace("{project}", str(project))
    plan = plan_for(project, ["python", "infer.py", word, "--n", "1"])
    session = tmp_path / "session"
    session.mkdir()
    placed = place_copies(plan, session)
    copy = session / "edited" / "conf" / "a.yaml"
    assert placed.command == [
        "python", "infer.py", becomes.replace("{copy}", str(copy)), "--n", "1",
    ]  # fmt: skip
    assert placed.edited == []
    assert copy.read_text() == FILE.replace(": 24", ": 16").replace("[4, 8]", "[2, 4, 8]")
    assert (project / "conf" / "a.yaml").read_text() == FILE


def test_every_word_that_names_it_is_replaced(project: Path, tmp_path: Path) -> None:
    plan = plan_for(project, ["x", "conf/a.yaml", "--again=conf/a.yaml"])
    command = place_copies(plan, tmp_path).command
    assert command == [
        "x",
        f"{tmp_path}/edited/conf/a.yaml",
        f"--again={tmp_path}/edited/conf/a.yaml",
    ]


def test_files_of_one_name_from_other_folders_do_not_meet(project: Path, tmp_path: Path) -> None:
    for place in ("a.yaml", "b/a.yaml"):
        path = project.parent / "elsewhere" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("n: 1\n")
    names = [str(project.parent / "elsewhere" / "a.yaml"), "../elsewhere/b/a.yaml"]
    plan = plan_for(project, ["x", *names], edit={name: {"n": "steps"} for name in names})
    command = place_copies(plan, tmp_path / "s").command
    assert len({*command}) == 3
    assert [yaml.safe_load(Path(word).read_text()) for word in command[1:]] == [{"n": 16}] * 2
    assert all(Path(word).is_relative_to(tmp_path / "s" / "edited") for word in command[1:])


def test_a_word_that_merely_ends_alike_is_another_file(project: Path) -> None:
    said = refusal(project, ["x", "other/conf/a.yaml", "-cconf/a.yaml"])
    assert "edit.conf/a.yaml: no word of the command is conf/a.yaml or ends in" in said


def test_what_is_missing_is_said_with_what_may_be_meant(project: Path) -> None:
    edit = {"conf/a.yaml": {"model.sample_stps": "steps"}}
    said = refusal(project, ["x", "conf/a.yaml"], edit=edit)
    assert "has no model.sample_stps (did you mean 'model.sample_steps'?)" in said
    edit = {"conf/a.yaml": {"model.sample_steps": "step"}}
    said = refusal(project, ["x", "conf/a.yaml"], edit=edit)
    assert "'step' is not among params (did you mean 'steps'?)" in said
    edit = {"conf/b.yaml": {"n": "steps"}}
    said = refusal(project, ["x", "conf/b.yaml"], edit=edit)
    assert "conf/b.yaml cannot be read: No such file or directory" in said


def test_what_is_no_file_of_yaml_is_said(project: Path) -> None:
    edit = {"conf": {"n": "steps"}}
    assert "Is a directory" in refusal(project, ["x", "conf"], edit=edit)
    (project / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    edit = {"bytes.yaml": {"n": "steps"}}
    assert "is not UTF-8 text" in refusal(project, ["x", "bytes.yaml"], edit=edit)
    (project / "bytes.yaml").write_text("a: [")
    assert "is not YAML" in refusal(project, ["x", "bytes.yaml"], edit=edit)
    edit = {"conf/a.yaml": {"model.sizes": "sizes"}, "./conf/a.yaml": {"model.sizes": "sizes"}}
    assert "the same file" in refusal(project, ["x", "conf/a.yaml"], edit=edit)
