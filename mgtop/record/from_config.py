"""From a run configuration to a launch plan."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Literal

import msgspec

from mgtop.config import RunConfig
from mgtop.config.command import resolve_command, resolve_python
from mgtop.config.dump import to_yaml
from mgtop.config.load import ConfigError
from mgtop.record.edited import edit_files
from mgtop.record.hooked import resolved_frames
from mgtop.record.plan import Plan
from mgtop.record.textlog_pattern import BadPattern, compile_pattern
from mgtop.session.secrets import mask

_GIT_PATIENCE_S = 2.0


def plan_from(
    config: RunConfig,
    path: Path,
    *,
    name: str | None = None,
    seconds: float | None = None,
    stdin: Literal["null", "inherit"] = "null",
) -> Plan:
    """What to launch for a configuration.

    Args:
        config: the configuration.
        path: its file; relative paths in it start from the folder of that file.
        name: of the session; None: the configuration's, else one made from the file or command.
        seconds: stop recording and target after that time.
        stdin: what the target gets as standard input.

    Raises:
        ConfigError: there is nothing to start, or not what it is to be started with.
    """
    try:
        compile_pattern(config.frames.log)
    except BadPattern as error:
        raise ConfigError(str(error), str(path), key="frames.log.pattern") from None
    cwd = (path.parent / Path(config.cwd).expanduser()).resolve()
    command = resolve_command(config, str(path))
    return Plan(
        name=name or config.name or _name_of(path),
        command=command,
        cwd=str(cwd),
        env=config.env,
        params=config.params,
        settings=config.analysis_settings(),
        frames=resolved_frames(config, str(path)),
        retention=config.retention,
        git=git_state(cwd),
        edited=edit_files(config, str(path), command, cwd),
        seconds=seconds,
        stdin=stdin,
    )


def config_for_command(command: list[str]) -> dict[str, Any]:
    """The plain data of a configuration that runs this command as it stands, here."""
    literal = [word.replace("{", "{{").replace("}", "}}") for word in command]
    return {"command": literal, "name": name_of_command(command), "cwd": os.getcwd()}


def name_of_command(command: list[str]) -> str:
    """A name for what a command runs: of the script or module rather than of Python."""
    words = list(command)
    if Path(words[0]).name.startswith(("python", "torchrun", "accelerate")):
        for at, word in enumerate(words[1:], 1):
            if word == "-m" and at + 1 < len(words):
                return words[at + 1].rpartition(".")[2]
            if word.endswith(".py"):
                return Path(word).stem
    return Path(words[0]).stem or "run"


def _name_of(path: Path) -> str:
    """The file's own name; that of its folder for ``mgtop.yaml``."""
    return path.resolve().parent.name if path.stem == "mgtop" else path.stem


def config_yaml(config: RunConfig, path: Path, plan: Plan) -> str:
    """The configuration as it was run, as YAML that can be run again; secrets are masked."""
    return kept_yaml(
        msgspec.structs.replace(
            config,
            name=plan.name,
            cwd=plan.cwd,
            python=resolve_python(config, str(path)),
            conda=None,
        ),
        path,
    )


def kept_yaml(config: RunConfig, path: Path) -> str:
    """A configuration as it is kept in a session, wherever that lies; secrets are masked."""
    if config.baseline is not None:
        baseline = (path.parent / Path(config.baseline).expanduser()).resolve()
        config = msgspec.structs.replace(config, baseline=str(baseline))
    data: dict[str, Any] = msgspec.to_builtins(config)
    names_only = {"edit": data["edit"]}  # names of parameters, which are masked where they stand
    return to_yaml(mask(data) | names_only)


def git_state(folder: Path) -> str | None:
    """Commit of the working tree that ``folder`` is in, with ``-dirty`` where it was changed.

    None where there is none, or git does not answer in two seconds.
    """
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=_GIT_PATIENCE_S,
            check=False,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None
