"""Every command that README and docs show is run here, as it stands, at a place where it can be.

The place has what the examples speak of: ``infer.py``, ``steps24.yaml``, repositories under
``~/src``, recorded sessions called ``stormlight``, ``before``, ``after``. What is not run is in
:data:`NOT_RUN`, with the reason. A command that opens the dashboard gets a terminal, is left with
``q``, and must give the terminal back.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(
    r"^(?:\$ )?((?:mgtop|python3?|pip|pipx|make|git|kubectl|nvidia-smi|docker|ssh|curl)\s.*)$"
)
NOT_RUN = {
    r"^git clone|^make (demo|test|format|pytest|release|site|wheels)": "what CI itself does",
    r"^pipx? install": "needs a package index; `make release` installs what is built",
    r"--on ray": "needs Ray; tests/rounds/test_rounds_ray.py",
    r"^nvidia-smi": "needs a GPU; its tables are in tests/record/smi",
    r"^kubectl|^docker": "needs a cluster or a container engine",
    r"^(ssh|curl) ": "needs another host, or a server that runs",
    r"\[OPTIONS\]|\[SESSION\]|SESSION to FORMAT": "a synopsis",
    r"^mgtop: |^mgtop  ": "what mgtop printed",
}
HEADLESS = ("run", "demo", "attach", "sweep", "fallback")
ANSWERING = ("check", "report", "compare", "run", "doctor", "fallback")
"""Commands that end with 1 where something is not met."""
SERVERS = ("metrics", "serve")
"""Commands that go on until they are ended."""

INFER = """
import sys, time
try:
    from mgtop import probe
except ImportError:
    sys.exit(0)
steps = 4
for number, word in enumerate(sys.argv):
    if word == "--steps":
        steps = int(sys.argv[number + 1])
print("[req r1] T+0 request_received width=64 height=64 steps=%d fps=50" % steps)
probe.load_done()
began = time.monotonic()
with probe.request("r1", width=64, height=64, steps=steps, fps=50) as request:
    frame = 0
    while frame < 40 or "--forever" in sys.argv:
        with request.span("forward"):
            time.sleep(0.001 * steps)
        request.frame()
        now = (time.monotonic() - began) * 1000
        event = "frame_emit" if frame else "first_frame_emit"
        print("[req r1] T+%d %s frame=%d" % (now, event, frame), flush=True)
        frame += 1
"""
SMOKE = """
import sys
from PIL import Image
print("loaded weights from model.safetensors", flush=True)
Image.effect_noise((64, 64), 60).convert("RGB").save("frame.png")
print("saved to frame.png", flush=True)
"""
STEPS24 = """
name: steps24
command: [python, infer.py, --steps, "{steps}", --size, "{resolution}", --schedule, "{schedule}"]
params: {steps: 24, width: 64, height: 64, fps: 50, resolution: 64x64, schedule: [1, 2]}
fallback: {steps: [24, 16]}
smoke: {command: [python, smoke.py], output: frame.png}
"""
GPU_CSV = """timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB]
2026/01/05 10:00:00.123, 0, GPU-1, NVIDIA H200, 37 %, 1024 MiB
2026/01/05 10:00:01.123, 0, GPU-1, NVIDIA H200, 38 %, 2048 MiB
"""
APPS_CSV = """timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]
2026/01/05 10:00:00.123, GPU-1, 77, python, 1000 MiB
"""


@dataclass(frozen=True)
class Example:
    """One line of a command block."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.text[:48]}"


def examples() -> Iterator[Example]:
    """The lines of all blocks that begin with a command."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "mgtop" / "probe" / "README.md"]
    for page in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
        fence, blank, inside = None, True, False
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            if line.startswith("```"):
                fence = None if fence is not None else line[3:].strip()
                continue
            if fence is None:
                indented = line.startswith("    ")
                inside = indented and (inside or blank)
                blank = not line.strip()
                if not inside:
                    continue
            elif fence not in ("", "bash", "sh", "console", "text"):
                continue
            match = COMMAND.match(line.strip())
            if match:
                name = page.relative_to(ROOT).as_posix()
                yield Example(name, number, without_remark(match[1]))


def without_remark(text: str) -> str:
    """A command without what is said beside it: after `` # ``, or after three spaces."""
    return re.split(r"\s+#\s|\s{3,}(?![|>&])", text)[0].strip()


def reason_not_to(text: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, text)), None)


EXAMPLES = list(dict.fromkeys((one.text, one) for one in examples()))
TO_RUN = list({text: one for text, one in EXAMPLES if reason_not_to(text) is None}.values())


