"""Weight files that a program's processes hold open or have mapped, seen from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

WEIGHTS = (
    ".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".gguf", ".onnx", ".engine", ".npz", ".msgpack",
)  # fmt: skip
"""Endings of files that hold weights."""

_PATH_FILE = re.compile(r"/(?:site|dist)-packages/[^/]+\.pth$")
"""Python's own files that add folders to its path end so, too; it reads them at its start."""


class OpenFiles:
    """Collects weight files over time; :meth:`look` is cheap enough for twenty times a second.

    Args:
        proc: where ``/proc`` is.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self.found: dict[str, str] = {}
        """Path → how it was seen: ``open in pid 12`` or ``mapped by pid 12``."""

    def look(self, pids: Iterable[int]) -> None:
        """Look at what these processes have open now."""
        for pid in pids:
            for path in self._open(pid):
                self.found.setdefault(path, f"open in pid {pid}")
            for path in self._mapped(pid):
                self.found.setdefault(path, f"mapped by pid {pid}")

    def _open(self, pid: int) -> list[str]:
        folder = self._proc / str(pid) / "fd"
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        found = []
        for name in names:
            try:
                path = os.readlink(folder / name)
            except OSError:
                continue
            if is_weights(path) and self._for_reading(pid, name):
                found.append(path)
        return found

    def _for_reading(self, pid: int, name: str) -> bool:
        """Whether a descriptor is not for writing (a program may save weights, too)."""
        try:
            text = (self._proc / str(pid) / "fdinfo" / name).read_text()
        except OSError:
            return False
        for line in text.splitlines():
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY
        return False

    def _mapped(self, pid: int) -> list[str]:
        try:
            with open(self._proc / str(pid) / "maps", errors="replace") as file:
                lines = file.readlines()
        except OSError:
            return []
        paths = {line.split(maxsplit=5)[-1].strip() for line in lines if "/" in line}
        return [path for path in paths if is_weights(path)]


def is_weights(path: str) -> bool:
    """Whether a file's name is that of weights, and it holds something."""
    if not path.lower().endswith(WEIGHTS) or _PATH_FILE.search(path):
        return False
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False
