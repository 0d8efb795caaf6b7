"""The machine, as it is described in a session."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from mgtop.record.environment import describe


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_a_machine_with_a_driver_in_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    write(
        tmp_path,
        {
            "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9654\n",
            "proc/meminfo": "MemTotal:       1048576 kB\nMemFree: 1 kB\n",
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64"
            "  580.65.06  Release Build  (dvs-builder)  Sun Jul 27\nGCC version: 12.3.0\n",
            ".dockerenv": "",
        },
    )
    found = describe(tmp_path)
    assert found["os"] == "Ubuntu 22.04.5 LTS"
    assert found["cpu"] == "AMD EPYC 9654"
    assert found["ram_mib"] == 1024
    assert found["driver"] == "580.65.06"
    assert found["container"] == "docker"
    assert found["kernel"] == platform.release()


def test_what_is_not_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("container", raising=False)
    found = describe(tmp_path)
    assert [found[key] for key in ("os", "driver", "cuda", "ram_mib", "container")] == [None] * 5


def test_a_pod_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert describe(tmp_path)["container"] == "kubernetes"


def test_this_machine() -> None:
    found = describe()
    assert found["cpu"]
    assert found["ram_mib"] > 0
