"""Whether the hooks got into the program; and where not, why, and the way out.

Nothing in a program speaks before its first event. So where no event comes, its processes are
looked at from outside: how their Python was started, and with which environment.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from mgtop.config.structs import Frames
from mgtop.record.events import Intake
from mgtop.record.hooked import PATH_VARIABLE, boot_folder
from mgtop.record.sampler import Sampler
from mgtop.record.schedule import MetricGone
from mgtop.record.tree import environment_of
from mgtop.wire.records import ROUTES, Notice, Record, SourceState

FIRST_LOOK_NS = 100_000_000
PATIENCE_NS = 10_000_000_000
"""So long without an event, it is said what keeps the hooks out."""
LASTED_NS = 2_000_000_000
"""Of a program that ran no longer, nothing is said but what kept the hooks out."""

_HOOKS = ROUTES.index("hooks")
_PYTHON = re.compile(r"^python(\d(?:\.\d+)?)?t?$|^pypy")
_TOO_OLD = re.compile(r"^python(2(?:\.\d+)?|3\.[0-7])$")
_MOST = 4
_NO_HOOK = (
    "No hook under frames.hooks has told of a frame ({}): its module was not imported under that "
    "name, the function was not called, its count or condition left out all calls, or it runs "
    "inside compiled code (then name what is around it)."
)
_NO_PYTHON = (
    "No Python was seen among the program's processes: hooks are for Python. What runs in a "
    "container (docker run) is not among them: see mgtop attach."
)


_GOES_ON = (
    "The program that was launched has ended, but what it started goes on, unrecorded: {}. Launch "
    "it in the foreground, or record it with mgtop attach PID."
)
_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "compile_worker")
"""Processes that end by themselves once the program has."""


class HookWatch(Sampler):
    """Looks at the program's processes until one of them speaks. Has no thread.

    Args:
        pids: the target's tree.
        intake: where its events arrive.
        frames: where frames are to come from.
        clock: ``CLOCK_MONOTONIC`` in ns.
    """

    def __init__(
        self,
        pids: Callable[[], list[int]],
        intake: Intake,
        frames: Frames,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__("boot", clock)
        self._pids, self._intake, self._frames = pids, intake, frames
        self._began_ns = clock()
        self._wait_ns = FIRST_LOOK_NS
        self._next_ns = self._began_ns + FIRST_LOOK_NS
        self._reasons: dict[int, str] = {}
        self._hooked: set[int] = set()
        self._said_reasons = self._ended = False
        self._launched = next(iter(pids()), None)

    def start(self) -> None:
        """Nothing to start."""

    def open(self) -> None:
        """Nothing to plan."""
        raise MetricGone("it has no thread")

    def states(self, now_ns: int) -> list[SourceState]:
        """It is no source of readings."""
        return []

    def drain(self) -> list[Record]:
        """What is to be said now."""
        if self._ended:
            return []
        now_ns = self._clock()
        texts: list[str] = []
        if self._stop.is_set():
            self._ended = True
            texts = self._going_on() or self._last_words(now_ns - self._began_ns)
        elif self._intake.emitting is None and now_ns >= self._next_ns:
            self._look()
            self._wait_ns = min(2 * self._wait_ns, PATIENCE_NS)
            self._next_ns = now_ns + self._wait_ns
            if now_ns - self._began_ns >= PATIENCE_NS:
                texts = self._kept_out()
        return [
            Notice(t_ns=now_ns, seq=0, proc=0, tid=0, source="boot", text=text) for text in texts
        ]

    def _look(self) -> None:
        for pid in self._pids():
            if pid in self._hooked:
                continue
            try:
                name = Path(os.readlink(f"/proc/{pid}/exe")).name
                words = _words(pid)
                started_with = _environment(pid)
            except OSError:
                continue
            if not _PYTHON.match(name):
                self._reasons.pop(pid, None)  # a shell that is to become one is not one yet
                continue
            reason = why_not(name, words, started_with, str(boot_folder()))
            if reason:
                self._reasons[pid] = f"process {pid} ({_shown(words)}): {reason}"
            else:
                self._reasons.pop(pid, None)
                self._hooked.add(pid)

    def _kept_out(self) -> list[str]:
        """What keeps the hooks out, once."""
        if self._said_reasons or not self._reasons or self._intake.emitting is not None:
            return []
        self._said_reasons = True
        reasons = list(self._reasons.values())[:_MOST]
        return [f"mgtop's hooks are not in {reason}" for reason in reasons]

    def _last_words(self, lasted_ns: int) -> list[str]:
        frames = self._frames
        texts = self._kept_out()
        if texts or frames.from_ in ("probe", "log") or frames.log is not None:
            return texts
        named = [hook.target for hook in frames.hooks if hook.event == "frame_emit"]
        if named and frames.from_ != "sinks" and _HOOKS not in self._intake.routes:
            unsaid = [target for target in named if not self._is_explained(target)]
            return [_NO_HOOK.format(", ".join(unsaid[:_MOST]))] if unsaid else []
        if lasted_ns < LASTED_NS or self._intake.emitting is not None:
            return texts
        if self._hooked:
            texts = ["mgtop's hooks are in the program, which used none of the outputs they know."]
        elif not self._reasons:
            texts = [_NO_PYTHON]
        return texts

    def _going_on(self) -> list[str]:
        """What of the program outlives the process that was launched."""
        pids = self._pids()
        if self._launched is None or self._launched in pids:
            return []
        shown = []
        for pid in pids:
            with contextlib.suppress(OSError):
                words = _words(pid)
                if any(words) and not any(name in word for name in _HELPERS for word in words):
                    shown.append(f"{pid} ({_shown(words)})")
        return [_GOES_ON.format(", ".join(shown[:_MOST]))] if shown else []

    def _is_explained(self, target: str) -> bool:
        """Whether the program's side has said already what is wrong with a hook."""
        module, _, path = target.partition(":")
        says = (f" {target}: ", f"The hook of {path} failed", f"The hook of {module}.{path} failed")
        return any(sign in text for text in self._intake.notices for sign in says)


