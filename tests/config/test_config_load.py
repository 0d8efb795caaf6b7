"""Files, folders, baselines and their paths."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mgtop.config import RunConfig
from mgtop.config.differences import differences, from_baseline, varied
from mgtop.config.document import MOST_BYTES
from mgtop.config.dump import to_yaml
from mgtop.config.load import ConfigError, build_config, given_keys, load_config, located


def write(folder: Path, **files: str) -> Path:
    """Write ``NAME.yaml`` files; return the last one's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{name}.yaml"


def refusal(load: Callable[[], RunConfig]) -> str | None:
    """What is wrong; None where it loads. Any other exception fails the test."""
    try:
        config = load()
    except ConfigError as error:
        return str(error)
    assert differences(config, config) == {}
    return None


# ----------------------------------------------------------------------------- files


def test_a_folder_means_its_mgtop_yaml(tmp_path: Path) -> None:
    write(tmp_path, mgtop="name: here\n")
    assert load_config(tmp_path).name == "here"
    assert load_config(str(tmp_path)).name == "here"


def test_a_folder_without_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)
    assert str(caught.value) == f"{tmp_path}/mgtop.yaml: cannot be read: No such file or directory"


def test_a_file_that_is_too_large_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "weights.yaml"
    path.write_text("# " + "ü" * MOST_BYTES)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value) == f"{path}: is larger than 256 KiB; is it the right file?"
    began = time.monotonic()
    with pytest.raises(ConfigError, match="is larger than 256 KiB"):
        load_config("/dev/zero")
    assert time.monotonic() - began < 5


