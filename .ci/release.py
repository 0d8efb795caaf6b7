"""What is released, tried as users get it: built, compared, installed in clean environments, used.

    python .ci/release.py [--pythons 3.10,…,3.14] [--tests] [--build-only]

Builds wheel and sdist of mgtop and mgtop-probe twice, at different places and times: the files
must be equal byte for byte, and the wheel of an sdist the same as that of the tree. Then every
Python that is found gets a clean environment with the newest, and one with the oldest allowed
dependencies (mgtop-probe: one of its own, 3.8 and later): version, help, doctor, themes,
profiles, a recording and its report. ``--tests`` also runs the tests that need no torch on the
oldest dependencies. Exit code 1 where anything is not as it must be. Needs ``build``,
``hatchling`` and ``uv``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = (sys.executable, "-m", "uv")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PROBE_PYTHONS = ("3.8", "3.9", *PYTHONS)
TESTED = ("wire", "session", "charts", "config", "analysis", "report", "export", "view", "cli")
"""Tests that need no torch; the pictures of screens belong to one version of Textual."""
EPOCH = "1760000000"  # any fixed time: what is built must not tell when
SHIPPED = (("themes", "*.toml"), ("mgtop/hooks/profiles", "*.yaml"))
TARGET = """
import time
from mgtop import probe
probe.load_done()
with probe.request("r1", width=64, height=64, steps=4, fps=50) as request:
    for number in range(60):
        with request.span("forward"):
            time.sleep(0.02 if number != 40 else 0.3)
        request.frame()