def why_not(name: str, words: list[str], environment: dict[str, str], folder: str) -> str:
    """Why an interpreter does not load the hooks, and what to do; empty: it does, or may.

    Args:
        name: of its program file.
        words: its command line.
        environment: that it was started with.
        folder: the boot folder.
    """
    if _TOO_OLD.match(name):
        return "they need Python 3.8 or later."
    flag = ignoring_flag(words)
    if flag:
        what = "leaves out site, which loads them" if flag == "S" else "ignores PYTHONPATH"
        return f"it was started with -{flag}, which {what}. Run it without."
    if folder in environment.get(PATH_VARIABLE, "").split(os.pathsep):
        return ""
    if "MGTOP_FIFO" in environment:
        return (
            "PYTHONPATH was replaced on the way. Add to it instead: PYTHONPATH=FOLDER:$PYTHONPATH."
        )
    return (
        "its environment was not handed on, as by env -i or sudo. Hand on PYTHONPATH and what "
        "begins with MGTOP_ (sudo -E)."
    )


def ignoring_flag(words: list[str]) -> str:
    """The letter of Python's options that keeps a sitecustomize on PYTHONPATH out, or nothing."""
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            return ""
        if word.startswith("--"):
            continue
        for at, letter in enumerate(word[1:], 1):
            if letter in "IES":
                return letter
            if letter in "cm":
                return ""
            if letter in "XW":
                if at == len(word) - 1:
                    next(rest, None)
                break
    return ""


def _words(pid: int) -> list[str]:
    return [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def _environment(pid: int) -> dict[str, str]:
    """As :func:`environment_of`, but what cannot be read is no empty one."""
    with open(f"/proc/{pid}/environ", "rb"):
        return environment_of(pid)


def _shown(words: list[str]) -> str:
    """The beginning of a command line; its arguments may hold secrets, so not all of it."""
    shown = " ".join(words[:3]).strip()
    return shown if len(shown) <= 60 else shown[:59] + "…"
