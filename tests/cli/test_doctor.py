"""``mgtop doctor``, as a command on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mgtop.cli import main as frame


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MGTOP_RUNTIME", str(tmp_path / "runtime"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def doctor(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mgtop", "doctor", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=60,
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_table(folders: Path) -> None:
    done = doctor()
    assert (done.returncode, done.stderr) == (0, "")
    titles = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert titles[:-1] == [
        "RECORDING", "GPU", "PROCESSOR", "KERNEL", "TERMINAL", "SOFTWARE", "MACHINE",
    ]  # fmt: skip
    assert titles[-1].startswith("Recording works here: ")
    assert "\x1b" not in done.stdout  # no colour where no terminal reads it


def test_json_has_the_same_content_and_the_documented_keys(folders: Path) -> None:
    answer = told(doctor("--json"))
    assert list(answer) == ["schema", "mgtop", "works", "counts", "findings", "nvml"]
    keys = ["id", "area", "name", "state", "value", "reason", "remedy", "essential", "measured"]
    assert all(list(finding) == keys for finding in answer["findings"])
    ids = [finding["id"] for finding in answer["findings"]]
    assert len(ids) == len(set(ids))
    assert {"recording.pipe", "gpu.driver", "kernel.schedstat", "software.pynvml"} <= set(ids)
    assert answer["works"] is True
    assert sum(answer["counts"].values()) == len(ids)
    table = doctor().stdout
    for finding in answer["findings"]:
        assert finding["name"] in table
    documented = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text()
    for key in (*answer, *keys, *answer["nvml"]):
        assert f"`{key}`" in documented, key


def test_it_is_quick(folders: Path) -> None:
    began = time.monotonic()
    doctor()
    assert time.monotonic() - began < 10  # 0.3 s on a quiet machine


@pytest.mark.parametrize(
    ("variable", "value", "id_"),
    [
        ("MGTOP_RUNTIME", "/proc/nowhere", "recording.runtime"),
        ("XDG_STATE_HOME", "/proc/nowhere", "recording.sessions"),
    ],
)
def test_where_nothing_can_be_recorded_the_exit_code_is_1(
    folders: Path, variable: str, value: str, id_: str
) -> None:
    done = doctor("--json", **{variable: value})
    assert done.returncode == 1
    answer = told(done)
    assert answer["works"] is False
    (bad,) = [f for f in answer["findings"] if f["essential"] and f["state"] == "missing"]
    assert bad["id"] == id_
    assert bad["remedy"]


def test_a_driver_that_hangs_holds_up_nobody(folders: Path, tmp_path: Path) -> None:
    """A ``pynvml`` whose first call does not come back, as with a wedged driver."""
    (tmp_path / "pynvml.py").write_text(
        "import time\n"
        "class NVMLError(Exception): value = 999\n"
        "def nvmlDeviceGetComputeRunningProcesses(h): pass\n"
        "def nvmlInit(): time.sleep(60)\n"
    )
    began = time.monotonic()
    done = doctor("--json", PYTHONPATH=str(tmp_path))
    assert time.monotonic() - began < 10  # 2.1 s on a quiet machine
    assert done.returncode == 0
    (driver,) = [f for f in told(done)["findings"] if f["id"] == "gpu.driver"]
    assert driver["state"] == "missing"
    assert "the driver does not answer nvmlInit" in driver["reason"]


def test_a_driver_library_that_crashes_takes_nothing_along(folders: Path, tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(
        "import os\n"
        "class NVMLError(Exception): value = 999\n"
        "def nvmlDeviceGetComputeRunningProcesses(h): pass\n"
        "def nvmlInit(): os.kill(os.getpid(), 11)\n"
    )
    done = doctor("--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    findings = {f["id"]: f for f in told(done)["findings"]}
    assert "crashed (SIGSEGV)" in findings["gpu.driver"]["reason"]
    # And the culprit is named: it is not the official package's module.
    assert str(tmp_path / "pynvml.py") in findings["software.pynvml"]["value"]


def test_it_imports_neither_torch_nor_the_screen(folders: Path) -> None:
    code = (
        "import sys; from mgtop.cli.main import run; run(['doctor'])\n"
        "print([n for n in ('torch', 'av', 'textual', 'pynvml') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_argument_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.run(["doctor", "everything"]) == 2
    assert "everything" in capsys.readouterr().err