"""
PROBE_ALONE = "from mgtop import probe; probe.frame(); print(probe.__version__)"


class Wrong(Exception):
    """Something is not as it must be; the message tells what."""


def need(holds: bool, otherwise: str) -> None:
    """Raise Wrong unless it holds."""
    if not holds:
        raise Wrong(otherwise)


def run(*words: str | Path, **environment: str) -> str:
    """Standard output of a command that must succeed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd="/",
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in words[:6])
        raise Wrong(f"{shown} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def interpreters(versions: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Version and path of each interpreter that is found; a missing one is said."""
    for version in versions:
        pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
        path = shutil.which(f"python{version}", path=os.defpath + ":/usr/local/bin")
        found = path or (str(pyenv[-1]) if pyenv else None)
        if found is None:
            print(f"  python {version}: none on this machine, NOT TRIED")
        else:
            yield version, found


# ---------------------------------------------------------------------------- building


def build(source: Path, out: Path) -> dict[str, Path]:
    """Wheel (made from the sdist) and sdist of a tree, by suffix."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source,
        SOURCE_DATE_EPOCH=EPOCH)  # fmt: skip
    return {path.suffix: path for path in out.iterdir()}


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_of_tree(to: Path) -> Path:
    """The files that git knows, at another place, with other times."""
    names = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for name in filter(None, names):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        shutil.copymode(ROOT / name, target)
    return to


def built_twice(scratch: Path) -> tuple[Path, Path]:
    """The wheels of mgtop and of mgtop-probe, after everything about them was compared."""
    trees = [copy_of_tree(scratch / place) for place in ("one", "another/and deeper")]
    wheels = []
    for package in (".", "mgtop/probe"):
        first, second = (
            build(tree / package, scratch / f"dist-{number}-{package.replace('/', '-')}")
            for number, tree in enumerate(trees)
        )
        for suffix, path in first.items():
            same = digest(path) == digest(second[suffix])
            need(same, f"{path.name} differs between two builds of the same tree")
            print(f"  {path.name}  {path.stat().st_size / 1024:,.0f} KiB  sha256 {digest(path)}")
        if package == ".":  # the probe's licence lies outside of its folder: from its sdist only
            straight = scratch / f"straight-{package.replace('/', '-')}"
            run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", straight,
                trees[0] / package, SOURCE_DATE_EPOCH=EPOCH)  # fmt: skip
            (wheel,) = straight.iterdir()
            same = digest(wheel) == digest(first[".whl"])
            need(same, f"{wheel.name}: the wheel of the sdist is another than that of the tree")
        wheels.append(first[".whl"])
        contents(first[".whl"], first[".gz"], whole=package == ".")
    return wheels[0], wheels[1]


def contents(wheel: Path, sdist: Path, *, whole: bool) -> None:
    """Licence, version, themes and profiles are inside; nothing of a workplace is."""
    names = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as files:
        source = files.getnames()
    version = run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
                  "from mgtop.probe.version import VERSION; print(VERSION)").strip()  # fmt: skip
    need(wheel.name.split("-")[1] == version, f"{wheel.name} is not version {version}")
    need(any(name.endswith("licenses/LICENSE") for name in names), f"{wheel.name}: no LICENSE")
    need(any(name.endswith("/LICENSE") for name in source), f"{sdist.name}: no LICENSE")
    stray = [name for name in names + source if "__pycache__" in name or "/." in name[1:]]
    allowed = (".gitignore",)
    stray = [name for name in stray if not name.endswith(allowed)]
    need(not stray, f"does not belong into a release: {stray[:5]}")
    if not whole:
        return
    for folder, inside in (("themes", "mgtop/_themes"), ("mgtop/hooks/profiles",) * 2):
        here = {
            path.name for path in (ROOT / folder).iterdir() if path.suffix in (".toml", ".yaml")
        }
        there = {Path(name).name for name in names if name.startswith(f"{inside}/")}
        need(bool(here), f"nothing in {folder}")
        need(here <= there, f"{wheel.name} lacks {sorted(here - there)} of {folder}")


# ---------------------------------------------------------------------------- using


def environment(python: str, folder: Path, *words: str | Path) -> Path:
    """A clean environment with what ``uv pip install`` makes of the words."""
    run(*UV, "venv", "--quiet", "--python", python, folder)
    run(*UV, "pip", "install", "--quiet", "--python", folder / "bin/python", *words)
    return folder / "bin"


def use(commands: Path, folder: Path) -> str:
    """A recording with everything around it; a sentence on it."""
    mgtop = commands / "mgtop"
    version = run(mgtop, "--version").split()[-1]
    for word in ("run", "attach", "view", "report", "sweep", "check", "export"):
        need("Example" in run(mgtop, word, "--help"), f"mgtop {word} --help has no example")
    json.loads(run(mgtop, "doctor", "--json"))
    shipped = (
        "from mgtop.view.themes import load_all; from mgtop.hooks.profile_files import every; "
        "print(len(load_all()), len(list(every())))"
    )
    here = [len(list((ROOT / each).glob(kind))) for each, kind in SHIPPED]
    found = run(commands / "python", "-c", shipped).split()
    need(found == [str(count) for count in here], f"themes and profiles: {found} of {here}")
    script = folder / "target.py"
    script.write_text(TARGET)
    runtime = {"MGTOP_RUNTIME": str(folder / "runtime")}
    run(mgtop, "run", "--headless", "--out", folder / "recorded", "--",
        commands / "python", script, **runtime)  # fmt: skip
    report = json.loads(run(mgtop, "report", folder / "recorded", "--json"))
    intervals = report["interval_ms"]["count"]
    need(intervals > 50, f"only {intervals} intervals of 59 in the report")
    need(report["tails"]["count"] >= 1, "the late frame was not found")
    run(mgtop, "export", folder / "recorded", "--to", "csv", "-o", folder / "frames.csv")
    return f"mgtop {version}, {intervals} intervals, {report['tails']['count']} late"


def tried(wheel: Path, probe: Path, scratch: Path, versions: tuple[str, ...], tests: bool) -> None:
    """Each Python with the newest and the oldest dependencies, and the probe alone."""
    for version, python in interpreters(versions):
        for resolution in ("highest", "lowest-direct"):
            folder = scratch / f"env-{version}-{resolution}"
            commands = environment(python, folder, "--resolution", resolution, wheel)
            workplace = scratch / f"use-{version}-{resolution}"
            workplace.mkdir()
            said = use(commands, workplace)
            print(f"  mgtop        {version:<5} {resolution:<14} {said}")
            if tests and resolution == "lowest-direct":
                print(f"  tests        {version:<5} {resolution:<14} {tested(folder)}")
    for version, python in interpreters(PROBE_PYTHONS if versions == PYTHONS else versions):
        commands = environment(python, scratch / f"probe-{version}", "--no-deps", probe)
        said = run(commands / "python", "-W", "error", "-c", PROBE_ALONE).strip()
        print(f"  mgtop-probe  {version:<5} alone          {said}")


def tested(folder: Path) -> str:
    """The tests that need no torch, of the tree, on this environment's dependencies."""
    python = folder / "bin/python"
    frozen = folder / "frozen.txt"
    frozen.write_text(
        "".join(
            line + "\n"
            for line in run(*UV, "pip", "freeze", "--python", python).splitlines()
            if "==" in line and not line.startswith("mgtop")
        )
    )
    run(*UV, "pip", "install", "--quiet", "--python", python, "-c", frozen, "pytest>=8",
        "pytest-asyncio", "pytest-timeout", "pytest-textual-snapshot", "hypothesis", "numpy",
        "pyte", "pillow", "pytest-xdist")  # fmt: skip
    folders = [ROOT / "tests" / name for name in TESTED]
    said = run(python, "-m", "pytest", "-q", "--rootdir", ROOT, "-c", ROOT / "pyproject.toml",
               "-n", "2", "-k", "not pictures", *folders)  # fmt: skip
    return said.splitlines()[-1]


def main() -> int:
    """Try everything; 0 where all is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pythons", default=",".join(PYTHONS))
    parser.add_argument("--build-only", action="store_true", help="install nothing")
    parser.add_argument("--tests", action="store_true", help="run tests on oldest dependencies")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        try:
            print("built twice, equal:")
            wheel, probe = built_twice(scratch)
            if not args.build_only:
                print("installed in clean environments and used:")
                tried(wheel, probe, scratch, tuple(args.pythons.split(",")), args.tests)
        except Wrong as wrong:
            print(f"WRONG: {wrong}")
            return 1
    print("all as it must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
