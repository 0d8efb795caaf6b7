"""The command: parameters filled in, and what ``python`` means."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.config import RunConfig
from mgtop.config.command import fill, resolve_command, resolve_python
from mgtop.config.errors import ConfigError


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("--steps={steps}", "--steps=24"),
        ("{width}x{height}", "1280x720"),
        ("{{steps}}", "{steps}"),
        ('{{"steps": {steps}}}', '{"steps": 24}'),
        ("{sizes}", "4,2.5,a"),
        ("{ema}", "true"),
        ("{inference.steps}", "3"),
        ("{text}", "{width}"),  # what is filled in is not filled again
        ("no braces", "no braces"),
        ("", ""),
        ("{lr}", "0.0001"),
    ],
)
def test_parameters_are_filled_in(word: str, filled: str) -> None:
    params: dict[str, Any] = {
        "steps": 24, "width": 1280, "height": 720, "sizes": [4, 2.5, "a"], "ema": True,
        "inference.steps": 3, "text": "{width}", "lr": 1e-4,
    }  # fmt: skip
    assert fill(word, params, "c.yaml") == filled


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("{stesp}", "{stesp} is not among params (steps, none, deep)"),
        ("{}", "{} is not among params (steps, none, deep); a { as text is written {{"),
        ("{n:3}", "{n:3} is not among params (steps, none, deep); a { as text is written {{"),
        ("a{b", "'a{b' has a lone {; as text it is written {{"),
        ("a}b", "'a}b' has a lone }; as text it is written }}"),
        ("{none}", "{none} has no value that fits in a command"),
        ("{deep}", "{deep} has no value that fits in a command"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(word: str, message: str) -> None:
    params = {"steps": 24, "none": None, "deep": [[1]]}
    with pytest.raises(ConfigError) as caught:
        fill(word, params, "c.yaml")
    assert str(caught.value) == f"c.yaml: command: {message}"


@given(st.text())
def test_any_text_can_be_written_with_doubled_braces(text: str) -> None:
    assert fill(text.replace("{", "{{").replace("}", "}}"), {}, "c.yaml") == text


def test_no_command() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_command(RunConfig(), "c.yaml")
    assert str(caught.value) == (
        "c.yaml: command: must say what to start, as in [python, infer.py]"
    )


def test_python_is_what_the_configuration_says() -> None:
    config = RunConfig(command=["python", "python", "{n}"], params={"n": 1}, python=sys.executable)
    assert resolve_command(config, "c") == [sys.executable, "python", "1"]
    config = RunConfig(command=["torchrun", "x.py"], python=sys.executable)
    assert resolve_command(config, "c") == ["torchrun", "x.py"]
    config = RunConfig(command=["python", "x.py"])
    assert resolve_command(config, "c") == ["python", "x.py"]


def test_a_python_by_name_is_looked_for_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3.77").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    config = RunConfig(command=["python"], python="python3.77")
    assert resolve_python(config, "c") == str(tmp_path / "python3.77")
    with pytest.raises(ConfigError, match=r"^c: python: python3\.78 is not on the PATH$"):
        resolve_python(RunConfig(python="python3.78"), "c")


def test_a_python_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "text").touch(mode=0o644)
    for name, message in [
        ("none", "does not exist"),
        ("text", "cannot be executed"),
        (".", f"is a folder; name the program, as {tmp_path}/bin/python"),
    ]:
        with pytest.raises(ConfigError) as caught:
            resolve_python(RunConfig(python=str(tmp_path / name)), "c")
        assert str(caught.value) == f"c: python: {tmp_path / name} {message}"


def test_python_and_conda() -> None:
    with pytest.raises(ConfigError, match=r"^c: conda: give python or conda, not both$"):
        resolve_python(RunConfig(python="/p", conda="x"), "c")


# ----------------------------------------------------------------------------- conda


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any conda; the PATH has none either."""
    for name in [name for name in os.environ if name.startswith(("CONDA", "MAMBA"))]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "home"


def environment(folder: Path) -> str:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    return str(folder / "bin" / "python")


def conda(name: str) -> str | None:
    return resolve_python(RunConfig(command=["python"], conda=name), "c.yaml")


def test_in_a_usual_place(home: Path) -> None:
    python = environment(home / "miniconda3" / "envs" / "matrix")
    assert conda("matrix") == python
    assert resolve_command(RunConfig(command=["python"], conda="matrix"), "c") == [python]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CONDA_EXE", "bin/conda"),
        ("MAMBA_EXE", "bin/mamba"),
        ("MAMBA_ROOT_PREFIX", ""),
        ("CONDA_PREFIX", ""),
        ("CONDA_PREFIX", "envs/other"),
    ],
)
def test_by_what_an_activated_shell_says(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    python = environment(tmp_path / "odd" / "envs" / "matrix")
    monkeypatch.setenv(variable, str(tmp_path / "odd" / value))
    assert conda("matrix") == python


def test_base(home: Path) -> None:
    (home / "miniforge3" / "envs").mkdir(parents=True)
    python = environment(home / "miniforge3")
    assert conda("base") == python


def test_by_what_conda_itself_says(home: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "opt" / "envs" / "matrix")
    program = tmp_path / "bin" / "conda"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "info --base" ] && echo {tmp_path}/opt\n')
    program.chmod(0o755)
    assert conda("matrix") == python


def test_by_what_micromamba_itself_says(home: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "opt" / "envs" / "matrix")
    program = tmp_path / "bin" / "micromamba"
    program.write_text(f"#!/bin/sh\necho; echo '   base environment : {tmp_path}/opt'\necho\n")
    program.chmod(0o755)
    assert conda("matrix") == python


@pytest.mark.parametrize("text", ["exit 1", "echo nonsense", "true", "printf '\\377\\n'"])
def test_a_conda_that_does_not_answer(home: Path, tmp_path: Path, text: str) -> None:
    program = tmp_path / "bin" / "conda"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    with pytest.raises(ConfigError, match="there is no conda environment 'matrix'"):
        conda("matrix")


def test_one_of_those_that_conda_keeps_a_list_of(home: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "data" / "matrix")
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(f"/gone/matrix\n{tmp_path}/data/matrix\n")
    assert conda("matrix") == python


def test_by_its_folder(home: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "data" / "matrix")
    assert conda(str(tmp_path / "data" / "matrix")) == python
    with pytest.raises(ConfigError, match=r"/data/none/bin/python does not exist"):
        conda(str(tmp_path / "data" / "none"))


def test_what_was_looked_for_is_said(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        conda("matrix")
    message = str(caught.value)
    assert message.startswith("c.yaml: conda: there is no conda environment 'matrix' (")
    (home / "miniconda3" / "envs").mkdir(parents=True)
    with pytest.raises(ConfigError, match=f"looked for {home}/miniconda3/envs/matrix"):
        conda("matrix")
