"""An SSH server of our own on loopback: its keys, its configuration and its port, in one folder."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

STARTING_S = 20.0
PRIVILEGE_FOLDER = Path("/run/sshd")
"""Debian's sshd refuses to run as root without this empty folder, which its service makes."""
CONFIG = """
ListenAddress {host}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
"""


def find_sshd() -> str | None:
    """The server's path (it wants to be started by a whole one); None: there is none."""
    return shutil.which("sshd") or shutil.which("/usr/sbin/sshd")


class OwnSshd:
    """Runs as the current user and lets in whoever has its key: the current user.

    Args:
        folder: for its files; must be empty.
        env: environment of whoever logs in, beside what the server gives.
        host: the address to listen on.
        prefix: put before its command, to run it somewhere else.
    """

    def __init__(
        self,
        folder: Path,
        env: dict[str, str] | None = None,
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> None:
        sshd = find_sshd()
        assert sshd is not None, "no sshd is installed"
        self._folder = folder
        self._host = host
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("host_key", "user_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True)
        if os.getuid() == 0:
            with contextlib.suppress(FileExistsError):
                PRIVILEGE_FOLDER.mkdir(mode=0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        text = CONFIG.format(host=host, port=self.port, folder=folder)
        if env:  # one line: of several only the first counts
            text += " ".join(["SetEnv", *(f'"{k}={v}"' for k, v in env.items())]) + "\n"
        (folder / "sshd_config").write_text(text)
        with (folder / "sshd.log").open("w") as log:
            self._process = subprocess.Popen(
                [*prefix, sshd, "-D", "-e", "-f", str(folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + STARTING_S
        while True:
            assert self._process.poll() is None, (self._folder / "sshd.log").read_text()
            assert time.monotonic() < deadline, "sshd does not listen"
            try:
                socket.create_connection((self._host, self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return

    def ssh(self, *remote: str, port: int | None = None, terminal: bool = True) -> list[str]:
        """The command line of a client that runs something here.

        Args:
            remote: what the user's shell is given.
            port: of a relay to this server.
            terminal: ask for one over there.
        """
        user = pwd.getpwuid(os.getuid()).pw_name
        options = {
            "IdentityFile": self._folder / "user_key",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self._folder / "known_hosts",
            "StrictHostKeyChecking": "accept-new",
            "HostKeyAlias": "own-sshd",
            "LogLevel": "ERROR",
        }
        command = ["ssh", "-F", "none", "-tt" if terminal else "-T", "-p", str(port or self.port)]
        for name, value in options.items():
            command += ["-o", f"{name}={value}"]
        return [*command, f"{user}@{self._host if port is None else '127.0.0.1'}", *remote]

    def close(self) -> None:
        """End the server, and every session of it."""
        self._process.terminate()
        self._process.wait(STARTING_S)
