"""How a running program could be started again under ``mgtop run``: the exact line for a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from mgtop.record.attach.process import Process, look
from mgtop.record.tree import environment_of
from mgtop.session.secrets import mask_command

_LAUNCHERS = re.compile(
    r"(?:^|/)(?:torchrun|accelerate|deepspeed|mpirun|mpiexec|srun)$"
    r"|^torch\.distributed\.(?:run|launch)$|^accelerate\.commands\.launch$"
)
_NOT_AGAIN = ("multiprocessing.spawn", "multiprocessing.forkserver", "multiprocessing.resource")
_TELLING = re.compile(
    r"(?:CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|CUDA_LAUNCH_BLOCKING|NVIDIA_VISIBLE_DEVICES"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|PYTHONHOME|PYTORCH_\w*CONF|TORCH_\w+|TORCHINDUCTOR_\w+"
    r"|NCCL_\w+|HF_HOME|HF_HUB_\w+|HF_DATASETS_CACHE|TRANSFORMERS_(?:CACHE|OFFLINE)"
    r"|(?:OMP|MKL|OPENBLAS|NUMEXPR)_NUM_THREADS|XDG_CACHE_HOME|PYTHON\w*BUFFER\w*)"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|KEY|CREDENTIAL", re.IGNORECASE)


def restart_line(process: Process, *, masked: bool = False) -> str | None:
    """The line that would start the program again, recorded from its start.

    A worker is started by its launcher, so it is the launcher's line. Variables are named
    where the program was started with other values than this shell has, and only those that
    decide what a program of this kind does; never a secret.

    Args:
        process: any process of the program.
        masked: with secrets in its options masked, as it may be kept in a session.

    Returns:
        None where the program's command line is not to be had.
    """
    started = _starter(process)
    if not started.command:
        return None
    environment = environment_of(started.pid)
    words = [_program(started, environment), *started.command[1:]]
    if masked:
        words = mask_command(words)
    parts = []
    folder = folder_of(started)
    if folder is not None and folder != os.getcwd():
        parts.append(f"cd {shlex.quote(folder)} && ")
    parts += [f"{name}={shlex.quote(value)} " for name, value in _telling(environment)]
    return f"{''.join(parts)}mgtop run -- {shlex.join(words)}"


def _starter(process: Process) -> Process:
    """The process whose command line a person typed: a worker's own one cannot be repeated."""
    for _ in range(8):
        parent = _parent(process.pid)
        above = look(parent) if parent is not None and parent > 1 else None
        if above is None or not (_is_launcher(above.command) or _is_inner(process.command)):
            return process
        process = above
    return process


def _is_launcher(command: tuple[str, ...]) -> bool:
    return any(_LAUNCHERS.search(word) for word in command[:4])


def _is_inner(command: tuple[str, ...]) -> bool:
    """Whether Python's own ``multiprocessing`` made up the command line."""
    words = " ".join(command)
    return "--multiprocessing-fork" in command or any(name in words for name in _NOT_AGAIN)


def _parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return int(stat[stat.rindex(b")") + 2 :].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def folder_of(process: Process) -> str | None:
    """Its working directory, as it knows it itself."""
    try:
        return os.readlink(f"/proc/{process.pid}/cwd").removesuffix(" (deleted)")
    except OSError:
        return None


def _program(process: Process, environment: Mapping[str, str]) -> str:
    """The program's first word, with its folder where this shell would find another one."""
    word = process.command[0]
    if "/" in word:
        return word
    meant = shutil.which(word, path=environment.get("PATH", os.defpath))
    if meant is None:
        try:
            meant = os.readlink(f"/proc/{process.pid}/exe").removesuffix(" (deleted)")
        except OSError:
            return word
    return word if shutil.which(word) == meant else meant


def _telling(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in sorted(environment.items())
        if _TELLING.fullmatch(name) and not _SECRET.search(name) and os.environ.get(name) != value
    ]
