"""``mgtop init`` and what ``mgtop run`` makes of a repository, as typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.config.load import load_config

SELF_FORCING = {
    "configs/self_forcing_dmd.yaml": "denoising_step_list:\n- 1000\n",
    "pipeline/causal_inference.py": "class CausalInferencePipeline: ...\n",
    "demo_utils/vae_block3.py": "class VAEDecoderWrapper: ...\n",
}
INFER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
"""


@pytest.fixture(autouse=True)
def no_own_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user of this machine keeps for himself stays out of the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder that looks like Self-Forcing."""
    folder = tmp_path / "repository"
    for name, text in SELF_FORCING.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_known_project(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(repository)]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"Next: mgtop run {repository}\n"
    assert f"{repository} looks like Self-Forcing." in shown.err
    config = load_config(repository)
    assert config.command[:2] == ["python", "inference.py"]
    assert config.edit["configs/self_forcing_dmd.yaml"] == {"denoising_step_list": "steps"}
    assert config.cwd == str(repository)


def test_a_file_that_is_there_is_left_as_it_is(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "mgtop.yaml").write_text("mine: {}\n", encoding="utf-8")
    assert run(["init", str(repository)]) == 2
    assert "is there already and is left as it is" in capsys.readouterr().err
    assert (repository / "mgtop.yaml").read_text(encoding="utf-8") == "mine: {}\n"


def test_a_link_to_nowhere_is_there_too(repository: Path) -> None:
    (repository / "mgtop.yaml").symlink_to(repository / "gone")
    assert run(["init", str(repository)]) == 2
    assert not (repository / "gone").exists()


def test_another_entry_into_another_file(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "rounds" / "demo.yaml"
    place.parent.mkdir()
    assert run(["init", str(repository), "--entry", "demo", "-o", str(place)]) == 0
    config = load_config(place)
    assert config.command[:2] == ["python", "demo.py"]
    assert config.cwd == str(repository)
    assert not (repository / "mgtop.yaml").exists()


def test_an_entry_that_is_none(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(repository), "--entry", "live"]) == 2
    assert "there are inference, demo" in capsys.readouterr().err


def test_the_projects_lie_one_folder_below(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(repository.parent)]) == 2
    assert f"mgtop init {repository} (Self-Forcing)" in capsys.readouterr().err


def test_an_unknown_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my models"
    folder.mkdir()
    (folder / "infer.py").write_text(INFER, encoding="utf-8")
    assert run(["init", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "no project that mgtop knows" in shown.err
    assert shown.out == f"Next: mgtop run '{folder}'\n"
    assert load_config(folder).params == {"steps": 4}


def test_a_script_that_uses_a_known_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "infer.py").write_text("import diffusers\n" + INFER, encoding="utf-8")
    assert run(["init", str(tmp_path)]) == 0
    config = load_config(tmp_path)
    assert config.command == ["python", "infer.py", "--steps", "{steps}"]
    assert any("VideoProcessor" in hook.target for hook in config.frames.hooks)
    assert "infer.py looks like the script to start" in capsys.readouterr().err


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "gone")]) == 2
    assert "There is no folder" in capsys.readouterr().err
    assert run(["init"]) == 2
    assert "Name the repository's folder" in capsys.readouterr().err


def test_the_list_says_what_is_tested(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--list"]) == 0
    shown = capsys.readouterr().out
    for name in ("matrix-game-3.5", "self-forcing", "diffusers", "scope"):
        assert f"\n{name} " in f"\n{shown}"
    assert "comfystream         ComfyStream                  server (untested)" in shown
    assert "config/mgtop/profiles/NAME.yaml" in shown


def test_an_untested_profile_is_said_to_be_so(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(repository), "--profile", "comfystream", "-o", "-"]) == 0
    shown = capsys.readouterr()
    assert "untested" in shown.err
    assert "# From profile comfystream:server, untested." in shown.out


def test_run_names_init_where_there_is_no_file(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(repository)]) == 2
    assert f"looks like Self-Forcing: mgtop init {repository} writes one" in capsys.readouterr().err
    assert run(["run", str(tmp_path)]) == 2
    assert "repository in it looks like Self-Forcing" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["run", str(empty)]) == 2
    assert f"mgtop init {empty} writes a start" in capsys.readouterr().err


def test_a_profile_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--profile", "longliv", "--headless", "--", "true"]) == 2
    assert "did you mean 'longlive'" in capsys.readouterr().err


def test_what_is_wrong_with_an_override_of_a_profile_names_the_profile(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(repository), "--profile", "self-forcing", "--set", "params.seed=[[1]]"]
    assert run(words) == 2
    assert "self-forcing.yaml:" in capsys.readouterr().err
