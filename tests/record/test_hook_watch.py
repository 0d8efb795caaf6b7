"""Programs that the hooks did not get into: which, why, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emitting import wire

from mgtop.config.structs import Frames, Hook
from mgtop.record.events import Intake
from mgtop.record.hook_watch import HookWatch, ignoring_flag, why_not
from mgtop.record.hooked import boot_environment, boot_folder, hook_settings
from mgtop.record.loss import LossAccount
from mgtop.wire.records import FrameEmit, Hello, Notice

SECOND = 1_000_000_000
AUTO = Frames()
HOOK = Hook(target="a:b", event="frame_emit")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("python x.py", ""),
        ("python -I x.py", "I"),
        ("python -Es x.py", "E"),
        ("python -u -S -m x", "S"),
        ("python -m x -I", ""),
        ("python x.py -E", ""),
        ("python -cimport", ""),
        ("python -W ignore -I x.py", "I"),
        ("python -Wignore::S x.py", ""),
        ("python -X importtime -E x.py", "E"),
        ("python -Xfrozen_modules=off x.py", ""),
        ("python -", ""),
        ("python --version", ""),
        ("python", ""),
        ("python -bIx", "I"),
    ],
)
def test_options_that_keep_a_sitecustomize_out(words: str, flag: str) -> None:
    assert ignoring_flag(words.split()) == flag


def test_why_an_interpreter_has_no_hooks() -> None:
    here = str(boot_folder())
    fine = {"PYTHONPATH": f"/x:{here}", "MGTOP_FIFO": "/f"}
    assert why_not("python3.11", ["python3", "a.py"], fine, here) == ""
    assert "3.8 or later" in why_not("python3.7", ["python3", "a.py"], fine, here)
    assert "3.8 or later" in why_not("python2.7", ["python", "a.py"], fine, here)
    assert why_not("python3.10", ["python3", "a.py"], fine, here) == ""
    replaced = why_not("python3", ["python3"], {**fine, "PYTHONPATH": "/x"}, here)
    assert replaced.startswith("PYTHONPATH was replaced on the way. Add to it instead")
    assert "env -i or sudo" in why_not("python3", ["python3"], {}, here)
    assert "leaves out site" in why_not("python3", ["python3", "-S"], fine, here)


class Clock:
    now = time.monotonic_ns()

    def __call__(self) -> int:
        return self.now


class Watching:
    """A watch over one real process, and its clock."""

    def __init__(self, words: list[str], frames: Frames = AUTO, **env: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MGTOP"))}
        environment = kept | env
        if "bare" not in env:
            environment |= boot_environment(frames, environment)
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.clock = Clock()
        self.intake = Intake(0, LossAccount(from_start=True))
        self.watch = HookWatch(lambda: [self.process.pid], self.intake, frames, self.clock)

    def after(self, seconds: float) -> list[str]:
        self.clock.now += round(seconds * SECOND)
        return [record.text for record in self.watch.drain() if isinstance(record, Notice)]

    def at_the_end(self) -> list[str]:
        self.watch.stop()
        return self.after(0.01)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


WAITS = "import time; print(1, flush=True); time.sleep(60)"


@pytest.fixture
def watch() -> Iterator[object]:
    made: list[Watching] = []

    def start(*words: str, frames: Frames = AUTO, **env: str) -> Watching:
        made.append(Watching([sys.executable, *words, "-c", WAITS], frames, **env))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_what_keeps_them_out_is_said_once_after_ten_seconds(watch) -> None:  # type: ignore[no-untyped-def]
    seen = watch("-I")
    said = [text for _ in range(30) for text in seen.after(1)]
    assert len(said) == 1
    assert f"mgtop's hooks are not in process {seen.process.pid} " in said[0]
    assert "-I, which ignores PYTHONPATH. Run it without." in said[0]
    assert seen.at_the_end() == []


def test_of_a_short_run_it_is_said_at_the_end(watch) -> None:  # type: ignore[no-untyped-def]
    seen = watch(bare="1")
    assert seen.after(0.2) == []
    (text,) = seen.at_the_end()
    assert "its environment was not handed on" in text


def test_a_program_that_speaks_is_left_alone(watch) -> None:  # type: ignore[no-untyped-def]
    seen = watch("-E")
    seen.intake.emitting = Hello(1, 1, 1, 1, "0", "3")
    seen.intake.tells_frames = True
    assert [text for _ in range(30) for text in seen.after(1)] == []
    assert seen.at_the_end() == []


def test_hooks_that_are_in_but_told_nothing(watch) -> None:  # type: ignore[no-untyped-def]
    seen = watch()
    assert [text for _ in range(15) for text in seen.after(1)] == []
    (text,) = seen.at_the_end()
    assert text == "mgtop's hooks are in the program, which used none of the outputs they know."
    assert watch(frames=Frames(from_="probe")).at_the_end() == []


def test_configured_hooks_that_never_told(watch) -> None:  # type: ignore[no-untyped-def]
    seen = watch(frames=Frames(hooks=[HOOK]))
    seen.intake.routes.add(2)
    (text,) = seen.at_the_end()
    assert text.startswith("No hook under frames.hooks has told of a frame (a:b): ")
    fine = watch(frames=Frames(hooks=[HOOK]))
    fine.intake.routes.add(1)
    assert fine.at_the_end() == []


def test_a_hook_whose_trouble_is_told_already_is_not_guessed_about(watch) -> None:  # type: ignore[no-untyped-def]
    hooks = [Hook(target=t, event="frame_emit") for t in ("a:b", "a:C.d", "a:f")]
    seen = watch(frames=Frames(hooks=hooks))
    for text in ("frames.hooks: a:b: module a has no b", "The hook of C.d failed: TypeError: no"):
        seen.intake.feed(wire(Notice(time.monotonic_ns(), 0, 1, 1, "hooks", text)), 1 << 62)
    (text,) = seen.at_the_end()
    assert text.startswith("No hook under frames.hooks has told of a frame (a:f): ")
    seen = watch(frames=Frames(hooks=hooks[:1]))
    text = "frames.hooks: a:b: module a has no b"
    seen.intake.feed(wire(Notice(time.monotonic_ns(), 0, 1, 1, "hooks", text)), 1 << 62)
    assert seen.at_the_end() == []


def test_what_goes_on_when_the_launched_process_has_ended_is_named(watch) -> None:  # type: ignore[no-untyped-def]
    """As after a start script that puts the program into the background."""
    script, program = watch(), watch("-E")
    pids = [script.process.pid]
    seen = HookWatch(lambda: pids, script.intake, AUTO, script.clock)
    pids[:] = [program.process.pid]
    seen.stop()
    (text,) = [record.text for record in seen.drain() if isinstance(record, Notice)]
    assert f"goes on, unrecorded: {program.process.pid} ({sys.executable}"[:60] in text
    assert "mgtop attach PID" in text


def test_frames_by_another_way_than_asked_for_are_left_out() -> None:
    start = time.monotonic_ns()
    events = [
        FrameEmit(start + n, n, 5000 << 22 | 1, 1, 1, 0, 0, 1, route)
        for n, route in enumerate((0, 1, 2))
    ]
    data = b"".join(map(wire, events))
    for source, routes in [
        ("auto", [0, 1, 2]),
        ("probe", [0]),
        ("hooks", [1]),
        ("sinks", [2]),
        ("log", []),
    ]:
        intake = Intake(start - SECOND, LossAccount(from_start=True), source=source)
        found = intake.feed(data, start + SECOND)
        assert [event.route for event in found if isinstance(event, FrameEmit)] == routes


def test_the_environment_keeps_what_was_there() -> None:
    here = str(boot_folder())
    frames = Frames(hooks=[HOOK])
    assert boot_environment(frames, {})["PYTHONPATH"] == here
    assert boot_environment(frames, {"PYTHONPATH": ""})["PYTHONPATH"] == here
    again = boot_environment(frames, {"PYTHONPATH": f"/a:{here}:/b"})
    assert again["PYTHONPATH"] == f"{here}:/a:/b"
    assert again["MGTOP_HOOKS"] == hook_settings(frames)
    assert (Path(here) / "sitecustomize.py").is_file()
