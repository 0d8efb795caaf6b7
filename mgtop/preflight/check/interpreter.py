"""Asks the model's own interpreter for its version, its packages and whether CUDA works there.

Versions come from package metadata, so torch is not imported for them. Whether CUDA is
available is asked for real, in a second process with a time limit: that imports torch.
Nothing of the repository is imported; the working folder is not on the path.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec

from mgtop.config.command import resolve_python
from mgtop.config.load import DEFAULT_FILE, ConfigError, load_config

PATIENCE_S = 20.0
CUDA_PATIENCE_S = 90.0
"""Importing torch from a cold disk takes half a minute."""

_ABOUT = """
import json, os, re, sys
found = {}
try:
    from importlib.metadata import distributions
except ImportError:
    from pkg_resources import working_set
    found = {d.project_name: d.version for d in working_set}
else:
    for d in distributions():
        try:
            name, version = d.metadata["Name"], d.version
        except Exception:
            continue
        if name and version:
            found.setdefault(name, version)
torch_cuda = None
import importlib.util
try:
    spec = importlib.util.find_spec("torch")
    path = os.path.join(os.path.dirname(spec.origin), "version.py")
    text = open(path, encoding="utf-8").read()
    version = re.search(r"^__version__\\s*(?::[^=]*)?=\\s*['\\"]([^'\\"]+)", text, re.M)
    cuda = re.search(r"^cuda\\s*(?::[^=]*)?=\\s*['\\"]([^'\\"]+)", text, re.M)
    if version:
        found["torch"] = version.group(1)
    torch_cuda = cuda.group(1) if cuda else None
except Exception:
    pass
print(json.dumps({"python": sys.version.split()[0], "executable": sys.executable,
                  "packages": found, "torch_cuda": torch_cuda}))
"""
_CUDA = """
import json, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import torch
    good = bool(torch.cuda.is_available())
reason = ""
if not good:
    try:
        torch.cuda.init()
    except BaseException as error:
        reason = str(error)
    reason = reason or " ".join(str(one.message) for one in said)
print(json.dumps({"available": good, "reason": " ".join(reason.split())[:300],
                  "cuda": torch.version.cuda}))
"""


class About(msgspec.Struct, frozen=True):
    """What an interpreter tells of itself; ``reason``: why it tells nothing."""

    python: str | None = None
    executable: str | None = None
    packages: dict[str, str] | None = None
    torch_cuda: str | None = None
    reason: str = ""


class Cuda(msgspec.Struct, frozen=True):
    """What torch says; ``available`` None: no answer, for ``reason``."""

    available: bool | None = None
    reason: str = ""
    cuda: str | None = None


class AboutQuestion:
    """A question that is under way: both are put at once, and waited for later."""

    def __init__(self, python: str, script: str) -> None:
        self._failed = ""
        self._process: subprocess.Popen[bytes] | None = None
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONSTARTUP"}
        try:
            self._process = subprocess.Popen(
                [python, "-c", script],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            self._failed = f"{python} cannot be started: {error.strerror}"

    def answer(self, patience_s: float) -> tuple[bytes, str]:
        """Its last line, or why there is none."""
        if self._process is None:
            return b"", self._failed
        try:
            out, err = self._process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return b"", f"no answer within {patience_s:.0f} s"
        lines = out.strip().splitlines()
        if self._process.returncode != 0 or not lines:
            last = err.decode("utf-8", "replace").strip().splitlines()
            return b"", last[-1][:300] if last else f"exit code {self._process.returncode}"
        return lines[-1], ""


def ask_about(python: str) -> AboutQuestion:
    """Ask for version and packages."""
    return AboutQuestion(python, _ABOUT)


def ask_cuda(python: str) -> AboutQuestion:
    """Ask whether CUDA is available to torch."""
    return AboutQuestion(python, _CUDA)


def about_of(question: AboutQuestion, patience_s: float = PATIENCE_S) -> About:
    """The answer to :func:`ask_about`."""
    line, reason = question.answer(patience_s)
    if not line:
        return About(reason=reason)
    try:
        return msgspec.json.decode(line, type=About)
    except msgspec.DecodeError:
        return About(reason="the interpreter's answer is not understood")


def cuda_of(question: AboutQuestion, patience_s: float = CUDA_PATIENCE_S) -> Cuda:
    """The answer to :func:`ask_cuda`."""
    line, reason = question.answer(patience_s)
    if not line:
        return Cuda(reason=reason)
    try:
        return msgspec.json.decode(line, type=Cuda)
    except msgspec.DecodeError:
        return Cuda(reason="the interpreter's answer is not understood")


def usual_python(repository: Path) -> tuple[str, str]:
    """The interpreter to ask where none was named, and where that was found.

    That of the repository's ``mgtop.yaml`` comes first, then its own environments, then the
    one that is active here.
    """
    configured = _configured(repository)
    if configured is not None:
        return configured, "the repository's mgtop.yaml"
    for name in (".venv", "venv", "env"):
        place = repository / name / "bin" / "python"
        if os.path.isfile(place):
            return str(place), f"{name} of the repository"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = os.environ.get(variable)
        if folder and Path(folder, "bin", "python").is_file():
            return str(Path(folder, "bin", "python")), f"${variable}"
    return "python3", "python3 on the PATH"


def _configured(repository: Path) -> str | None:
    """What ``python:`` or ``conda:`` of a repository's configuration names; None: neither."""
    path = repository / DEFAULT_FILE
    if not os.path.isfile(path):
        return None
    try:
        return resolve_python(load_config(path), str(path))
    except ConfigError:
        return None  # mgtop run tells what is wrong with it
