"""Processor, kernel, container and files, over made-up ``/proc`` and ``/sys`` and over the real."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from mgtop.record.health.finding import Finding
from mgtop.record.health.kernel import check_kernel, spin
from mgtop.record.health.processor import Cores, check_processor, these_cores
from mgtop.record.health.surroundings import check_surroundings, is_wsl

PID, TID = 7, 9


def by_id(findings: Iterable[Finding]) -> dict[str, Finding]:
    found = {finding.id: finding for finding in findings}
    for finding in found.values():
        assert (finding.reason is None) == (finding.state == "ok"), finding
        assert "\n" not in finding.value + (finding.reason or "") + (finding.remedy or "")
        assert finding.id.startswith(finding.area + ".")
    return found


def write(root: Path, **files: str) -> None:
    """``proc__self__mounts="…"`` is the file ``proc/self/mounts``; ``_DOT_`` is a dot."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")


class TestProcessor:
    def look(self, root: Path, cores: Cores) -> dict[str, Finding]:
        return by_id(check_processor(cores, PID, root))

    def v2(self, root: Path, quota: str, stat: str) -> None:
        write(
            root,
            proc__7__cgroup="0::/job",
            sys__fs__cgroup__job__cpu_DOT_max=quota,
            sys__fs__cgroup__job__cpu_DOT_stat=stat,
        )

    def test_a_quiet_machine_without_quota(self, tmp_path: Path) -> None:
        self.v2(tmp_path, "max 100000", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0")
        found = self.look(tmp_path, Cores(8, 8, 0.5))
        assert [f.state for f in found.values()] == ["ok"] * 3
        assert found["processor.cores"].value == "8"
        assert found["processor.quota"].value == "none (cgroup v2), not throttled"

    def test_version_2_throttled(self, tmp_path: Path) -> None:
        stat = "nr_periods 200\nnr_throttled 50\nthrottled_usec 2500000"
        self.v2(tmp_path, "150000 100000", stat)
        found = self.look(tmp_path, Cores(8, 8, 0.5))
        quota = found["processor.quota"]
        assert quota.state == "weak"
        assert quota.value == "1.5 cores (cgroup v2), throttled in 25 % of its periods"
        assert quota.measured["throttled_ms"] == 2_500
        assert "--cpus" in (quota.remedy or "")
        assert found["processor.cores"].state == "weak"  # 1.5 cores are few

    def test_version_1_throttled(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            proc__7__cgroup="3:cpu,cpuacct:/job",
            **{
                "sys__fs__cgroup__cpu,cpuacct__job__cpu_DOT_cfs_quota_us": "400000",
                "sys__fs__cgroup__cpu,cpuacct__job__cpu_DOT_cfs_period_us": "100000",
                "sys__fs__cgroup__cpu,cpuacct__job__cpu_DOT_stat": (
                    "nr_periods 10\nnr_throttled 1\nthrottled_time 3000000"
                ),
            },
        )
        quota = self.look(tmp_path, Cores(8, 8, 0.5))["processor.quota"]
        assert quota.value == "4 cores (cgroup v1), throttled in 10 % of its periods"
        assert quota.measured["throttled_ms"] == 3

    def test_no_control_group_to_be_seen(self, tmp_path: Path) -> None:
        quota = self.look(tmp_path, Cores(8, 8, 0.5))["processor.quota"]
        assert (quota.state, quota.value) == ("weak", "not told")

    def test_one_core_of_many(self, tmp_path: Path) -> None:
        cores = self.look(tmp_path, Cores(64, 1, 0.5))["processor.cores"]
        assert (cores.state, cores.value) == ("weak", "1 of 64 may be used")

    @pytest.mark.parametrize(("load", "state"), [(7.9, "ok"), (8.5, "weak")])
    def test_load(self, tmp_path: Path, load: float, state: str) -> None:
        assert self.look(tmp_path, Cores(8, 8, load))["processor.load"].state == state

    def test_this_machine(self) -> None:
        found = by_id(check_processor(these_cores(), os.getpid()))
        assert found["processor.cores"].measured["machine"] == os.cpu_count()


class TestKernel:
    def look(self, root: Path, shown_ns: int | None = 10_000_000) -> dict[str, Finding]:
        """As if a thread worked for 10 ms, of which schedstat shows so much."""
        task = root / "proc" / str(PID) / "task" / str(TID)
        task.mkdir(parents=True, exist_ok=True)
        if shown_ns is not None:
            (task / "schedstat").write_text("500 70 3\n")

        def work() -> int:
            if shown_ns is not None:
                (task / "schedstat").write_text(f"{500 + shown_ns} 2000070 4\n")
            return 10_000_000

        return by_id(check_kernel(PID, TID, work, root))

    def test_a_kernel_that_tells_everything(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            proc__7__task__9__children="",
            proc__pressure__cpu="some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
            proc__sys__kernel__task_delayacct="1",
            proc__sys__kernel__yama__ptrace_scope="0",
            proc__self__mounts="proc /proc proc rw,relatime 0 0",
        )
        found = self.look(tmp_path)
        assert {f.state for f in found.values()} == {"ok"}
        assert found["kernel.schedstat"].measured == {"seen_ms": 10.0, "waited_ms": 2.0}

    def test_a_kernel_that_tells_nothing(self, tmp_path: Path) -> None:
        write(tmp_path, proc__sys__kernel__task_delayacct="0")
        found = self.look(tmp_path, shown_ns=None)
        states = {f.id: f.state for f in found.values()}
        assert states == {
            "kernel.schedstat": "missing",
            "kernel.children": "weak",
            "kernel.pressure": "weak",
            "kernel.disk_wait": "weak",
            "kernel.hidepid": "ok",
            "kernel.ptrace": "ok",
        }

    def test_statistics_that_are_always_zero_are_found_out(self, tmp_path: Path) -> None:
        found = self.look(tmp_path, shown_ns=0)["kernel.schedstat"]
        assert (found.state, found.value) == ("weak", "always zero")

    @pytest.mark.parametrize(
        ("option", "state"),
        [("hidepid=2", "weak"), ("hidepid=invisible", "weak"), ("hidepid=0", "ok"), ("x", "ok")],
    )
    def test_hidden_processes(self, tmp_path: Path, option: str, state: str) -> None:
        write(tmp_path, proc__self__mounts=f"proc /proc proc rw,nosuid,{option} 0 0")
        assert self.look(tmp_path)["kernel.hidepid"].state == state

    @pytest.mark.parametrize(
        ("scope", "capabilities", "state"),
        [("1", "0", "weak"), ("2", "0", "weak"), ("3", "0", "weak"), ("1", "80000", "ok")],
    )
    def test_ptrace(self, tmp_path: Path, scope: str, capabilities: str, state: str) -> None:
        write(
            tmp_path,
            proc__sys__kernel__yama__ptrace_scope=scope,
            proc__self__status=f"Name:\tx\nCapEff:\t{capabilities}",
        )
        found = self.look(tmp_path)["kernel.ptrace"]
        assert found.state == state
        assert found.measured["scope"] == int(scope)

    def test_this_kernel(self) -> None:
        found = by_id(check_kernel())
        assert set(found) == {
            f"kernel.{what}"
            for what in ("schedstat", "children", "pressure", "disk_wait", "hidepid", "ptrace")
        }

    def test_the_thread_that_works_is_the_one_that_is_looked_at(self) -> None:
        assert 5_000_000 < spin() < 500_000_000
        tids = []

        def elsewhere() -> None:
            tids.append(threading.get_native_id())
            found.update(by_id(check_kernel()))

        found: dict[str, Finding] = {}
        worker = threading.Thread(target=elsewhere)
        worker.start()
        worker.join()
        assert tids[0] != threading.get_native_id()
        assert found["kernel.schedstat"].state == by_id(check_kernel())["kernel.schedstat"].state


class TestSurroundings:
    def look(self, root: Path) -> dict[str, Finding]:
        return by_id(check_surroundings(PID, root))

    @pytest.fixture(autouse=True)
    def no_marks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("KUBERNETES_SERVICE_HOST", "container"):
            monkeypatch.delenv(name, raising=False)

    def namespace(self, root: Path, name: str) -> None:
        folder = root / "proc" / str(PID) / "ns"
        folder.mkdir(parents=True)
        (folder / "pid").symlink_to(name)

    def test_a_plain_machine(self, tmp_path: Path) -> None:
        self.namespace(tmp_path, "pid:[4026531836]")
        write(tmp_path, proc__sys__kernel__osrelease="6.8.0-45-generic")
        write(tmp_path, **{"etc__os-release": 'PRETTY_NAME="Ubuntu 24.04"'})
        found = self.look(tmp_path)
        assert found["machine.system"].value == "Ubuntu 24.04, kernel 6.8.0-45-generic"
        assert found["machine.container"].value == "none seen"
        assert "machine.wsl" not in found
        assert "machine.memory_limit" not in found

    def test_a_container_with_pids_of_its_own(self, tmp_path: Path) -> None:
        self.namespace(tmp_path, "pid:[4026532777]")
        write(tmp_path, _DOT_dockerenv="")
        found = self.look(tmp_path)["machine.container"]
        assert found.value == "docker, with pids of its own"
        assert found.measured == {"kind": "docker", "own_pids": True}

    def test_a_container_of_an_unknown_kind(self, tmp_path: Path) -> None:
        self.namespace(tmp_path, "pid:[4026532777]")
        assert self.look(tmp_path)["machine.container"].value.startswith("not recognised")

    def test_wsl2(self, tmp_path: Path) -> None:
        write(tmp_path, proc__sys__kernel__osrelease="5.15.153.1-microsoft-standard-WSL2")
        found = self.look(tmp_path)["machine.wsl"]
        assert found.state == "weak"
        assert "spills" in (found.reason or "")

    @pytest.mark.parametrize(
        ("kernel", "expected"),
        [("5.15.153.1-microsoft-standard-WSL2", True), ("6.8.0-45-generic", False), ("", False)],
    )
    def test_the_sign_of_wsl(self, kernel: str, expected: bool) -> None:
        assert is_wsl(kernel) is expected

    @pytest.mark.parametrize(("used", "state"), [(80, "ok"), (95, "weak")])
    def test_a_memory_limit(self, tmp_path: Path, used: int, state: str) -> None:
        write(
            tmp_path,
            proc__7__cgroup="0::/job",
            sys__fs__cgroup__job__memory_DOT_current=str(used << 25),
            sys__fs__cgroup__job__memory_DOT_max=str(100 << 25),
        )
        found = self.look(tmp_path)["machine.memory_limit"]
        assert found.state == state
        assert found.value.endswith("of 3.1 GiB used")

    def test_this_machine(self) -> None:
        found = by_id(check_surroundings(os.getpid()))
        assert os.uname().release in found["machine.system"].value
