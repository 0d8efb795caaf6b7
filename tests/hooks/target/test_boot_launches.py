"""Programs started the ways that people start them, with the boot folder on their PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hook_launches import (
    BLOCKS,
    HOOKS,
    PER_BLOCK,
    WAYS,
    Way,
    interpreters,
    launch,
    verdict,
    write_program,
)
from mgtop.config.structs import Frames, Hook
from mgtop.record.hooked import boot_folder
from mgtop.wire.records import Action, FrameEmit, Span, Wait

PYTHONS = interpreters()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_program(tmp_path / "program")
    return tmp_path / "program"


@pytest.mark.parametrize("way", [w for w in WAYS if not w.torch], ids=lambda way: way.name)
def test_every_way_to_start(way: Way, folder: Path) -> None:
    assert verdict(way, launch(way.words(sys.executable), folder)) == "ok"


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS.keys())
@pytest.mark.parametrize("name", ["script", "multiprocessing spawn"])
def test_every_python(name: str, python: str, folder: Path) -> None:
    (way,) = [way for way in WAYS if way.name == name]
    assert verdict(way, launch(way.words(python), folder)) == "ok"


def test_ranks_are_told_apart_and_the_launcher_is_silent(folder: Path) -> None:
    pytest.importorskip("torch")
    (way,) = [way for way in WAYS if way.name == "torchrun"]
    seen = launch(way.words(sys.executable), folder)
    assert verdict(way, seen) == "ok"
    assert sorted(hello.rank for hello in seen.speaking) == [0, 1]  # type: ignore[type-var]


def test_a_program_that_tells_nothing_is_left_no_trace(folder: Path) -> None:
    source = (
        "import os, threading\n"
        "print(sorted(os.listdir('/proc/self/fd')), len(threading.enumerate()))"
    )
    with_hooks = launch([sys.executable, "-c", source], folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    without = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        env=env,
    )
    assert with_hooks.output == without.stdout
    assert with_hooks.events == []


def test_the_path_of_the_program_is_as_without(folder: Path) -> None:
    seen = launch([sys.executable, "-c", "import sys; print(sys.path)"], folder)
    assert str(boot_folder()) not in seen.output
    assert str(folder / "other") in seen.output
    inherited = "import os; print(os.environ['PYTHONPATH'])"
    path = launch([sys.executable, "-c", inherited], folder).output.strip()
    assert path == f"{boot_folder()}:{folder / 'other'}"


def test_the_probe_is_there_where_mgtop_is_not(folder: Path) -> None:
    (folder / "probing.py").write_text(
        "from mgtop import probe\nimport mgtop\nassert not hasattr(mgtop, 'cli')\n"
        "import importlib.util\nassert importlib.util.find_spec('mgtop.cli') is None\n"
        "with probe.request('a') as r:\n    r.frame()\n"
    )
    others = [python for python in PYTHONS.values() if ".venv" not in python]
    for python in others[:1] + others[-1:]:
        seen = launch([python, "probing.py"], folder)
        assert (seen.code, seen.output) == (0, "")
        assert [event.route for event in seen.events if isinstance(event, FrameEmit)] == [0]


def test_an_mgtop_of_the_programs_own_is_not_shadowed(folder: Path) -> None:
    own = folder / "mgtop"
    (own / "probe").mkdir(parents=True)
    (own / "__init__.py").write_text("")
    (own / "probe" / "__init__.py").write_text("mine = True\n")
    seen = launch([sys.executable, "-c", "from mgtop import probe; print(probe.mine)"], folder)
    assert seen.output == "True\n"


def test_an_error_in_the_hidden_sitecustomize_is_told_as_python_tells_it(folder: Path) -> None:
    (folder / "other" / "sitecustomize.py").write_text("1 / 0\n")
    seen = launch([sys.executable, "-c", "print('goes on')"], folder)
    assert "Error in sitecustomize" in seen.output
    assert "ZeroDivisionError: division by zero" in seen.output
    assert seen.output.endswith("goes on\n")
    (folder / "other" / "sitecustomize.py").write_text("import not_there_at_all\n")
    seen = launch([sys.executable, "main.py"], folder)
    assert "not_there_at_all" in seen.output
    assert sum(seen.frames.values()) == BLOCKS * PER_BLOCK


def test_frames_can_be_taken_from_the_program_alone(folder: Path) -> None:
    for source in ("probe", "sinks", "log"):
        seen = launch(
            [sys.executable, "main.py"],
            folder,
            Frames(from_=source, hooks=HOOKS),  # type: ignore[arg-type]
        )
        assert seen.code == 0
        assert seen.frames == {}


def test_switched_off_it_does_nothing(folder: Path) -> None:
    seen = launch([sys.executable, "main.py"], folder, MGTOP_PROBE="off")
    assert (seen.code, seen.events) == (0, [])
    other = next(iter(PYTHONS.values()))
    words = [other, "-c", "from mgtop import probe; probe.frame(); import main"]
    seen = launch(words, folder, MGTOP_PROBE="off")
    assert (seen.code, seen.events, seen.output) == (0, [], "")


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS.keys())
def test_a_line_typed_in_is_a_wait_and_an_action(python: str, folder: Path) -> None:
    (folder / "asks.py").write_text(
        "open('asked', 'w').close()\nprint(input('go? '))\nimport model\nmodel.generate()\n"
    )
    types = "until [ -e asked ]; do sleep 0.01; done; sleep 0.1; echo left"
    seen = launch(["sh", "-c", f"({types}) | {python} asks.py"], folder)
    assert seen.output == "go? left\n"
    (wait,) = [event for event in seen.events if isinstance(event, Wait)]
    (action,) = [event for event in seen.events if isinstance(event, Action)]
    assert wait.duration_ns > 20_000_000
    assert action.kind == "input"
    assert action.t_ns >= wait.t_ns


def test_lines_read_from_a_file_are_no_input_of_a_person(folder: Path) -> None:
    (folder / "reads.py").write_text(
        "try:\n    while True: input()\nexcept EOFError: pass\nimport model; model.generate()\n"
    )
    (folder / "lines").write_text("x\n" * 1000)
    seen = launch(["sh", "-c", f"{sys.executable} reads.py < lines"], folder)
    assert seen.code == 0
    assert not [event for event in seen.events if isinstance(event, (Wait, Action))]
    assert sum(seen.frames.values()) == BLOCKS * PER_BLOCK


NATURES = """
import asyncio, inspect