@given(
    st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
@settings(max_examples=150, deadline=None)
def test_whatever_is_in_a_file_it_loads_or_is_explained(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    message = refusal(lambda: load_config(path))
    assert message is None or message.startswith(f"{path}:")


TOP = ["command", "name", "params", "env", "edit", "frames", "warmup", "detect", "fallback"]
MORE = ["smoke", "gate", "conda", "cwd", "baseline", "hooks", "from", "log", "ratio", "a.b", ""]
KEYS = st.sampled_from(TOP) | st.sampled_from(MORE)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.sampled_from(["", "auto", "{x}", "{", "a b", "1e3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@settings(max_examples=300, deadline=None)
def test_whatever_shape_the_data_has_it_loads_or_is_explained(data: dict[str, object]) -> None:
    message = refusal(lambda: build_config(data)) or ""
    assert "$" not in message.replace("'$", "")  # none of msgspec's own wording
    assert "`" not in message
    assert "\n" not in message


def test_neither_yaml_nor_the_loader_is_imported_with_the_structs() -> None:
    names = "('yaml', 'mgtop.config.load')"
    code = f"import mgtop.config, sys; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_loader_itself_does_not_import_yaml() -> None:
    code = "import mgtop.config.load, mgtop.config.command, sys; print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# ------------------------------------------------------------------------- baselines


def test_a_round_gives_only_what_differs(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        base="command: [python]\nparams: {steps: 24, fps: 16}\nenv: {A: 1}\n"
        "detect: {floor_ms: 5}\nfallback: {steps: [24, 16]}\ngate: [a < 1, b < 2]\n",
        round="baseline: base.yaml\nparams: {steps: 16}\ndetect: {ratio: 3}\ngate: [c < 3]\n",
    )
    config = load_config(path)
    assert config.params == {"steps": 16, "fps": 16}
    assert (config.detect.ratio, config.detect.floor_ms) == (3.0, 5.0)
    assert (config.command, config.env, config.gate) == (["python"], {"A": "1"}, ["c < 3"])
    assert config.baseline == "base.yaml"


def test_cycles(tmp_path: Path) -> None:
    path = write(tmp_path, a="baseline: b.yaml\n", b="baseline: c.yaml\n", c="baseline: b.yaml\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "a.yaml")
    assert str(caught.value) == f"{path}:1: baseline: b.yaml leads back to this file"


def test_the_same_file_by_another_name_is_a_cycle_too(tmp_path: Path) -> None:
    path = write(tmp_path, a="baseline: link.yaml\n")
    (tmp_path / "link.yaml").symlink_to(path)
    with pytest.raises(ConfigError, match="leads back"):
        load_config(path)


def test_paths_belong_to_the_file_that_gives_them(tmp_path: Path) -> None:
    write(tmp_path / "repo", base="command: [python]\ncwd: src\npython: env/bin/python\n")
    write(tmp_path / "repo", plain="command: [python]\n")
    rounds = tmp_path / "rounds"
    inherits = write(rounds, a="baseline: ../repo/base.yaml\nname: a\n")
    own = write(rounds, b="baseline: ../repo/base.yaml\ncwd: here\n")
    default = write(rounds, c="baseline: ../repo/plain.yaml\n")
    assert load_config(inherits).cwd == str(tmp_path / "repo" / "src")
    assert load_config(inherits).python == str(tmp_path / "repo" / "env" / "bin" / "python")
    assert load_config(own).cwd == str(rounds / "here")
    assert load_config(default).cwd == str(tmp_path / "repo")
    assert from_baseline(load_config(inherits), inherits) == {}


def test_an_environments_python_stays_a_link(tmp_path: Path) -> None:
    """Resolved, it would be the system's Python without the environment's packages."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    path = write(tmp_path, c="command: [python]\npython: env/bin/python\n")
    assert load_config(path).python == str(tmp_path / "env" / "bin" / "python")


def test_python_replaces_the_baselines_conda(tmp_path: Path) -> None:
    path = write(tmp_path, a="conda: matrix\n", b="baseline: a.yaml\npython: /usr/bin/python3\n")
    config = load_config(path)
    assert (config.python, config.conda) == ("/usr/bin/python3", None)


def test_which_keys_are_given(tmp_path: Path) -> None:
    path = write(tmp_path, a="warmup: {emits: 0}\n", b="baseline: a.yaml\ncommand: [x]\n")
    assert given_keys(path) == {"warmup", "baseline", "command"}
    assert given_keys(tmp_path / "a.yaml") == {"warmup"}


# ----------------------------------------------------------------------- differences


def test_differences_are_named_with_both_values(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        base="command: [python]\nparams: {steps: 24, fps: 16}\nname: base\n",
        round="baseline: base.yaml\nname: r\nparams: {steps: 16, cfg: 2}\nenv: {A: b}\n"
        "warmup: {emits: 3}\n",
    )
    found = from_baseline(load_config(path), path)
    assert found == {
        "params.steps": (24, 16),
        "params.cfg": (None, 2),
        "env.A": (None, "b"),
        "warmup.emits": (2, 3),
    }
    assert varied(found) == {"steps": 16, "cfg": 2, "env.A": "b", "warmup.emits": 3}


def test_overrides_are_differences_too(tmp_path: Path) -> None:
    path = write(tmp_path, base="params: {steps: 24}\n", round="baseline: base.yaml\n")
    assert from_baseline(load_config(path), path) == {}
    assert from_baseline(load_config(path, ["params.steps=8"]), path) == {"params.steps": (24, 8)}
    assert from_baseline(load_config(tmp_path / "base.yaml"), path) is None


def test_what_changes_neither_run_nor_figures_is_no_difference(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        base="command: [x]\ngate: ['fps > 1']\n",
        round="baseline: base.yaml\ngate: ['fps > 15']\nfallback: {steps: [2, 1]}\n"
        "smoke: {command: [y], output: o}\n",
    )
    assert from_baseline(load_config(path), path) == {}


def test_a_later_error_is_located(tmp_path: Path) -> None:
    path = write(tmp_path, base="command: [x]\npython: /nix\n", round="baseline: base.yaml\n")
    error = ConfigError("is not there", str(path), key="python")
    assert str(located(error, path)) == f"{tmp_path / 'base.yaml'}:2: python: is not there"
    assert str(located(error, path, ["python=/other"])) == "--set: python: is not there"
    error = ConfigError("is not there", str(path), key="edit.a.yaml.model.steps")
    assert str(located(error, path)) == f"{path}:1: edit.a.yaml.model.steps: is not there"
    nowhere = tmp_path / "command"
    assert str(located(error, nowhere)) == "command line: edit.a.yaml.model.steps: is not there"
    assert located(ConfigError("x", "f", 3, "k"), path).line == 3


def test_lists_and_nothing_and_other_types_differ() -> None:
    base = build_config({"params": {"s": [4, 2], "a": {}, "t": None, "n": 1, "m": {"k": 1}}})
    other = build_config({"params": {"s": [4], "a": 1, "t": None, "n": "1", "m": {"k": 2}}})
    assert differences(base, other) == {
        "params.s": ([4, 2], [4]),
        "params.a": ({}, 1),
        "params.n": (1, "1"),
        "params.m.k": (1, 2),
    }


# --------------------------------------------------------------------- writing it out


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=9
).filter(lambda name: name != "<<")
WORDS = st.text(max_size=20) | st.sampled_from(
    ["yes", "1e-4", "007", "0x1", "~", "1_0", "12:30", "2026-11-30", ".5", "null", "=", "<<"]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ANY = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | FLOATS | WORDS


@example({"x": "\x85", "\u2028": ["\ufeff", " \x85 a\u2029"]})
@given(st.dictionaries(NAMES, ANY | st.lists(ANY, max_size=3), max_size=5))
@settings(max_examples=200, deadline=None)
def test_what_is_written_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, params: dict[str, object]
) -> None:
    import yaml

    path = tmp_path_factory.getbasetemp() / "dumped.yaml"
    text = to_yaml({"params": params})
    path.write_text(text, encoding="utf-8", newline="")
    assert load_config(path).params == params
    assert yaml.safe_load(text) == {"params": params}


def test_writing_keeps_the_order_and_needs_no_aliases() -> None:
    shared = ["python", "x.py"]
    text = to_yaml({"smoke": {"command": shared}, "command": shared, "name": "größe"})
    assert text.splitlines() == [
        "smoke:", "  command:", "  - python", "  - x.py",
        "command:", "- python", "- x.py", "name: größe",
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, c="command: [x]\n")
    path.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load_config(path)
