"""Dockerfiles: what the base image holds, and what is installed on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mgtop.preflight.check import commands
from mgtop.preflight.check.stated import Bound, Kind, Stated
from mgtop.preflight.check.versions import numbers

_FROM = re.compile(r"^\s*FROM\s+(?:--platform=\S+\s+)?(?P<image>\S+)", re.IGNORECASE)
_CUDA_IMAGE = re.compile(r"(?:^|/)cuda:(?P<cuda>\d+\.\d+(?:\.\d+)?)")
_TORCH_IMAGE = re.compile(r"(?:^|/)pytorch:(?P<torch>[012]\.\d+(?:\.\d+)?)")
_CUDA_TAG = re.compile(r"cuda-?(?P<cuda>\d+\.\d+)")
_PYTHON_IMAGE = re.compile(r"(?:^|/)python:(?P<python>3\.\d+(?:\.\d+)?)")
_ARG = re.compile(r"^\s*(?:ARG|ENV)\s+(?P<name>\w+)[=\s]+(?P<value>\S+)", re.IGNORECASE)


def requirements_in(text: str, file: str) -> Iterator[Stated]:
    """What a Dockerfile builds on (``tested``) and installs (``recommended``)."""
    arguments: dict[str, str] = {}
    for number, line in _instructions(text):
        if match := _ARG.match(line):
            arguments[match["name"]] = match["value"].strip("\"'")
        quote = " ".join(line.split())
        filled = re.sub(r"\$\{?(\w+)\}?", lambda found: arguments.get(found[1], found[0]), line)
        if match := _FROM.match(filled):
            yield from _of_image(match["image"], quote, file, number)
        elif filled.lstrip().upper().startswith("RUN") and commands.is_installation(filled):
            yield from commands.requirements_in(filled, file=file, line=number, quote=quote)


def _of_image(image: str, quote: str, file: str, line: int) -> Iterator[Stated]:
    found: list[tuple[Kind, str]] = []
    if match := _CUDA_IMAGE.search(image):
        found.append(("cuda", match["cuda"]))
    elif match := _TORCH_IMAGE.search(image):
        found.append(("torch", match["torch"]))
        if cuda := _CUDA_TAG.search(image):
            found.append(("cuda", cuda["cuda"]))
    elif match := _PYTHON_IMAGE.search(image):
        found.append(("python", match["python"]))
    for kind, version in found:
        yield Stated(
            kind=kind,
            quote=quote,
            file=file,
            line=line,
            strength="tested",
            scope="container",
            any_of=(
                (Bound("bare", numbers(version)[:2] if kind == "cuda" else numbers(version)),),
            ),
        )


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """Instructions with their first line; continued lines are joined."""
    held, begun = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        if not held:
            begun = number
        held += line.rstrip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            yield begun, held
            held = ""
    if held:
        yield begun, held
