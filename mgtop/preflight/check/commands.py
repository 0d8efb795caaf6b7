"""Installation commands: ``pip install``, ``conda create``, ``uv`` and what they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from mgtop.preflight.check.packages import DECISIVE, is_torch, normal
from mgtop.preflight.check.pins import index_of, requirement_of
from mgtop.preflight.check.stated import Bound, Stated, Strength
from mgtop.preflight.check.version_words import tag_version
from mgtop.preflight.check.versions import numbers, specifiers

_PIP = re.compile(
    r"(?:^|[\s;&|])(?:pip3?(?:\.\d+)?|uv\s+pip|uv\s+add|uv)\s+(?:install|add|sync)?\b", re.I
)
_INSTALL = re.compile(
    r"(?:\bpip3?(?:\.\d+)?\s+(?:--\S+\s+)*install|\buv\s+pip\s+install|\buv\s+add)\s+(?P<rest>[^;&|]+)",
    re.I,
)
_CONDA = re.compile(
    r"\b(?:conda|mamba|micromamba)\s+(?:env\s+)?(?:create|install)\s+(?P<rest>[^;&|]+)", re.I
)
_UV_PYTHON = re.compile(r"\buv\s+\w+\b[^;&|]*?--?p(?:ython)?[\s=]+(?P<version>3\.\d+)", re.I)
_PYENV = re.compile(r"\bpyenv\s+(?:install|local|virtualenv)\s+(?P<version>3\.\d+(?:\.\d+)?)", re.I)
_VENV = re.compile(r"\bpython(?P<version>3\.\d+)\s+-m\s+venv\b", re.I)
_BACKEND = re.compile(r"\bUV_TORCH_BACKEND=(?P<tag>cu\d{3})|--torch-backend[=\s]+(?P<tag2>cu\d{3})")
_CUDA_PACKAGES = {
    "pytorch-cuda",
    "cudatoolkit",
    "cuda",
    "cuda-toolkit",
    "cuda-version",
    "cuda-nvcc",
}
_TOOLKIT = {"cuda-toolkit", "cuda-nvcc", "cuda"}
_WITH_VALUE = {"-n", "--name", "-p", "--prefix", "-c", "--channel", "-r", "-f", "--find-links",
               "-i", "--index-url", "--extra-index-url", "-t", "--target", "--index"}  # fmt: skip


def is_installation(text: str) -> bool:
    """Whether a line is a command that installs something."""
    return any(
        pattern.search(text) for pattern in (_INSTALL, _CONDA, _UV_PYTHON, _PYENV, _VENV, _BACKEND)
    )


def requirements_in(
    text: str,
    *,
    file: str,
    line: int,
    strength: Strength = "recommended",
    scope: str = "",
    quote: str | None = None,
) -> Iterator[Stated]:
    """What an installation command names, with the strength of all that such commands name."""
    quote = " ".join(text.split()) if quote is None else quote
    place = {"quote": quote, "file": file, "line": line, "scope": scope}
    for match in _INSTALL.finditer(text):
        index = index_of(match["rest"], strength=strength, **place)  # type: ignore[arg-type]
        if index is not None:
            yield index
        for word in _arguments(match["rest"]):
            found = requirement_of(word, strength=strength, **place)  # type: ignore[arg-type]
            if found is not None and not found.unclear:
                yield found
    for match in _CONDA.finditer(text):
        for word in _arguments(match["rest"]):
            found = conda_entry(word, strength=strength, **place)  # type: ignore[arg-type]
            if found is not None:
                yield found
    for pattern in (_UV_PYTHON, _PYENV, _VENV):
        for match in pattern.finditer(text):
            yield Stated(
                kind="python",
                strength=strength,
                any_of=((Bound("bare", numbers(match["version"])),),),
                **place,  # type: ignore[arg-type]
            )
    for match in _BACKEND.finditer(text):
        version = tag_version(match["tag"] or match["tag2"])
        if version:
            yield Stated(
                kind="cuda",
                strength=strength,
                any_of=((Bound("bare", version),),),
                **place,  # type: ignore[arg-type]
            )


def conda_entry(
    entry: str,
    *,
    quote: str,
    file: str,
    line: int,
    strength: Strength | None = None,
    scope: str = "",
) -> Stated | None:
    """``python=3.10``, ``pytorch-cuda=12.1``, ``conda-forge::pytorch>=2.4`` and the like."""
    match = re.match(
        r"^(?:[\w.-]+::)?(?P<name>[A-Za-z][\w.-]*)\s*(?P<spec>[=<>!~][^\s]*(?:\s*,\s*[<>=!~][^\s,]*)*)?",
        entry.strip(),
    )
    if not match:
        return None
    name, spec = normal(match["name"]), match["spec"] or ""
    build = re.match(r"^(=[\d.]+(?:\.\*)?)=[A-Za-z0-9_*]*.*$", spec)  # name=version=build
    bounds = specifiers(build[1] if build else spec.replace(" ", ""))
    if name == "python":
        kind, package = "python", ""
    elif name in _CUDA_PACKAGES:
        kind, package = "cuda", ""
    elif is_torch(name):
        kind, package = "torch", ""
    elif bounds or name in DECISIVE:
        kind, package = "package", name
    else:
        return None
    if kind in ("python", "cuda") and not bounds:
        return None
    if strength is not None and kind != "package":  # a command's exact version is what it names
        bounds = tuple(
            Bound("bare", bound.version) if bound.sign in ("~", "==") else bound for bound in bounds
        )
    floor = bool(bounds) and all(bound.sign in (">=", ">") for bound in bounds)
    return Stated(
        kind=kind,  # type: ignore[arg-type]
        quote=quote,
        file=file,
        line=line,
        strength=strength or ("minimum" if floor else "required"),
        scope=scope,
        any_of=(bounds,) if bounds else (),
        package=package,
        toolkit=name in _TOOLKIT,
    )


def _arguments(text: str) -> Iterator[str]:
    """The words that name packages; options and their values are left out."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        words = text.split()
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif not word.startswith("-") and word not in (".", "&&", "\\") and "://" not in word[:8]:
            yield word
