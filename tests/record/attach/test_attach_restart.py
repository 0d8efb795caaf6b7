"""The command that would start a running program again."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mgtop.record.attach.process import find
from mgtop.record.attach.restart import restart_line
from tests.record.attach.programs import program, python, until

SCRIPT = "import sys, time\nprint(sys.argv, flush=True)\nwhile True: time.sleep(0.05)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "infer it.py"
    path.write_text(SCRIPT)
    return path


def test_the_line_starts_the_same_program_in_a_shell(script: Path, tmp_path: Path) -> None:
    arguments = ["--prompt", "a cat; it's $HOME", "--steps", "24", ""]
    command = [sys.executable, script.name, *arguments]
    with program(*command, cwd=tmp_path, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        line = restart_line(find(running.pid))
        running.stdout.close()
    assert line is not None
    assert line.startswith(f"cd {tmp_path} && ")
    again = line.replace("mgtop run -- ", "exec ")
    with program("sh", "-c", again, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == said
        running.stdout.close()


def test_variables_that_matter_and_differ_are_named(script: Path, tmp_path: Path) -> None:
    env = {"CUDA_VISIBLE_DEVICES": "1,2", "PYTORCH_ALLOC_CONF": "a:b c", "HF_TOKEN": "hf_secret",
           "LANG": "C", "HOME": "/x"}  # fmt: skip
    with program(sys.executable, str(script), cwd=tmp_path, env=env) as running:
        until(lambda: find(running.pid).command[-1] == str(script))
        line = restart_line(find(running.pid))
    assert line is not None
    assert " CUDA_VISIBLE_DEVICES=1,2 " in line
    assert " PYTORCH_ALLOC_CONF='a:b c' " in line
    assert line.endswith(f"mgtop run -- {shlex.join([sys.executable, str(script)])}")
    for word in ("HF_TOKEN", "LANG", "HOME"):
        assert f"{word}=" not in line


def test_a_folder_of_ones_own_is_not_named(script: Path) -> None:
    with program(sys.executable, str(script)) as running:
        until(lambda: find(running.pid).command)
        line = restart_line(find(running.pid))
    assert line is not None
    assert "cd " not in line


def test_a_python_that_this_shell_would_not_find_is_named_in_full(
    script: Path, tmp_path: Path
) -> None:
    other = tmp_path / "bin"
    other.mkdir()
    (other / "python3").symlink_to(sys.executable)
    path = f"{other}:{os.environ['PATH']}"
    shell = ["sh", "-c", f"exec python3 {shlex.quote(str(script))}"]
    with program(*shell, env={"PATH": path}) as running:
        until(lambda: find(running.pid).command[:1] == ("python3",))
        line = restart_line(find(running.pid))
    assert line is not None
    assert f"mgtop run -- {other}/python3 " in line


def test_a_workers_line_is_that_of_its_launcher(tmp_path: Path) -> None:
    launcher = tmp_path / "torchrun"
    launcher.write_text(
        f"#!{sys.executable}\nimport subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-u', *sys.argv[1:], '--local-rank=0'])\n"
        "print(child.pid, flush=True)\n"
        "try: child.wait()\n"
        "finally: child.kill()\n"
    )
    launcher.chmod(0o755)
    script = tmp_path / "train.py"
    script.write_text("import time; time.sleep(60)")
    with program(str(launcher), str(script), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        worker = int(running.stdout.readline())
        until(lambda: "--local-rank=0" in find(worker).command)
        line = restart_line(find(worker))
        running.stdout.close()
        os.kill(worker, 9)
    assert line is not None
    assert line.endswith(f"mgtop run -- {sys.executable} {launcher} {script}")


def test_a_process_of_multiprocessing_leads_to_the_program(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import multiprocessing, time\n"
        "def work():\n    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=work, daemon=True)\n"
        "    p.start(); print(p.pid, flush=True); p.join()\n"
    )
    with program(sys.executable, str(script), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        worker = int(running.stdout.readline())
        until(lambda: "--multiprocessing-fork" in find(worker).command)
        line = restart_line(find(worker))
        running.stdout.close()
        os.kill(worker, 9)
    assert line is not None
    assert line.endswith(f"mgtop run -- {sys.executable} {script}")


def test_secrets_in_options_can_be_masked() -> None:
    code = "import time; time.sleep(60)"
    with program(*python(code, "--api-key", "sk-123", "--steps", 4)) as running:
        process = find(running.pid)
    # The process is gone by now; what was read of it serves.
    line, masked = restart_line(process), restart_line(process, masked=True)
    assert line is not None
    assert masked is not None
    assert "--api-key sk-123 --steps 4" in line
    assert "sk-123" not in masked
    assert "--steps 4" in masked
