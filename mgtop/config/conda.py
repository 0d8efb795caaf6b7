"""Finding the Python of a conda environment, without starting conda where that can be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PATIENCE_S = 20.0
_PROGRAMS = ("conda", "mamba", "micromamba")
_USUAL = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")


def conda_python(name: str) -> tuple[Path | None, str]:
    """The Python of an environment, and where was looked if there is none.

    Args:
        name: of the environment; ``base``; or the path of its folder.
    """
    if "/" in name:
        place = Path(name).expanduser() / "bin" / "python"
        return (place if os.path.isfile(place) else None), f"{place} does not exist"
    looked: list[Path] = []
    for root in _roots():
        place = root if name == "base" else root / "envs" / name
        if place in looked:
            continue
        looked.append(place)
        if os.path.isfile(place / "bin" / "python"):
            return place / "bin" / "python", ""
    for place in _registered():
        if place.name == name and os.path.isfile(place / "bin" / "python"):
            return place / "bin" / "python", ""
    if not looked:
        return None, "no conda was found; python: PATH names an interpreter directly"
    return None, f"looked for {', '.join(map(str, looked))}"


def _roots() -> Iterator[Path]:
    """Folders of conda installations, the likeliest first; each holds ``envs/``."""
    for variable in ("CONDA_EXE", "MAMBA_EXE"):
        if program := os.environ.get(variable):
            yield Path(program).parent.parent
    if root := os.environ.get("MAMBA_ROOT_PREFIX"):
        yield Path(root)
    if prefix := os.environ.get("CONDA_PREFIX"):
        found = Path(prefix)
        yield found.parent.parent if found.parent.name == "envs" else found
    home = Path.home()
    for folder in (*(home / name for name in _USUAL), Path("/opt/conda"), Path("/opt/miniconda3")):
        if os.path.isdir(folder / "envs"):
            yield folder
    for name in _PROGRAMS:
        if base := _base(name):
            yield base
            return


def _base(program: str) -> Path | None:
    """What ``conda info --base`` says; None where there is no such program, or no answer."""
    if shutil.which(program) is None:
        return None
    try:
        answer = subprocess.run(
            [program, "info", "--base"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    lines = answer.stdout.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    # micromamba answers "base environment : /path"
    path = last.rpartition(" ")[2] if ":" in last else last
    return Path(path) if answer.returncode == 0 and path.startswith("/") else None


def _registered() -> Iterator[Path]:
    """Environments outside those folders, which conda keeps a list of."""
    try:
        text = (Path.home() / ".conda" / "environments.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    yield from (Path(line.strip()) for line in text.splitlines() if line.strip())