class Thing:
    def plain(self, n): return [0] * n
    @staticmethod
    def fixed(n): return [0] * n
    @classmethod
    def made(cls, n): return [0] * n
    async def later(self, n):
        await asyncio.sleep(0)
        return [0] * n
    def each(self, n):
        for _ in range(n):
            yield [0]
        return "end"
    async def each_later(self, n):
        for _ in range(n):
            await asyncio.sleep(0)
            yield [0]
"""
USES_NATURES = """
import asyncio, inspect
from natures import Thing

def all_of():
    return (yield from Thing().each(3))

async def later():
    assert len(await Thing().later(3)) == 3
    assert [len(item) async for item in Thing().each_later(3)] == [1, 1, 1]
    left = Thing().each_later(3)
    async for item in left:
        break
    await left.aclose()

assert len(Thing().plain(3)) == len(Thing.fixed(3)) == len(Thing.made(3)) == 3
items = all_of()
assert len(list(items)) == 3
asyncio.run(later())
assert inspect.iscoroutinefunction(Thing.later) and asyncio.iscoroutinefunction(Thing.later)
assert inspect.isgeneratorfunction(Thing.each) and inspect.isasyncgenfunction(Thing.each_later)
assert str(inspect.signature(Thing.plain)) == "(self, n)"
assert str(inspect.signature(Thing().plain)) == str(inspect.signature(Thing.made)) == "(n)"
assert isinstance(Thing.__dict__["made"], classmethod)
assert isinstance(Thing.__dict__["fixed"], staticmethod)
"""


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS.keys())
def test_functions_keep_their_nature_on_every_python(python: str, folder: Path) -> None:
    (folder / "natures.py").write_text(NATURES)
    (folder / "uses.py").write_text(USES_NATURES)
    names = ("plain", "fixed", "made", "later", "each", "each_later")
    hooks = [
        Hook(target=f"natures:Thing.{name}", event="frame_emit", count="len(result)", span=name)
        for name in names
    ]
    seen = launch([python, "uses.py"], folder, Frames(hooks=hooks))
    assert (seen.code, seen.output) == (0, "")
    assert sum(seen.frames.values()) == 19
    assert len([event for event in seen.events if isinstance(event, Span)]) == 13
