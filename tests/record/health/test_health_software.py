"""Packages that are missing, too old, or in each other's place; made-up installations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mgtop.record.health import software
from mgtop.record.health.finding import Finding
from mgtop.record.health.software import Requirement, check_software, fits, numbers, requirements


def install(folder: Path, name: str, version: str, *modules: str) -> None:
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    for module in modules:
        path = folder / module
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise AssertionError('never imported')\n")


def look(*folders: Path) -> dict[str, Finding]:
    return {f.id: f for f in check_software([str(folder) for folder in folders])}


def bindings(*folders: Path) -> Finding:
    return look(*folders)["software.pynvml"]


def test_here() -> None:
    found = {f.id: f for f in check_software()}
    assert found["software.dependencies"].state == "ok"
    assert found["software.dependencies"].measured["count"] >= 8
    assert found["software.python"].measured["version"] == sys.version.split()[0]
    assert found["software.mgtop"].state == "ok"


def test_the_right_bindings(tmp_path: Path) -> None:
    install(tmp_path, "nvidia-ml-py", "13.580.65", "pynvml.py")
    found = bindings(tmp_path)
    assert (found.state, found.value) == ("ok", "nvidia-ml-py 13.580.65")


def test_no_bindings(tmp_path: Path) -> None:
    found = bindings(tmp_path)
    assert (found.state, found.remedy) == ("missing", "pip install nvidia-ml-py")


@pytest.mark.parametrize(
    ("rival", "version", "module"),
    [("nvidia-ml-py3", "7.352.0", "pynvml.py"), ("pynvml", "11.4.1", "pynvml/__init__.py")],
)
def test_bindings_that_another_package_wrote_over(
    tmp_path: Path, rival: str, version: str, module: str
) -> None:
    install(tmp_path, "nvidia-ml-py", "13.580.65", "pynvml.py")
    install(tmp_path, rival, version, module)
    found = bindings(tmp_path)
    assert found.state == "weak"
    assert found.value == f"shadowed by {rival} {version}"
    assert str(tmp_path / module) in (found.reason or "")
    assert f"pip uninstall -y {' '.join(software.RIVALS)}" in (found.remedy or "")


def test_a_pynvml_that_only_wraps_them_is_harmless(tmp_path: Path) -> None:
    install(tmp_path, "nvidia-ml-py", "13.580.65", "pynvml.py")
    install(tmp_path, "pynvml", "13.0.1", "pynvml_utils/__init__.py")
    found = bindings(tmp_path)
    assert found.state == "ok"
    assert "pynvml 13.0.1 is superfluous" in found.value


def test_a_module_that_comes_first_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "mine" / "pynvml.py").touch()
    install(tmp_path / "site", "nvidia-ml-py", "13.580.65", "pynvml.py")
    found = bindings(tmp_path / "mine", tmp_path / "site")
    assert found.state == "weak"
    assert str(tmp_path / "mine" / "pynvml.py") in found.value


def test_the_demos_packages_are_found_and_not_imported(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.9.0", "torch/__init__.py")
    found = look(tmp_path)["software.demo"]
    assert (found.state, found.essential) == ("weak", False)
    assert found.value == "without av"
    assert found.measured == {"torch": "2.9.0", "av": None}
    install(tmp_path, "av", "16.0", "av/__init__.py")
    assert look(tmp_path)["software.demo"].value == "torch 2.9.0, av 16.0"


def test_what_is_missing_or_too_old_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [
        Requirement("textual", [(">=", (8, 2)), ("<", (9,))], "textual>=8.2,<9"),
        Requirement("click", [(">=", (8, 1))], "click>=8.1"),
        Requirement("msgspec", [(">=", (0, 19))], "msgspec>=0.19"),
    ]
    monkeypatch.setattr(software, "requirements", lambda: wanted)
    install(tmp_path, "textual", "9.0.1")
    install(tmp_path, "click", "8.1.7")
    found = look(tmp_path)["software.dependencies"]
    assert (found.state, found.value) == ("weak", "2 of 3 do not fit")
    assert found.reason == (
        "textual is 9.0.1, textual>=8.2,<9 is needed; "
        "msgspec is not installed, msgspec>=0.19 is needed"
    )
    assert (found.remedy or "").endswith("-m pip install 'textual>=8.2,<9' 'msgspec>=0.19'")


def test_the_requirements_are_those_of_the_project() -> None:
    names = {one.name for one in requirements()}
    assert {"textual", "click", "msgspec", "nvidia-ml-py"} <= names
    assert not names & {"torch", "pytest"}  # extras
    (textual,) = [one for one in requirements() if one.name == "textual"]
    assert (("<", (9,))) in textual.bounds


@pytest.mark.parametrize(
    ("version", "bounds", "expected"),
    [
        ("8.2.8", [(">=", (8, 2)), ("<", (9,))], True),
        ("8.2", [(">=", (8, 2, 0))], True),
        ("8.1.9", [(">=", (8, 2))], False),
        ("9.0.0", [("<", (9,))], False),
        ("10.0", [(">=", (9,))], True),
        ("1.0rc1", [("==", (1, 0))], True),
        ("2.0", [("!=", (2, 0))], False),
        ("2.0", [("~=", (1, 0))], True),  # not judged
    ],
)
def test_versions(version: str, bounds: list[tuple[str, tuple[int, ...]]], expected: bool) -> None:
    assert fits(version, bounds) is expected


def test_numbers() -> None:
    assert numbers("12.535.108") == (12, 535, 108)
    assert numbers("2.13.0+cpu") == (2, 13, 0)
    assert numbers("none") == ()
