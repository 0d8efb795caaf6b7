"""Real programs under ``mgtop smoke``: those that work pass, each that fails is named."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import smoke_programs as programs

from mgtop.config.load import load_config
from mgtop.preflight import smoke
from mgtop.preflight.smoke import SmokeResult

pytestmark = pytest.mark.e2e

SIZED = """
command: [{python}, infer.py, --width, '{{width}}', --height, '{{height}}']
params: {{width: 64, height: 48}}
"""

Run = Callable[..., SmokeResult]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MGTOP_RUNTIME", str(tmp_path / "runtime"))
    (tmp_path / "weights.safetensors").write_bytes(b"w" * 5_000)

    def start(body: str, more: str = "", seconds: float = 60.0) -> SmokeResult:
        (tmp_path / "infer.py").write_text(programs.PLAIN + body)
        config = tmp_path / "infer.yaml"
        config.write_text(SIZED.format(python=sys.executable) + more)
        return smoke.run(load_config(config), config, out=tmp_path / "session", seconds=seconds)

    return start


def unmet(result: SmokeResult) -> list[str]:
    return [name for name, _ in result.criteria.unmet()]


def test_a_program_that_works(run: Run, tmp_path: Path) -> None:
    result = run(programs.GOOD)
    assert result.passed
    assert result.failure is None
    assert result.failure_text is None
    assert "weights.safetensors (5,000 bytes)" in result.criteria.weights_loaded.evidence
    assert "“saved to out/frame.png”" in result.criteria.output_reported.evidence
    assert "64×48, 1 frame" in result.criteria.output_valid.evidence
    assert result.output == str(tmp_path / "out/frame.png")
    assert result.exit_code == 0
    assert result.cold.fwd_ms is None
    assert "FWD and POST are not known" in result.times_note
    assert result.cold.total_ms is not None
    assert 0 < result.cold.total_ms < 30_000


WAYS = {
    "no CUDA": (programs.NO_CUDA, "exit_zero", "no_cuda", "not compiled with CUDA"),
    "memory ran out, and what came of it": (programs.OUT_OF_MEMORY, "exit_zero", "oom", "Tried to"),
    "no weights there": (programs.NO_WEIGHTS_FILE, "weights_loaded", "weights_path", "points/"),
    "random weights": (programs.RANDOM_WEIGHTS, "weights_loaded", "other", "no weights file"),
    "output not reported": (programs.SILENT, "output_reported", "other", "neither the config"),
    "output not written": (programs.NOT_WRITTEN, "output_valid", "other", "is not there"),
    "one colour": (programs.CONSTANT, "output_valid", "other", "of one colour"),
    "wrong size": (programs.WRONG_SIZE, "output_valid", "other", "64×48 was asked for"),
    "cut off": (programs.CUT_OFF, "output_valid", "other", "does not open"),
    "error swallowed": (programs.SWALLOWED, "no_errors", "other", "the second clip has no frames"),
    "exit code": (programs.EXIT_CODE, "exit_zero", "other", "exit code 3"),
    "killed": (programs.KILLED, "exit_zero", "other", "SIGKILL"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_fail(run: Run, way: str) -> None:
    body, criterion, failure, words = WAYS[way]
    result = run(body)
    assert not result.passed
    assert criterion in unmet(result)
    assert result.failure == failure
    assert words in (result.failure_text or "")


def test_errors_that_were_swallowed_fail_although_the_exit_code_is_0(run: Run) -> None:
    result = run(programs.SWALLOWED)
    assert result.exit_code == 0
    assert unmet(result) == ["no_errors"]


def test_a_program_that_does_not_end(run: Run) -> None:
    began = time.monotonic()
    result = run(programs.HANGS, seconds=0.7)
    assert unmet(result) == ["exit_zero"]
    assert "had not ended after 0.7 s" in (result.failure_text or "")
    assert time.monotonic() - began < 20


def test_a_file_of_an_earlier_run_is_not_this_ones(run: Run, tmp_path: Path) -> None:
    smoke_section = "smoke: {{command: [{python}, infer.py], output: out/frame.png}}\n"
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(
        [sys.executable, "-c", programs.PLAIN + "write_png('out/frame.png', 64, 48, slope)"],
        cwd=tmp_path,
        check=True,
    )
    hour_ago = time.time() - 3600
    os.utime(out / "frame.png", (hour_ago, hour_ago))
    result = run(programs.NOT_WRITTEN, smoke_section.format(python=sys.executable))
    assert unmet(result) == ["output_valid"]
    assert "from before the start" in result.criteria.output_valid.evidence


def test_lines_of_stages_give_the_times(run: Run) -> None:
    result = run(programs.STAGES)
    assert result.passed
    assert (result.cold.load_ms, result.cold.fwd_ms, result.cold.post_ms) == (812.5, 95.25, 4.5)
    assert result.cold.total_ms == 912.25
    assert (result.warm.fwd_ms, result.warm.total_ms) == (40.5, 44.5)


def test_the_probe_gives_the_times_cold_and_warm_apart(run: Run) -> None:
    result = run(programs.PROBED)
    assert result.passed
    assert "load_done" in result.criteria.weights_loaded.evidence
    cold, warm = result.cold, result.warm
    assert None not in (cold.load_ms, cold.fwd_ms, cold.post_ms, cold.total_ms)
    assert 80 <= (cold.fwd_ms or 0) < 5_000
    assert 30 <= (warm.fwd_ms or 0) < 5_000
    assert warm.load_ms is None
    assert (cold.total_ms or 0) > (warm.total_ms or 0)


class TestTorch:
    """A missing CUDA is made by ``benchmarks/smoke.py``; importing torch takes seconds."""

    @pytest.fixture(autouse=True)
    def torch_is_there(self) -> None:
        if importlib.util.find_spec("torch") is None:
            pytest.skip("torch is not installed")

    def test_a_model_of_torch(self, run: Run) -> None:
        result = run(programs.TORCH.removeprefix(programs.PICTURE) + programs.GOOD_TORCH)
        assert result.passed
        assert "weights.pt" in result.criteria.weights_loaded.evidence
        assert "was loaded in" in result.criteria.weights_loaded.evidence
        cold = result.cold
        assert cold.load_ms is not None
        assert cold.fwd_ms is not None
        assert cold.total_ms is not None
        assert 0 < cold.load_ms + cold.fwd_ms < cold.total_ms
        assert "outermost calls of torch modules" in result.times_note

    def test_weights_that_cannot_be_loaded_although_all_goes_on(
        self, run: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "broken.pt").write_bytes(b"nonsense" * 100)
        result = run(programs.TORCH.removeprefix(programs.PICTURE) + programs.CORRUPT_WEIGHTS)
        assert result.exit_code == 0
        assert unmet(result) == ["weights_loaded"]
        assert result.failure == "weights_path"
        assert "loading failed" in result.criteria.weights_loaded.evidence
