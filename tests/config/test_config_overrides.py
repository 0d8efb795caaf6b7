"""``--set KEY=VALUE``: values as in the file, errors as kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mgtop.config import RunConfig
from mgtop.config.load import ConfigError, build_config, load_config

TEXT = """\
command: [python, infer.py, --steps, "{steps}"]
params: {steps: 24, fps: 16, inference.steps: 3}
env: {A: "1"}
detect:
  ratio: 3
"""
UNENDED = "is not valid YAML: expected ',' or ']', but got '<stream end>'"


def load(tmp_path: Path, *overrides: str) -> RunConfig:
    (tmp_path / "c.yaml").write_text(TEXT)
    return load_config(tmp_path / "c.yaml", overrides)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16", 16), ("1e-4", 0.0001), ("true", True), ("yes", "yes"), ("", ""), ("~", None),
        ("1280x720", "1280x720"), ("a: b", "a: b"), ("# x", "# x"), ("*x", "*x"), ("%d", "%d"),
        ("a=b", "a=b"), ('"16"', "16"), ("'a: b'", "a: b"), ("[4, 8]", [4, 8]),
        ("{a: 1}", {"a": 1}), (" 16 ", 16), ("007", "007"), ("-", "-"), ("- a", "- a"),
        ("2026-11-30", "2026-11-30"), ("暴风", "暴风"), ("!x", "!x"), ("&a", "&a"), ("|", "|"),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, text: str, value: Any) -> None:
    found = load(tmp_path, f"params.x={text}").params["x"]
    assert found == value
    assert type(found) is type(value)


def test_over_the_file_and_beside_it(tmp_path: Path) -> None:
    config = load(
        tmp_path, "params.steps=16", "detect.floor_ms=4", "warmup.emits=0", "name=other",
        "env.OMP_NUM_THREADS=1", "env.A=2", "target_fps=12.5", "gate=[fps > 10]",
    )  # fmt: skip
    assert config.params == {"steps": 16, "fps": 16, "inference.steps": 3}
    assert (config.detect.ratio, config.detect.floor_ms, config.warmup.emits) == (3.0, 4.0, 0)
    assert config.env == {"A": "2", "OMP_NUM_THREADS": "1"}
    assert (config.name, config.target_fps, config.gate) == ("other", 12.5, ["fps > 10"])


def test_names_of_parameters_may_hold_dots(tmp_path: Path) -> None:
    config = load(tmp_path, "params.inference.steps=4", "params.a.b=1")
    assert config.params == {"steps": 24, "fps": 16, "inference.steps": 4, "a.b": 1}


def test_a_whole_mapping(tmp_path: Path) -> None:
    assert load(tmp_path, "detect={floor_ms: 1}").detect.ratio == 2.0
    assert load(tmp_path, "edit={c.yaml: {a.b: steps}}").edit == {"c.yaml": {"a.b": "steps"}}


def test_the_last_one_counts(tmp_path: Path) -> None:
    assert load(tmp_path, "params.steps=1", "params.steps=2").params["steps"] == 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("params", "'params' is not KEY=VALUE, as in params.steps=16"),
        ("=4", "'=4' is not KEY=VALUE, as in params.steps=16"),
        ("params.=4", "'params.=4' is not KEY=VALUE, as in params.steps=16"),
        ("param.steps=4", "param: is not a known key (did you mean 'params'?)"),
        ("detect.flor_ms=4", "detect.flor_ms: is not a known key (did you mean 'floor_ms'?)"),
        ("detect.ratio=x", "detect.ratio: must be a number above 0, but is 'x'"),
        ("detect.ratio=0", "detect.ratio: must be a number above 0, but is 0"),
        ("detect={ratio: 0}", "detect.ratio: must be a number above 0, but is 0"),
        ("warmup={emit: 0}", "warmup.emit: is not a known key (did you mean 'emits'?)"),
        ("params=4", "params: must be a mapping, but is 4"),
        ("name.x=4", "name: must be text, but is a mapping"),
        ("command.x=4", "command.x: command holds no keys"),
        ("env.A=true", 'env.A: must be text, but is true; write "true"'),
        (
            "command=python x.py",
            "command: must be a list, but is 'python x.py'; write [python, x.py]",
        ),
        ("command=[python", f"command: {UNENDED}"),
        ("params.x=[a", f"params.x: {UNENDED}"),
        ("params.x={a: 1, a: 2}", "params.x.a: is given twice (first in line 1)"),
        (
            "params.x=[!!python/name:os.x y]",
            "params.x[0]: the YAML tag !!python/name:os.x is not allowed",
        ),
        ("params.x=" + "9" * 30, "params.x: is too large for a number; text needs quotes"),
        ("command=[a, '{b}']", "command[1]: {b} is not among params (steps, fps, inference.steps)"),
        ("baseline=b.yaml", "baseline: can only stand in the file"),
        ("edit.c.yaml.a=steps", "edit.c.yaml.a: can only be set as a whole (edit={…})"),
    ],
)
def test_what_is_wrong_is_said_as_for_a_file(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, override)
    assert str(caught.value) == f"--set: {message}"
    assert (caught.value.path, caught.value.line) == ("--set", None)


def test_what_is_wrong_in_the_file_stays_the_files(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("command: [python]\ndetect:\n  ratio: no\n  floor_ms: 3\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.yaml", ["detect.floor_ms=4"])
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "c.yaml"), 3)
    assert caught.value.key == "detect.ratio"


def test_an_override_can_put_right_what_is_wrong_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("command: [python, '{n}']\ndetect: {ratio: no}\n")
    config = load_config(tmp_path / "c.yaml", ["detect.ratio=4", "params.n=1"])
    assert (config.detect.ratio, config.params) == (4.0, {"n": 1})


def test_paths_of_an_override_start_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = load(tmp_path, "cwd=.", "python=bin/python")
    assert config.cwd == str(tmp_path / "elsewhere")
    assert config.python == str(tmp_path / "elsewhere" / "bin" / "python")
    assert load(tmp_path, "python=python3.11").python == "python3.11"


def test_conda_over_python_and_back(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("command: [python]\npython: /usr/bin/python3\n")
    config = load_config(tmp_path / "p.yaml", ["conda=matrix"])
    assert (config.python, config.conda) == (None, "matrix")
    config = load_config(tmp_path / "p.yaml", ["conda=matrix", "python=/p"])
    assert (config.python, config.conda) == ("/p", None)


def test_plain_data_is_not_changed() -> None:
    data: dict[str, Any] = {"command": ["a"], "params": {"steps": 1}, "detect": {"ratio": 3}}
    config = build_config(data, ["params.steps=2", "detect.ratio=4", "env.B=1"])
    assert (config.params, config.detect.ratio, config.env) == ({"steps": 2}, 4.0, {"B": "1"})
    assert data == {"command": ["a"], "params": {"steps": 1}, "detect": {"ratio": 3}}


def test_plain_data_that_is_wrong() -> None:
    with pytest.raises(ConfigError) as caught:
        build_config({"command": ["a"], "nme": 1})
    assert str(caught.value) == "command line: nme: is not a known key (did you mean 'name'?)"
