"""CPython 3.14 and later: its own way in, ``sys.remote_exec`` (PEP 768).

It must be called by the same minor version, so the process's own interpreter is asked to: as a
second process, isolated (``-I -S``), for some 20 ms, with the process's user and in its
container. The process itself is not stopped. It runs the script between two bytecodes of its
main thread; the script removes itself when it has run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mgtop.record.attach.process import Process, look, start_of, user_name
from mgtop.record.inject import inside
from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.payload import guarded
from mgtop.record.inject.placing import script_for
from mgtop.record.tree import environment_of

_CALL = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"
_PATIENCE_S = 10.0
_LONGEST_PATH = 480
"""The process keeps 512 bytes for the path."""
_SPACES = ("user", "pid", "mnt")


def remote_exec(process: Process, text: str, runtime: Path) -> Path:
    """Have a process run a text; it may not have run yet when this returns.

    Args:
        process: on CPython 3.14 or later.
        text: source code.
        runtime: the runtime folder, for the script.

    Returns:
        The script, as it is seen from here; it is gone once it has run.

    Raises:
        CannotInject: it was refused; the process goes on as before.
    """

    def script(name: str) -> str:
        return text + "\n" + guarded(f"import os\nos.unlink({name!r})")

    try:
        with script_for(process, runtime, script) as (name, path):
            if len(os.fsencode(name)) > _LONGEST_PATH:
                raise CannotInject(f"The runtime folder's path is too long for Python: {runtime}.")
            answer = _ask(process, name)
            if answer.returncode:
                raise CannotInject(_explain(process, answer.stderr))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInject(f"The process's own Python cannot be run: {error}.") from None
    return path


def _ask(process: Process, script: str) -> subprocess.CompletedProcess[str]:
    pid = process.pid
    spaces = [name for name in _SPACES if not _shares(process, name)]
    contained = bool(spaces) or not os.path.samefile(process.root, "/")
    if contained:
        # It is called by the number that the list of processes in there has for it.
        if start_of(process.inner_pid, process.root / "proc") == start_of(process.pid):
            pid = process.inner_pid
        elif start_of(process.pid, process.root / "proc") == start_of(process.pid):
            spaces = [name for name in spaces if name != "pid"]
        else:
            raise CannotInject(
                f"Process {process.pid} lives in a container without a list of its processes "
                "(/proc), and Python 3.14 cannot be entered without one: mount one there."
            )
    words = ["-I", "-S", "-c", _CALL, str(pid), script]
    program = f"/proc/{pid}/exe"
    own = process.uid == os.geteuid()
    # Variables decide what is loaded, so another user's are none of ours.
    names = ("LD_LIBRARY_PATH", "PATH") if own else ()
    given = environment_of(process.pid)
    env = {name: given[name] for name in names if name in given}
    if contained:
        helper = [sys.executable, "-I", "-S", inside.__file__, str(process.pid), ",".join(spaces)]
        command = [*helper, str(process.inner_uid), str(_group(process)), program, *words]
        return _run(command, env)
    if own:
        return _run([program, *words], env)
    return _run([program, *words], env, user=process.uid, group=_group(process))


def _run(
    command: list[str], env: dict[str, str], user: int | None = None, group: int | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
        env=env,
        cwd="/",
        user=user,
        group=group,
        extra_groups=None if user is None else [],
    )


def _shares(process: Process, space: str) -> bool:
    """Whether it is in the same namespace of that kind as we are."""
    try:
        return os.path.samefile(f"/proc/{process.pid}/ns/{space}", f"/proc/self/ns/{space}")
    except OSError:
        return False


def _group(process: Process) -> int:
    """Its effective group; in a container with users of its own that user's first one."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return os.getegid()
    outer = next((int(line.split()[2]) for line in lines if line.startswith("Gid:")), os.getegid())
    return outer if process.uid == process.inner_uid else process.inner_uid


def _explain(process: Process, said: str) -> str:
    if look(process.pid) is None:
        return f"Process {process.pid} has ended."
    last = said.strip().splitlines()[-1] if said.strip() else "no reason given"
    remedy = ""
    if "PermissionError" in last or "Operation not permitted" in last:
        remedy = " Run mgtop as root, or with the capability SYS_PTRACE."
        if process.uid != os.geteuid():
            remedy = f" Run mgtop as user {user_name(process.uid)}, or inside its container."
    elif "not enabled" in last or "disabled" in last:
        remedy = (
            " It was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug; start "
            "it without, or under mgtop run."
        )
    return f"Process {process.pid} refused: {last}.{remedy}"
