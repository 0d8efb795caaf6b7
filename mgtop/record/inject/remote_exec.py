"""CPython 3.14 and later: its own way in, ``sys.remote_exec`` (PEP 768).

It must be called by the same minor version, so the process's own interpreter is asked to: as a
second process, isolated (``-I -S``), for some 20 ms. The process itself is not stopped. It runs
the script between two bytecodes of its main thread, and prints what goes wrong to its stderr.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from mgtop.record.attach.process import Process
from mgtop.record.inject.errors import CannotInject

_CALL = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"
_PATIENCE_S = 10.0
_LONGEST_PATH = 480
"""The process keeps 512 bytes for the path."""


def remote_exec(process: Process, text: str, folder: Path) -> Path:
    """Have a process run a text; it may not have run yet when this returns.

    Args:
        process: on CPython 3.14 or later.
        text: source code.
        folder: for the script, which the process must be able to read.

    Returns:
        The script; remove it once it has run.

    Raises:
        CannotInject: it was refused; the process goes on as before.
    """
    if not os.path.samefile(process.root, "/"):
        raise CannotInject(
            f"Process {process.pid} has other files than mgtop (a container), and Python 3.14 "
            "can only be entered from inside: run mgtop there."
        )
    handle, name = tempfile.mkstemp(prefix="inject-", suffix=".py", dir=folder)
    script = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        if len(os.fsencode(name)) > _LONGEST_PATH:
            raise CannotInject(f"The runtime folder's path is too long for Python: {folder}.")
        if process.uid != os.geteuid():
            os.chown(script, process.uid, -1)
        answer = subprocess.run(
            [f"/proc/{process.pid}/exe", "-I", "-S", "-c", _CALL, str(process.pid), name],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, CannotInject) as error:
        script.unlink()
        if isinstance(error, CannotInject):
            raise
        raise CannotInject(f"The process's own Python cannot be run: {error}.") from None
    if answer.returncode:
        script.unlink()
        raise CannotInject(_explain(process, answer.stderr))
    return script


def _explain(process: Process, said: str) -> str:
    last = said.strip().splitlines()[-1] if said.strip() else "no reason given"
    remedy = ""
    if "PermissionError" in last or "Operation not permitted" in last:
        remedy = " Run mgtop as root, or with the capability SYS_PTRACE."
    elif "not enabled" in last or "disabled" in last:
        remedy = (
            " It was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug; start "
            "it without, or under mgtop run."
        )
    return f"Process {process.pid} refused: {last}.{remedy}"
