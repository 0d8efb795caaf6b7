"""Whether a process is a CPython, which one, and where the functions are that are needed."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from mgtop.record.inject.elf import Image, NotElf, images
from mgtop.record.inject.memory import Memory, mappings

_NEEDED = ("Py_AddPendingCall", "PyRun_SimpleString")
_VERSION = re.compile(r"python3\.(\d+)(t?)(?:d?m?)(?:\.so[.\d]*)?$")


@dataclass(frozen=True)
class Interpreter:
    """The CPython inside a process.

    Attributes:
        version: (3, minor).
        free_threaded: built without the GIL.
        machine: number of its processor architecture, as ELF has it.
        add_pending_call, run_string: addresses of ``Py_AddPendingCall`` and
            ``PyRun_SimpleString``.
        path: of the image that they are in.
    """

    version: tuple[int, int]
    free_threaded: bool
    machine: int
    add_pending_call: int
    run_string: int
    path: str


class NoInterpreter(Exception):
    """It is no CPython, or one whose functions are hidden; ``str()`` says which."""


def find_interpreter(pid: int) -> Interpreter:
    """The CPython of a process.

    Raises:
        NoInterpreter: there is none that can be used.
        OSError: the process has ended, or may not be looked into.
    """
    memory = Memory(pid)
    try:
        return _find(pid, memory)
    finally:
        memory.close()


def _find(pid: int, memory: Memory) -> Interpreter:
    candidates = images(mappings(pid))
    ordered = sorted(candidates, key=_likelihood)
    looks_like_python = False
    for path in ordered:
        if _likelihood(path) > 2:
            break
        try:
            image = Image(memory, candidates[path])
            found = image.find([*_NEEDED, "Py_Version"])
        except (NotElf, OSError, struct.error):
            continue
        looks_like_python = looks_like_python or _likelihood(path) < 2
        if all(name in found for name in _NEEDED):
            version, free_threaded = _version(path, ordered, memory, found.get("Py_Version"))
            return Interpreter(
                version,
                free_threaded,
                image.machine,
                found["Py_AddPendingCall"],
                found["PyRun_SimpleString"],
                path,
            )
    if looks_like_python:
        raise NoInterpreter("its Python does not export the functions that are needed")
    raise NoInterpreter("it does not run Python")


def _likelihood(path: str) -> int:
    name = Path(path.removesuffix(" (deleted)")).name
    if name.startswith("libpython"):
        return 0
    if name.startswith("python"):
        return 1
    return 2 if not name.endswith(".so") and ".so." not in name else 3


def _version(
    path: str, others: list[str], memory: Memory, symbol: int | None
) -> tuple[tuple[int, int], bool]:
    """From the variable that 3.11 and later export; else from the file names."""
    named = None
    for text in [path, *others]:
        match = _VERSION.search(Path(text.removesuffix(" (deleted)")).name)
        if match is not None:
            named = (3, int(match[1])), match[2] == "t"
            break
    if symbol is not None:
        value = int.from_bytes(memory.read(symbol, 4), "little")
        version = (value >> 24, value >> 16 & 0xFF)
        return version, named[1] if named is not None and named[0] == version else False
    if named is None:
        raise NoInterpreter("the version of its Python cannot be told")
    return named
