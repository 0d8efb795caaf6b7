"""NVML examined: over traffic recorded from an H200, in virtual time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from benchmarks.gpu.traffic import Replay
from mgtop.record.health.finding import Finding
from mgtop.record.health.gpu import check_gpu
from mgtop.record.health.nvml_answer import NvmlAnswer, ReadingCost
from mgtop.record.health.nvml_measure import ROUNDS, Examination, examine
from mgtop.record.nvml.sampler import NvmlSampler

TRAFFIC = Path(__file__).parents[1] / "nvml" / "h200.jsonl.gz"
PID = 4242


class Machine:
    """An H200 whose calls take as long as they took when they were recorded."""

    def __init__(self, tmp_path: Path, at: str = "busy") -> None:
        self.now = 0
        self.root = tmp_path
        self.driver = Replay(TRAFFIC, lambda: self.now, self.spend)
        (begin,) = [t for t, phase in self.driver.phases if phase == at]
        self.now = begin + 1_500_000_000
        (tmp_path / "proc" / str(PID) / "ns").mkdir(parents=True)
        self.namespace("pid:[4026531836]")

    def spend(self, duration_ns: int) -> None:
        self.now += duration_ns

    def nap(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)

    def namespace(self, name: str) -> None:
        link = self.root / "proc" / str(PID) / "ns" / "pid"
        link.unlink(missing_ok=True)
        link.symlink_to(name)

    def refuse(self, function: str, error: int) -> None:
        def fail(*_: Any) -> Any:
            raise self.driver.NVMLError(error)

        self.driver.override[function] = fail

    def examine(self) -> NvmlAnswer:
        sampler = NvmlSampler(
            self.driver,
            clock=lambda: self.now,
            wall=lambda: self.now + self.driver.wall_offset_ns,
        )
        examination = Examination(
            sampler, proc=self.root / "proc", nap=self.nap, clock=lambda: self.now
        )
        examination.run()
        # What is written by one process is read by another.
        return msgspec.json.decode(msgspec.json.encode(examination.answer), type=NvmlAnswer)

    def findings(self) -> dict[str, Finding]:
        return {f.id: f for f in check_gpu(self.examine(), PID, self.root)}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def costs(answer: NvmlAnswer) -> dict[str, ReadingCost]:
    return {reading.name: reading for reading in answer.readings}


class TestHealthy:
    def test_driver_and_gpu(self, machine: Machine) -> None:
        answer = machine.examine()
        assert (answer.driver, answer.cuda) == ("580.159.04", "13.0")
        (gpu,) = answer.gpus
        assert (gpu.name, gpu.total_mib, gpu.reserved_mib) == ("NVIDIA H200", 143_771, 615)
        assert (gpu.mig, gpu.unified, gpu.gpm, gpu.persistence) == (False, False, True, None)
        assert gpu.used_mib is not None
        assert 500 < gpu.used_mib < 2_000
        assert answer.complete
        assert answer.reason is None

    def test_each_reading_is_timed(self, machine: Machine) -> None:
        answer = machine.examine()
        found = costs(answer)
        assert {name for name, one in found.items() if one.state == "ok"} == {
            "memory", "utilisation", "ring", "state", "throttle", "ecc", "processes",
            "process_work", "graphics",
        }  # fmt: skip
        memory = found["memory"]
        assert (memory.n, memory.calls) == (ROUNDS, 1)
        assert memory.cost_us == pytest.approx(90, abs=60)  # as recorded: P50 92
        assert memory.period_ms == 20
        assert memory.ms_per_s == pytest.approx((memory.cost_us or 0) / 20)
        assert found["state"].calls == 6
        ring = found["ring"]
        assert ring.period_ms is not None
        assert ring.wanted_ms == 1_000
        assert ring.period_ms > 1_000  # 2 ms a call: thinned to its share
        assert answer.ms_per_s == pytest.approx(sum(o.ms_per_s or 0 for o in answer.readings))
        assert 3 < (answer.ms_per_s or 0) < 13

    def test_gpm_is_there_and_not_needed(self, machine: Machine) -> None:
        gpm = costs(machine.examine())["gpm"]
        assert (gpm.state, gpm.reason, gpm.cost_us) == (
            "unused", "the driver's own samples tell the same for less", None,
        )  # fmt: skip
        assert machine.findings()["gpu.reading.gpm"].state == "ok"

    def test_findings(self, machine: Machine) -> None:
        found = machine.findings()
        assert {f.state for f in found.values()} == {"ok", "weak"}
        assert found["gpu.driver"].value == "580.159.04, CUDA 13.0"
        assert found["gpu.device.0"].value.startswith("NVIDIA H200, 143,771 MiB (615 reserved)")
        assert "every 20 ms" in found["gpu.reading.memory"].value
        assert "(wanted 1,000)" in found["gpu.reading.ring"].value
        assert "in 6 calls" in found["gpu.reading.state"].value
        assert found["gpu.cost"].state == "ok"

    def test_a_process_of_another_namespace_is_told_apart(self, machine: Machine) -> None:
        weak = machine.findings()["gpu.processes"]
        assert weak.state == "weak"
        assert weak.measured == {"listed": 1, "with_memory": 1, "here": 0, "own_pids": False}
        assert "--pid=host" in (weak.remedy or "")
        (listed,) = machine.examine().processes
        (machine.root / "proc" / str(listed.pid)).mkdir()
        fine = machine.findings()["gpu.processes"]
        assert fine.state == "ok"
        assert "matched by pid" in fine.value

    @pytest.mark.parametrize(
        ("namespace", "word"),
        [("pid:[4026531836]", "by pid"), ("pid:[4026532999]", "if the driver translates it")],
    )
    def test_where_nothing_runs_it_says_how_it_would_be_matched(
        self, machine: Machine, namespace: str, word: str
    ) -> None:
        machine.namespace(namespace)
        machine.driver.override["nvmlDeviceGetComputeRunningProcesses"] = lambda *_: []
        found = machine.findings()["gpu.processes"]
        assert found.state == "ok"
        assert found.value.endswith(word)


class TestFaults:
    @pytest.mark.parametrize(
        ("error", "why", "do"),
        [
            (12, "libnvidia-ml.so.1 is missing", "--gpus all"),
            (9, "not loaded", "modprobe nvidia"),
            (18, "versions differ", "reboot"),
            (4, "no permission", "root"),
            (999, "unknown driver error", "restart the container"),
        ],
    )
    def test_no_driver(self, machine: Machine, error: int, why: str, do: str) -> None:
        machine.refuse("nvmlInit", error)
        (found,) = machine.findings().values()
        assert (found.id, found.state, found.essential) == ("gpu.driver", "missing", False)
        assert why in (found.reason or "")
        assert "recorded all the same" in (found.reason or "")
        assert do in (found.remedy or "")

    def test_the_library_is_left_out_of_a_container(self, machine: Machine) -> None:
        machine.refuse("nvmlInit", 12)
        (machine.root / "dev").mkdir()
        (machine.root / "dev" / "nvidiactl").touch()
        assert "DRIVER_CAPABILITIES=compute,utility" in (
            machine.findings()["gpu.driver"].remedy or ""
        )

    def test_the_library_of_wsl_is_not_on_the_path(self, machine: Machine) -> None:
        machine.refuse("nvmlInit", 12)
        library = machine.root / "usr/lib/wsl/lib/libnvidia-ml.so.1"
        library.parent.mkdir(parents=True)
        library.touch()
        assert machine.findings()["gpu.driver"].remedy == (
            "export LD_LIBRARY_PATH=/usr/lib/wsl/lib"
        )

    @pytest.mark.parametrize(
        ("function", "error", "reading", "why", "do"),
        [
            ("nvmlDeviceGetMemoryInfo", 13, "memory", "too old", "535"),
            ("nvmlDeviceGetFieldValues", 4, "throttle", "permission", "root"),
            ("nvmlDeviceGetTotalEccErrors", 3, "ecc", "not supported", "none is needed"),
            ("nvmlDeviceGetUtilizationRates", 17, "utilisation", "blocked", "restart"),
        ],
    )
    def test_an_error_costs_its_reading_only(
        self, machine: Machine, function: str, error: int, reading: str, why: str, do: str
    ) -> None:
        # The device was described before: what fails is the reading.
        honest = getattr(machine.driver, function)
        calls = []

        def later(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) < 2 and function == "nvmlDeviceGetMemoryInfo":
                return machine_answer(machine, honest, function, arguments)
            raise machine.driver.NVMLError(error)

        machine.driver.override[function] = later
        found = machine.findings()
        bad = found.pop(f"gpu.reading.{reading}")
        assert bad.state == "missing"
        assert why in (bad.reason or "")
        assert do in (bad.remedy or "")
        assert found["gpu.driver"].state == "ok"
        assert all(
            found[f"gpu.reading.{other}"].state == "ok" for other in ("ring", "state", "gpm")
        )

    def test_without_the_drivers_samples_gpm_is_measured(self, machine: Machine) -> None:
        machine.refuse("nvmlDeviceGetSamples", 3)
        found = costs(machine.examine())
        assert found["ring"].state == "absent"
        assert found["gpm"].state == "ok"
        assert (found["gpm"].cost_us or 0) > 1_500  # a sample and the difference of two
        assert machine.findings()["gpu.reading.ring"].state == "missing"

    def test_a_process_list_that_is_refused(self, machine: Machine) -> None:
        machine.refuse("nvmlDeviceGetComputeRunningProcesses", 4)
        found = machine.findings()["gpu.processes"]
        assert found.state == "missing"
        assert "no permission" in (found.reason or "")
        assert "framework's own figures" in (found.reason or "")

    def test_processes_without_memory_as_under_wsl(self, machine: Machine) -> None:
        machine.driver.override["nvmlDeviceGetComputeRunningProcesses"] = lambda *_: [
            SimpleNamespace(pid=77, usedGpuMemory=None)
        ]
        found = machine.findings()["gpu.processes"]
        assert found.state == "weak"
        assert found.measured["with_memory"] == 0
        assert "WSL2" in (found.reason or "")

    def test_a_slow_start_is_explained(self, machine: Machine) -> None:
        def slow(*_: Any) -> None:
            machine.now += 1_470_000_000

        machine.driver.override["nvmlInit"] = slow
        machine.driver.override["nvmlDeviceGetPersistenceMode"] = lambda *_: 0
        found = machine.findings()["gpu.driver"]
        assert found.state == "weak"
        assert "persistence mode is off" in (found.reason or "")
        assert found.remedy == "sudo nvidia-smi -pm 1"
        assert found.measured["init_ms"] == pytest.approx(1_490, abs=25)

    def test_calls_that_are_dear_are_thinned_and_it_says_so(self, machine: Machine) -> None:
        machine.driver._spend = lambda duration_ns: machine.spend(60 * duration_ns)
        found = machine.findings()
        assert "(wanted 20)" in found["gpu.reading.memory"].value
        assert found["gpu.cost"].measured["ms_per_s"] < 20

    def test_an_answer_of_another_shape_is_said(self, machine: Machine) -> None:
        machine.driver.override["nvmlDeviceGetCount"] = lambda *_: "many"
        answer = machine.examine()
        assert answer.reason is not None
        assert answer.reason.startswith("unexpected answer (TypeError")
        assert answer.complete


def machine_answer(
    machine: Machine, honest: Callable[..., Any], function: str, arguments: tuple[Any, ...]
) -> Any:
    """The recorded answer, beside the override."""
    override = machine.driver.override.pop(function)
    try:
        return honest(*arguments)
    finally:
        machine.driver.override[function] = override


class TestHang:
    @pytest.mark.parametrize(
        "function", ["nvmlInit", "nvmlDeviceGetFieldValues", "nvmlDeviceGetMemoryInfo"]
    )
    def test_a_call_that_never_comes_back_is_named_and_the_rest_is_kept(
        self, function: str
    ) -> None:
        driver = Replay(TRAFFIC, time.monotonic_ns)
        release = threading.Event()

        def hang(*_: Any) -> Any:
            release.wait(30)
            raise driver.NVMLError(999)

        driver.override[function] = hang
        began = time.monotonic()
        try:
            answer = examine(driver, limit_s=0.7)
            assert time.monotonic() - began < 1.5
            assert answer.hanging == function
            assert not answer.complete
            (found,) = [f for f in check_gpu(answer, PID) if f.id == "gpu.driver"]
            assert found.state == "missing"
            assert f"the driver does not answer {function}" in (found.reason or "")
            if function == "nvmlDeviceGetFieldValues":
                assert answer.driver == "580.159.04"
                assert [gpu.name for gpu in answer.gpus] == ["NVIDIA H200"]
                assert costs(answer)["memory"].n == 1
                assert costs(answer)["ecc"].state == "nothing"
        finally:
            release.set()


def test_several_gpus_of_one_kind_share_a_line() -> None:
    def cost(gpu: int, state: str = "ok", period_ms: float = 20) -> ReadingCost:
        if state != "ok":
            return ReadingCost(name="memory", gpu=gpu, state=state, reason="the GPU is lost")
        return ReadingCost(
            name="memory", gpu=gpu, state=state, calls=1, n=15, cost_us=90.0 + gpu,
            wanted_ms=period_ms, period_ms=period_ms, ms_per_s=90 / period_ms,
        )  # fmt: skip

    def found(*readings: ReadingCost) -> Finding:
        answer = NvmlAnswer(driver="580", used_gpu=1, readings=list(readings), complete=True)
        (finding,) = [f for f in check_gpu(answer, PID) if f.id == "gpu.reading.memory"]
        return finding

    all_well = found(cost(0, period_ms=1000), cost(1), cost(2, period_ms=1000))
    assert (all_well.state, all_well.value) == ("ok", "91 µs, every 20 ms: 4.50 ms/s")
    one_lost = found(cost(0, "lost"), cost(1), cost(2))
    assert one_lost.state == "weak"
    assert "on 1 of 3 GPUs" in one_lost.value
    assert one_lost.reason == "the GPU is lost"
