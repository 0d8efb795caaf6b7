"""mgtop-probe as users get it: built, installed alone on an old and a new Python, and used."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_processes import EMIT, interpreter

from mgtop import probe
from mgtop.wire.records import FrameEmit, Hello

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PROBE = ROOT / "mgtop" / "probe"


def build(source: Path, out: Path, *kinds: str) -> list[Path]:
    pytest.importorskip("build", reason="the package `build` is not installed")
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", out, source],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist."""
    wheel, sdist = sorted(
        build(PROBE, tmp_path_factory.mktemp("dist")), key=lambda path: path.suffix, reverse=True
    )
    with tarfile.open(sdist) as files:
        names = {Path(name).name for name in files.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "__init__.py", "py.typed"} <= names
    return wheel


def test_the_wheel_is_a_portion_of_the_namespace(built: Path) -> None:
    files = zipfile.ZipFile(built).namelist()
    modules = {name for name in files if ".dist-info/" not in name}
    here = {f"mgtop/probe/{path.name}" for path in PROBE.glob("*.py")} | {"mgtop/probe/py.typed"}
    assert modules == here
    assert built.name == f"mgtop_probe-{probe.__version__}-py3-none-any.whl"
    (metadata,) = (name for name in files if name.endswith("/METADATA"))
    text = zipfile.ZipFile(built).read(metadata).decode()
    assert "Requires-Python: >=3.8" in text
    assert "Requires-Dist" not in text


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_it_works_alone(
    version: str, built: Path, tmp_path: Path, programs: Any, pipe: Any
) -> None:
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "env"], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
         "--disable-pip-version-check", built],
        check=True,
    )  # fmt: skip
    where = "import mgtop, mgtop.probe; print(mgtop.__path__, mgtop.probe.__file__)"
    found = programs.run(where, python, PYTHONPATH="")
    assert str(ROOT) not in found
    assert "mgtop.cli" not in found
    programs.run(EMIT, python, PYTHONPATH="", MGTOP_FIFO=str(pipe.path), MGTOP_PROBE="raise")
    events = pipe.read()
    (hello,) = (event for event in events if isinstance(event, Hello))
    assert hello.python.startswith(version)
    assert sum(isinstance(event, FrameEmit) for event in events) == 4


def test_the_whole_of_mgtop_brings_the_same_probe(tmp_path: Path) -> None:
    source = tmp_path / "mgtop"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "dist", "build")
    shutil.copytree(ROOT, source, ignore=ignored)
    (wheel,) = build(source, tmp_path / "dist", "--wheel")
    files = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("mgtop/")}
    assert {f"mgtop/probe/{path.name}" for path in PROBE.glob("*.py")} <= files
    assert {"mgtop/py.typed", "mgtop/probe/py.typed", "mgtop/__init__.py"} <= files
    assert not files & {"mgtop/probe/pyproject.toml", "mgtop/probe/README.md"}
