"""What is known of a project: the schema of ``profiles/*.yaml``; docs/profiles.md describes it."""

from __future__ import annotations

from typing import Any

import msgspec

from mgtop.config.structs import Count, Frames, Positive, Smoke, Warmup


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: unknown keys are errors."""


class Blocks(Struct, frozen=True, kw_only=True):
    """The frame arithmetic: how many pictures come out at once."""

    first: Count | None = None
    """Pictures of the first emit; null: it depends on the parameters."""
    then: Count | None = None
    """Pictures of each later one; null: it depends on the parameters, or there is none."""
    about: str = ""
    """How latents become pictures, and what a program's own counts mean."""


class LogLine(Struct, frozen=True, kw_only=True):
    """A line that the program prints, and what it says."""

    pattern: str
    says: str


class Entry(Struct, frozen=True, kw_only=True):
    """One way to start the project: the keys of a run configuration, and what to know of it."""

    about: str
    command: list[str]
    params: dict[str, Any] = {}
    notes: dict[str, str] = {}
    """Of parameters, by name; of one that is not in ``params``: why it cannot be changed here."""
    env: dict[str, str] = {}
    edit: dict[str, dict[str, str]] = {}
    frames: Frames = Frames()
    warmup: Warmup = Warmup()
    target_fps: Positive | None = None
    smoke: Smoke | None = None
    live: bool = True
    """Whether frames come out while it generates; else all of them at its end."""
    blocks: Blocks = Blocks()
    tested: str | None = None
    """What was run, at which revision, and what was held against what; null: nothing was."""

    def run_keys(self) -> dict[str, Any]:
        """What a run configuration takes over, as plain data; only what is given here."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        empty: dict[str, Any] = msgspec.to_builtins(Entry(about="", command=[]))
        return {key: data[key] for key in RUN_KEYS if data[key] != empty[key]}


RUN_KEYS = ("command", "env", "params", "edit", "frames", "warmup", "target_fps", "smoke")
"""The keys of an entry that are those of a run configuration."""


class Profile(Struct, frozen=True, kw_only=True):
    """A project: how its repository is recognised, and how it is started, the usual way first."""

    title: str
    source: str
    """Where the project is to be had."""
    recognise: list[dict[str, str]]
    """One of these must fit: files and, each, a regular expression that one of its lines matches
    (empty: it is enough that the file is there). A file name may be a pattern such as ``*.py``."""
    entries: dict[str, Entry]
    sinks: list[str] = []
    """What it writes or sends its pictures with."""
    logs: list[LogLine] = []
    warm_up: str = ""
    """What is slow at first, and until when."""
    traps: list[str] = []
    """What misleads whoever measures it."""
