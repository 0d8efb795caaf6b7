"""Run a process's own interpreter where that process is: run as a script, standard library only.

    python inside.py PID SPACES UID GID PROGRAM WORD...

It enters those namespaces of process PID that SPACES names (``user,pid,mnt``), makes its root
folder the root, becomes user UID and group GID (as numbered in there), and runs PROGRAM.
"""

from __future__ import annotations

import ctypes
import os
import sys


def main(pid: str, spaces: str, uid: str, gid: str, program: str, *words: str) -> int:
    """Return the exit code of what was run."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = os.O_RDONLY | os.O_CLOEXEC
    root = os.open(f"/proc/{pid}/root", flags | os.O_DIRECTORY)
    entries = [os.open(f"/proc/{pid}/ns/{name}", flags) for name in spaces.split(",") if name]
    for entry in entries:
        if libc.setns(entry, 0):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    os.fchdir(root)
    os.chroot(".")
    child = os.fork()  # only a child is in another pid namespace
    if child == 0:
        try:
            if int(uid) != os.geteuid() or int(gid) != os.getegid():
                os.setgroups([])
                os.setgid(int(gid))
                os.setuid(int(uid))
            os.execv(program, [program, *words])  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(126)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
