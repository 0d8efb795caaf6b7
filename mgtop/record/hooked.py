"""How a launched program gets mgtop's hooks: what is asked of them, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import mgtop.hooks
from mgtop.config import RunConfig
from mgtop.config.command import fill
from mgtop.config.errors import ConfigError
from mgtop.config.structs import Frames, Hook
from mgtop.hooks.target import configured
from mgtop.hooks.target.start import VARIABLE

PATH_VARIABLE = "PYTHONPATH"


def boot_folder() -> Path:
    """The folder that a program finds on its PYTHONPATH: it holds a ``sitecustomize``."""
    return Path(mgtop.hooks.__file__ or "").resolve().parent / "boot"


def resolved_frames(config: RunConfig, path: str, *, running: bool = False) -> Frames:
    """Where frames come from, with the parameters filled into the hooks.

    Args:
        config: the configuration.
        path: its file, for messages.
        running: the program runs already.

    Raises:
        ConfigError: a hook that cannot be used, with its key.
    """
    hooks = []
    for number, hook in enumerate(config.frames.hooks):
        key = f"frames.hooks[{number}]"
        found = configured.problem(_texts(hook), running)
        if found is not None:
            raise ConfigError(found[1], path, key=f"{key}.{found[0]}")
        every = _every(hook, config, path, f"{key}.every")
        hooks.append(
            Hook(
                target=hook.target,
                event=hook.event,
                span=hook.span,
                count=hook.count,
                request=hook.request,
                when=hook.when,
                every=every,
            )
        )
    frames = config.frames
    if frames.from_ == "hooks" and not any(hook.event == "frame_emit" for hook in hooks):
        raise ConfigError(
            "is hooks, but no hook under frames.hooks says event: frame_emit",
            path,
            key="frames.from",
        )
    return Frames(from_=frames.from_, hooks=hooks, log=frames.log)


def boot_environment(frames: Frames, environment: Mapping[str, str]) -> dict[str, str]:
    """What a program's environment needs, so that it and its children start with the hooks.

    Args:
        frames: as :func:`resolved_frames` gives them.
        environment: the program's own.
    """
    before = environment.get(PATH_VARIABLE, "")
    here = str(boot_folder())
    kept = [part for part in before.split(os.pathsep) if part != here] if before else []
    return {
        PATH_VARIABLE: os.pathsep.join([here, *kept]),
        VARIABLE: hook_settings(frames),
    }


def hook_settings(frames: Frames) -> str:
    """What the hooks in a program are told, as one text; also for one that runs already."""
    return configured.written(frames.from_, [_texts(hook) for hook in frames.hooks])


def _texts(hook: Hook) -> dict[str, str]:
    fields = {name: getattr(hook, name) for name in configured.FIELDS}
    return {name: str(value) for name, value in fields.items() if value is not None}


def _every(hook: Hook, config: RunConfig, path: str, key: str) -> int | None:
    """``every`` as a number: one of its own, or a parameter's."""
    if hook.every is None:
        return None
    text = str(hook.every)
    if isinstance(hook.every, str):
        text = fill(text, config.params, path, key=key)
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError(f"{text!r} is not a whole number of 1 or more", path, key=key)
    return int(text)
