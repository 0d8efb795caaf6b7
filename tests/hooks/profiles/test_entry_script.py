"""The entry script of an unknown repository, its options and its writers, from the source alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.config.load import load_config
from mgtop.hooks.entry_script import likely_scripts, writers
from mgtop.hooks.starting_file import guessed_params, of_script, unfilled
from mgtop.hooks.yaml_parameters import parameters_in_yaml

INFER = '''
"""Must never run: """
raise SystemExit("it was run")
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--num_inference_steps", type=int, default=24, help="denoising\\n steps")
parser.add_argument("-H", "--height", type=int, default=720)
parser.add_argument("--width", type=int, default=1280)
parser.add_argument("--seed", type=int, default=int(3))
parser.add_argument("--fps", default=16.0, type=float)
parser.add_argument("--ckpt", required=True, help="the weights")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--config", default="configs/base.yaml")
if __name__ == "__main__":
    main()
'''


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_the_options_of_argparse(tmp_path: Path) -> None:
    write(tmp_path, infer_py=INFER)
    [script] = likely_scripts(tmp_path)
    assert script.path == Path("infer.py")
    steps = script.meaning("steps")
    assert steps is not None
    assert (steps.flag, steps.default) == ("--num_inference_steps", 24)
    assert steps.about == "denoising steps"
    height = script.meaning("height")
    assert height is not None
    assert height.flag == "--height"
    seed = script.meaning("seed")
    assert seed is not None
    assert seed.default is None  # computed: the source does not say it plainly
    assert script.meaning("frames") is None
    assert [o.name for o in script.options if o.required] == ["ckpt"]
    assert [o.name for o in script.options if not o.takes_value] == ["compile"]


def test_the_options_of_click(tmp_path: Path) -> None:
    source = """
import click
@click.command()
@click.option("--steps", default=8)
@click.option("--fast/--slow", default=True)
@click.option("--verbose", is_flag=True)
def main(): ...
if __name__ == "__main__":
    main()
"""
    write(tmp_path, generate_py=source)
    [script] = likely_scripts(tmp_path)
    taken = {option.name: option.takes_value for option in script.options}
    assert taken == {"steps": True, "fast": False, "verbose": False}


def test_a_script_that_generates_comes_before_one_that_trains(tmp_path: Path) -> None:
    write(tmp_path, train_py=INFER, infer_py=INFER, tools__convert_py=INFER, lib__util_py="x = 1")
    assert likely_scripts(tmp_path)[0].path == Path("infer.py")
    assert Path("lib/util.py") not in [script.path for script in likely_scripts(tmp_path)]


@pytest.mark.parametrize("source", ["def broken(", "\0", "if True:\n\tx = 1\n        y = 2"])
def test_source_that_cannot_be_parsed_is_passed_over(tmp_path: Path, source: str) -> None:
    write(tmp_path, infer_py=INFER, demo_py=source)
    assert [script.path for script in likely_scripts(tmp_path)] == [Path("infer.py")]


def test_writers_are_found_in_the_source(tmp_path: Path) -> None:
    write(tmp_path, a_py="import cv2\nw = cv2.VideoWriter('x')", sub__b_py="ws.send_bytes(x)")
    assert writers(tmp_path) == ["cv2.VideoWriter", "WebSocket"]


def test_parameters_that_live_in_yaml(tmp_path: Path) -> None:
    write(
        tmp_path,
        infer_py=INFER,
        configs__base_yaml="model:\n  frame_num: 81\n  steps: 50\nseed: 3\nname: x\n",
    )
    [script] = likely_scripts(tmp_path)
    found = parameters_in_yaml(tmp_path, script)
    assert [(one.name, one.key, one.value) for one in found] == [("frames", "model.frame_num", 81)]


def test_the_starting_file_of_a_guess_loads_once_it_is_filled_in(tmp_path: Path) -> None:
    write(tmp_path, infer_py=INFER, configs__base_yaml="model: {frame_num: 81}\n")
    [script] = likely_scripts(tmp_path)
    found = parameters_in_yaml(tmp_path, script)
    text = of_script(tmp_path, script, [], found, ["cv2.VideoWriter"])
    params = guessed_params(script, found)
    assert unfilled(params) == ["ckpt"]
    assert "cv2.VideoWriter" in text
    path = tmp_path / "mgtop.yaml"
    path.write_text(text.replace("ckpt: null", "ckpt: w.pt"), encoding="utf-8")
    config = load_config(path)
    assert config.params == {
        "steps": 24, "height": 720, "width": 1280, "fps": 16.0, "ckpt": "w.pt",
        "config": "configs/base.yaml", "frames": 81,
    }  # fmt: skip
    assert config.command[:4] == ["python", "infer.py", "--num_inference_steps", "{steps}"]
    assert config.edit == {"configs/base.yaml": {"model.frame_num": "frames"}}


def test_a_folder_without_any_script(tmp_path: Path) -> None:
    assert likely_scripts(tmp_path) == []
    text = of_script(tmp_path, None, [], [], [])
    path = tmp_path / "mgtop.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_config(path).command == ["python", "infer.py"]