class Place:
    """A folder where the examples hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir(parents=True)
        for name, words in (("mgtop", f"{sys.executable} -m mgtop"), ("python", sys.executable)):
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            script.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MGTOP", "XDG"))}
        self.environment = {
            **kept,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "MGTOP_RUNTIME": str(folder / "runtime"),
            "TERM": "xterm-256color",
            "COLUMNS": "120",
        }
        for name, text in (
            ("infer.py", INFER), ("script.py", INFER), ("smoke.py", SMOKE),
            ("steps24.yaml", STEPS24), ("model.yaml", STEPS24), ("run.yaml", STEPS24),
            ("gpu.csv", GPU_CSV), ("apps.csv", APPS_CSV),
        ):  # fmt: skip
            (folder / name).write_text(text)
        for name in ("Matrix-Game-3.5", "Wan2.2", "Self-Forcing"):
            repository = folder / "src" / name
            repository.mkdir(parents=True)
            (repository / "README.md").write_text("# Model\n\nPython 3.10 or newer is needed.\n")
            (repository / "infer.py").write_text(INFER)
            (repository / "smoke.py").write_text(SMOKE)
            if name != "Wan2.2":
                (repository / "mgtop.yaml").write_text(STEPS24)
        conda = folder / "miniconda3" / "envs" / "wan" / "bin"
        conda.mkdir(parents=True)
        shutil.copy(programs / "python", conda / "python")
        self.background: list[subprocess.Popen[bytes]] = []
        self.record()

    def record(self) -> None:
        """Sessions of the names that the examples use, and text logs."""
        done = self.shell("mgtop run --headless --out recorded -- python infer.py")
        assert done.returncode == 0, done.stderr
        for name in ("generator.log", "server.log"):
            shutil.copy(self.folder / "recorded" / "stdout.log", self.folder / name)
        root = self.folder / "state" / "mgtop" / "sessions"
        root.mkdir(parents=True, exist_ok=True)
        for name in ("stormlight", "before", "after", "main", "branch", "steps=24", "steps=16",
                     "steps=24-repeat=1", "steps=16-repeat=1"):  # fmt: skip
            shutil.copytree(self.folder / "recorded", root / name)

    def shell(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def running(self) -> int:
        """The number of a program that runs under nobody's eyes."""
        process = subprocess.Popen(
            [sys.executable, "infer.py", "--forever"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
        )
        self.background.append(process)
        return process.pid

    def live(self, name: str) -> None:
        """A recording of that name goes on."""
        words = f"mgtop run --set name={name} --headless -- python infer.py --forever"
        process = subprocess.Popen(
            ["bash", "-c", f"exec {words}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.background.append(process)
        end = time.monotonic() + 60
        while f'-{name}"' not in self.shell("mgtop ls --json").stdout:
            assert time.monotonic() < end
            time.sleep(0.2)

    def on_a_terminal(self, text: str, keys: str = "q") -> tuple[int, bytes]:
        """Run it in a terminal, leave by keys once it shows something; code and output."""
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", f"stty rows 40 cols 120; {text}"], self.environment)
        output, pressed, end = b"", False, time.monotonic() + 90
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.5)
            if ready:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                output += data
            if not pressed and b"\x1b[?1049h" in output and len(output) > 4_000:
                os.write(master, keys.encode())
                pressed = True
        os.close(master)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), output


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("place"))
    yield place
    for process in place.background:
        process.send_signal(signal.SIGTERM)
    for process in place.background:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def as_it_can_be(text: str, place: Place) -> str:
    """With real numbers and names for placeholders, and an end where there is no person."""
    words = text.split()
    if words[:2] == ["mgtop", "attach"]:
        pid = str(place.running())
        text = re.sub(r"\b(?:PID|4711)\b", pid, text)
        text = text.replace("$(pgrep -f infer.py | head -1)", pid)
    text = re.sub(r"\b(?:SESSION|NAME)\b(?!=)", "stormlight", text)
    text = re.sub(r"--to FORMAT.*", "--to csv", text)
    text = re.sub(r"--seconds \d+", "--seconds 1", text)
    text = re.sub(r"--repeats \d", "--repeats 1", text)
    text = text.replace("| less", "| cat")
    if words[:2] == ["mgtop", "sweep"] and "--repeats" not in text:
        text = text.replace("mgtop sweep", "mgtop sweep --repeats 1")
    if words[0] == "mgtop" and words[1] in HEADLESS and "--headless" not in text:
        text = text.replace(f"mgtop {words[1]}", f"mgtop {words[1]} --headless --seconds 1", 1)
    if words[0].startswith("python") and "benchmarks" in text:
        text = (
            f"cd {ROOT} && {words[0]} {' '.join(words[1:3][: 2 if words[1] == '-m' else 1])} --help"
        )
    if words[:2] == ["mgtop", "init"]:
        text = text.replace("-o steps24.yaml", "-o new.yaml").replace("--entry demo", "")
        there = "src/Self-Forcing/mgtop.yaml"  # which it would leave as it is
        text = f"rm -f {there} new.yaml; trap 'cp steps24.yaml {there}' 0; {text}"
    return text


@pytest.mark.parametrize("example", TO_RUN, ids=str)
def test_an_example_does_what_it_says(example: Example, place: Place) -> None:
    text = example.text
    if "| jq" in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    if "column -s" in text and shutil.which("column") is None:
        pytest.skip("column is not installed")
    words = text.split()
    if words[:2] == ["mgtop", "view"]:
        place.live("looked-at")
        code, output = place.on_a_terminal(as_it_can_be(text, place), "ql")
        assert code == 0, output[-2000:]
        assert output.rstrip().rfind(b"\x1b[?1049l") > output.find(b"\x1b[?1049h") >= 0
        place.shell("mgtop stop looked-at --target")
        return
    if words[:2] == ["mgtop", "stop"]:
        name = "stormlight" if "stormlight" in text else "once"
        place.live(f"{name}-2")
        text = re.sub(r"\b(?:NAME|stormlight)\b", f"{name}-2", text)
    if words[0] == "mgtop" and words[1] in SERVERS:
        place.live("served")
        done = place.shell(f"timeout -s INT 4 {as_it_can_be(text, place)}")
        assert done.returncode in (0, 124, 130), done.stdout + done.stderr
        place.shell("mgtop stop served --target")
        return
    done = place.shell(as_it_can_be(text, place))
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    # 1: a check or gate is not met here, which is an answer.
    answers = (0, 1) if words[1] in ANSWERING else (0,)
    assert done.returncode in answers, said


def test_what_is_not_run_has_its_reason() -> None:
    left_out = [one for text, one in EXAMPLES if reason_not_to(text) is not None]
    assert len(TO_RUN) > 70
    assert len(left_out) < 60, [str(one) for one in left_out]
