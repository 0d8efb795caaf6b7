"""``mgtop check`` on repositories made up for the purpose, with this machine and with others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import labelled
import msgspec
import pytest

import mgtop
from mgtop.preflight.check import CannotCheck, check, interpreter, measure
from mgtop.preflight.check.judge import judge
from mgtop.preflight.check.machine import Device, Machine
from mgtop.preflight.check.markdown import render as render_markdown
from mgtop.preflight.check.read import files_of, projects_within, requirements_in, requirements_of
from mgtop.preflight.check.run import Checked, compared
from mgtop.preflight.check.stated import Size, Stated
from mgtop.preflight.check.text import render
from mgtop.record.health.nvml_answer import Gpu, NvmlAnswer

Repository = Callable[..., Path]
H200 = labelled.machines()["h200"]
RTX4090 = labelled.machines()["rtx4090"]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    def make(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


def checked(folder: Path, machine: Machine) -> Checked:
    stated, read = requirements_of(folder)
    return compared(stated, machine, read=read, within=projects_within(folder), notes=[])


def vram(gib: float, *, total: int, free: int, gpus: int = 1, strength: str = "required") -> str:
    stated = Stated(
        kind="vram",
        quote="q",
        file="f",
        line=1,
        strength=strength,  # type: ignore[arg-type]
        size=Size(gib * 1024, gib * 1024, gpus),
    )
    machine = Machine(gpus=[Device(name="NVIDIA X", total_mib=total, free_mib=free)])
    return judge(stated, machine).verdict


class TestSizes:
    @pytest.mark.parametrize(
        ("gib", "total", "verdict"),
        [
            (24, 24_564, "marginal"),  # an RTX 4090 reads so
            (16, 15_109, "marginal"),  # a T4
            (40, 40_326, "marginal"),  # an A100 of 40 GB
            (80, 81_559, "marginal"),  # an A100 or H100 of 80 GB
            (24, 22_000, "unmet"),
            (20, 24_564, "met"),
        ],
    )
    def test_marketed_sizes_read_lower(self, gib: float, total: int, verdict: str) -> None:
        assert vram(gib, total=total, free=total) == verdict

    def test_memory_in_use_makes_it_marginal(self) -> None:
        assert vram(20, total=24_564, free=24_000) == "met"
        assert vram(20, total=24_564, free=9_000) == "marginal"

    def test_several_gpus_are_not_one_big_one(self) -> None:
        stated = Stated(
            kind="vram", quote="", file="", line=1, strength="required", size=Size(81_920, 81_920)
        )
        four = Machine(gpus=[Device(name="NVIDIA X", total_mib=24_564)] * 4)
        assert judge(stated, four).verdict == "unmet"
        assert vram(80, total=143_771, free=143_000, gpus=2) == "unmet"

    def test_no_gpu_is_unmet_and_a_silent_driver_unknown(self) -> None:
        stated = Stated(
            kind="vram", quote="", file="", line=1, strength="required", size=Size(1024, 1024)
        )
        assert judge(stated, Machine(gpus=[])).verdict == "unmet"
        answer = judge(stated, Machine(gpus=None, gpus_reason="the driver does not answer NVML"))
        assert (answer.verdict, answer.local) == ("unknown", "the driver does not answer NVML")


class TestFiles:
    def test_which_files_speak_for_a_repository(self, repository: Repository) -> None:
        folder = repository(
            README_md="", requirements_txt="", docs__INSTALL_md="", docker__Dockerfile="",
            other__README_md="Needs 80 GB of VRAM.", tests__requirements_txt="torch", notes_md="",
        )  # fmt: skip
        names = [str(path) for path in files_of(folder)]
        assert names == ["README.md", "requirements.txt", "docker/Dockerfile", "docs/INSTALL.md"]
        assert projects_within(folder) == ["other", "tests"]

    def test_a_readme_in_another_language_is_left_to_the_english_one(
        self, repository: Repository
    ) -> None:
        folder = repository(README_md="")
        for name in ("README_ja.md", "README-ko.md", "README_zh.md", "README-CN.md"):
            (folder / name).write_text("")
        names = {str(path) for path in files_of(folder)}
        assert names == {"README.md", "README_zh.md", "README-CN.md"}

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("pyproject.toml", "[project\nrequires-python = "),
            ("setup.py", "setup(install_requires=[\n"),
            ("setup.py", "import sys; setup(install_requires=open('x').read().split())"),
            ("setup.cfg", "[options\n"),
            ("environment.yml", "dependencies: {\n - : ["),
            ("requirements.txt", "\x00\xff;;; ==\n-r other.txt\n-e .\n--hash=sha256:00"),
            ("Dockerfile", "FROM\nRUN \\\n"),
            ("README.md", "| a |\n|---|\n```\n<table><tr><td>24 GB"),
        ],
    )
    def test_broken_files_are_read_as_far_as_they_go(self, name: str, text: str) -> None:
        assert isinstance(requirements_in(text, name), list)

    def test_setup_py_is_never_run(self, repository: Repository, tmp_path: Path) -> None:
        mark = tmp_path / "was-run"
        folder = repository(
            setup_py=f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\n"
            "setup(install_requires=['torch>=2.0'])\n"
        )
        (only,) = requirements_of(folder)[0]
        assert (only.kind, only.line) == ("torch", 3)
        assert not mark.exists()

    def test_a_long_paragraph_is_read_in_linear_time(self) -> None:
        page = "The model needs at least 24 GB of VRAM, Python 3.10 and CUDA 12.4. " * 1_600
        took = []
        for size in (8_000, 32_000):
            began = time.process_time()
            requirements_in(page[:size], "README.md")
            took.append(time.process_time() - began)
        assert took[1] < 8 * took[0] + 0.2

    @pytest.mark.parametrize(
        "text", ["1" * 5_000 + " GB", "( " * 3_000, "Python " * 3_000, "-" * 3_000]
    )
    def test_hostile_lines_do_not_hang(self, text: str) -> None:
        began = time.process_time()
        requirements_in(text, "README.md")
        assert time.process_time() - began < 5


class TestConflicts:
    def test_readme_and_pyproject(self, repository: Repository) -> None:
        folder = repository(
            README_md="# X\n\n## Requirements\n\n- Python 3.11+\n",
            pyproject_toml='[project]\nrequires-python = ">=3.11,<3.12"\n',
        )
        (one,) = checked(folder, H200).conflicts
        assert one.kind == "python"
        assert one.about.startswith("only README.md allows 3.12")
        assert {one.first.file, one.second.file} == {"README.md", "pyproject.toml"}
        assert {one.first.quote, one.second.quote} == {
            "- Python 3.11+", 'requires-python = ">=3.11,<3.12"',
        }  # fmt: skip

    def test_pins_that_exclude_each_other(self, repository: Repository) -> None:
        folder = repository(
            requirements_txt="torch==2.5.1\n",
            pyproject_toml='[project]\ndependencies = ["torch>=2.6"]\n',
        )
        (one,) = checked(folder, H200).conflicts
        assert one.about == "no version fits both"

    def test_what_agrees_is_no_conflict(self, repository: Repository) -> None:
        folder = repository(
            requirements_txt="torch==2.6.0\nnumpy<2\n",
            pyproject_toml='[project]\ndependencies = ["torch>=2.5", "numpy>=1.24"]\n',
        )
        assert checked(folder, H200).conflicts == []


class TestResult:
    def test_what_makes_it_fail(self, repository: Repository) -> None:
        folder = repository(
            README_md="Needs at least 80 GB of VRAM.\n\n48 GB of VRAM are recommended.\n\n"
            "Training needs 8 x 80GB GPUs.\n"
        )
        result = checked(folder, RTX4090)
        assert [one.quote for one in result.unmet] == ["Needs at least 80 GB of VRAM."]
        assert not result.passed
        assert result.requirements[0] == result.unmet[0]
        assert checked(folder, H200).passed

    def test_torch_is_checked_where_the_repository_is_silent(self, repository: Repository) -> None:
        folder = repository(README_md="A model.\n")
        good = checked(folder, RTX4090)
        assert [(one.quote, one.verdict, one.file) for one in good.requirements] == [
            ("torch.version.cuda against the driver", "met", None),
            ("torch.cuda.is_available()", "met", None),
        ]
        old = msgspec.structs.replace(RTX4090, driver_cuda="11.8", cuda_available=False)
        assert [one.verdict for one in checked(folder, old).requirements] == ["unmet", "unmet"]
        minor = msgspec.structs.replace(RTX4090, driver_cuda="12.0")
        assert "marginal" in [one.verdict for one in checked(folder, minor).requirements]
        without = msgspec.structs.replace(RTX4090, torch=None, cuda_available=None)
        assert checked(folder, without).requirements == []

    @pytest.mark.parametrize("width", [40, 80, 132])
    def test_the_page_is_as_wide_as_the_terminal(self, repository: Repository, width: int) -> None:
        pins = "".join(f"package-{n}==1.{n}\n" for n in range(40))
        folder = repository(
            README_md="- NVIDIA GPU with at least 24 GB memory\n\n" + "Requires 80GB VRAM " * 40,
            requirements_txt=pins,
            part__README_md="24 GB VRAM",
        )
        page = render(checked(folder, RTX4090), width, lambda _verdict, text: text)
        assert max(map(len, page.splitlines())) <= width
        assert "28 more" in " ".join(page.split())

    def test_markdown_keeps_every_statement(self, repository: Repository) -> None:
        folder = repository(README_md="| VRAM | note |\n|---|---|\n| 24GB | a |\n\nLinux only.\n")
        result = checked(folder, H200)
        page = render_markdown(result)
        rows = [line for line in page.splitlines() if line.startswith("| ✓")]
        assert len(rows) == len(result.requirements)
        assert r"\| 24GB \| a \|" in page

    def test_nothing_stated(self, repository: Repository) -> None:
        folder = repository(LICENSE_md="")
        page = render(checked(folder, Machine(gpus=[])), 80, lambda _verdict, text: text)
        assert "Nothing is stated" in page


class TestThisMachine:
    def test_what_cannot_be_checked_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(CannotCheck, match="does not exist"):
            check(tmp_path / "nowhere")
        with pytest.raises(CannotCheck, match="no interpreter"):
            check(tmp_path, str(tmp_path / "python"))
        (tmp_path / "plain").write_text("")
        with pytest.raises(CannotCheck, match="cannot be executed"):
            check(tmp_path, str(tmp_path / "plain"))

    def test_an_interpreter_that_hangs_or_fails(self, tmp_path: Path) -> None:
        program = tmp_path / "python"
        program.write_text("#!/bin/sh\nexec sleep 30\n")
        program.chmod(0o755)
        began = time.monotonic()
        about = interpreter.about_of(interpreter.ask_about(str(program)), 0.3)
        assert about.python is None
        assert about.reason == "no answer within 0 s"
        assert time.monotonic() - began < 10
        program.write_text("#!/bin/sh\necho 'no such thing' >&2\nexit 3\n")
        assert interpreter.about_of(interpreter.ask_about(str(program))).reason == "no such thing"
        program.write_text("#!/bin/sh\necho not json\n")
        assert "not understood" in interpreter.about_of(interpreter.ask_about(str(program))).reason

    def test_old_pythons_tell_of_themselves(self) -> None:
        found = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8*/bin/python3"))
        if not found:
            pytest.skip("there is no CPython 3.8 here")
        about = interpreter.about_of(interpreter.ask_about(str(found[0])))
        assert (about.python or "").startswith("3.8.")
        assert "pip" in (about.packages or {})
        cuda = interpreter.cuda_of(interpreter.ask_cuda(str(found[0])))
        assert cuda.available is None
        assert "torch" in cuda.reason

    def test_a_driver_that_does_not_answer_leaves_the_gpus_unknown(self) -> None:
        hanging = measure.gpus_of(NvmlAnswer(hanging="NVML"))
        assert hanging == (None, "the driver does not answer NVML")
        missing = "no NVIDIA driver on this machine (libnvidia-ml.so.1 is missing)"
        assert measure.gpus_of(NvmlAnswer(reason=missing)) == ([], missing)
        assert measure.gpus_of(NvmlAnswer(reason="NVML error 99"))[0] is None

    def test_free_memory_is_what_is_neither_used_nor_reserved(self) -> None:
        gpu = Gpu(gpu=0, uuid="GPU-1", name="X", total_mib=24_564, reserved_mib=300, used_mib=1_264)
        ((device,), _) = measure.gpus_of(NvmlAnswer(gpus=[gpu]))
        assert device.free_mib == 23_000

    def test_hidden_gpus_are_not_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = Gpu(gpu=0, uuid="GPU-1", name="X", total_mib=24_564)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        assert measure.gpus_of(NvmlAnswer(gpus=[gpu])) == ([], "CUDA_VISIBLE_DEVICES hides them")

    def test_the_command_imports_nothing_of_the_repository(self, repository: Repository) -> None:
        folder = repository(
            torch_py="raise SystemExit('imported')\n",
            README_md="# X\n\n## Requirements\n\n- Python 3.8+\n- 100000 GB of RAM\n",
        )
        python = str(Path(sys.base_prefix, "bin", "python3"))  # without torch: it is slow to import
        answer = subprocess.run(
            [sys.executable, "-m", "mgtop", "check", str(folder), "--json", "--python", python],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(mgtop.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 1, answer.stderr
        assert "imported" not in answer.stdout
        data = json.loads(answer.stdout)
        assert [one["quote"] for one in data["unmet"] if one["kind"] == "ram"] == [
            "- 100000 GB of RAM"
        ]
        for one in data["requirements"]:
            assert set(one) == {
                "kind", "quote", "file", "line", "strength", "scope", "local", "verdict",
            }  # fmt: skip
        local = {one["kind"]: one["local"] for one in data["requirements"]}
        assert local["python"] == f"Python {'.'.join(map(str, sys.version_info[:3]))}"
