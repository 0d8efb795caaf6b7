"""Ways to start a Python program, and whether mgtop's hooks see its frames in each.

The program is the same everywhere and knows nothing of mgtop: ``model.generate`` is the request,
``model.Decoder.decode`` hands out blocks of 4 frames, 6 of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mgtop.config.structs import Frames, Hook
from mgtop.record.hooked import boot_environment
from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import AnyEvent, FrameEmit, Hello, RequestReceived

BLOCKS, PER_BLOCK = 6, 4
HOOKS = [
    Hook(target="model:generate", event="request_received"),
    Hook(target="model:Decoder.decode", event="frame_emit", count="len(result)", span="decode"),
]
FRAMES = Frames(hooks=HOOKS)

MODEL = f"""
class Decoder:
    def decode(self, latents):
        return [0] * latents

def generate():
    decoder = Decoder()
    for _ in range({BLOCKS}):
        decoder.decode({PER_BLOCK})
"""
MAIN = "import model\n\nif __name__ == '__main__':\n    model.generate()\n"
PROCESSES = """
import multiprocessing, sys

def work():
    import model
    model.generate()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    process = context.Process(target=work)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""
CHILD = """
import subprocess, sys
sys.exit(subprocess.run([sys.executable, "main.py"]).returncode)
"""
AGAIN = """
import os, sys
os.execv(sys.executable, [sys.executable, "main.py"])
"""
OTHER_SITE = "import sys\nsys.flags_of_the_other = 1\n"
SEES_OTHER_SITE = "import sys\nassert sys.flags_of_the_other == 1\nimport model\nmodel.generate()\n"
RANKS = """
import os
import torch.distributed
torch.distributed.init_process_group("gloo")
import model
model.generate()
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""
WRAPPER = '#!/bin/sh\nexport PYTHONPATH="$PWD:$PYTHONPATH"\n"$@"\n'
REPLACES = '#!/bin/sh\nPYTHONPATH="$PWD" "$@"\n'


@dataclass
class Seen:
    """What one launch told."""

    code: int
    output: str
    events: list[AnyEvent] = field(default_factory=list)

    @property
    def frames(self) -> dict[int, int]:
        """Frames by process."""
        found: dict[int, int] = {}
        for event in self.events:
            if isinstance(event, FrameEmit):
                found[event.proc] = found.get(event.proc, 0) + event.count
        return found

    @property
    def speaking(self) -> list[Hello]:
        """The processes that introduced themselves, once each."""
        return list({e.proc: e for e in self.events if isinstance(e, Hello)}.values())

    @property
    def requests(self) -> int:
        """Requests whose arrival was told."""
        return sum(isinstance(event, RequestReceived) for event in self.events)


@dataclass(frozen=True)
class Way:
    """How to start it. ``processes``: how many tell of frames; 0: it cannot be hooked."""

    name: str
    words: Callable[[str], Sequence[str]]
    processes: int = 1
    since: tuple[int, int] = (3, 8)
    torch: bool = False


WAYS = [
    Way("script", lambda py: [py, "main.py"]),
    Way("-m", lambda py: [py, "-m", "main"]),
    Way("-c", lambda py: [py, "-c", "import model; model.generate()"]),
    Way("-P", lambda py: [py, "-P", "-c", "import sys; sys.path.append('.')\n" + MAIN], 1, (3, 11)),
    Way("shell", lambda py: ["sh", "-c", f"{py} main.py; true"]),
    Way("shell wrapper with its own PYTHONPATH", lambda py: ["./wrapper.sh", py, "main.py"]),
    Way("child", lambda py: [py, "child.py"]),
    Way("exec", lambda py: [py, "again.py"]),
    Way("a sitecustomize of its own", lambda py: [py, "sees_other_site.py"]),
    Way("multiprocessing fork", lambda py: [py, "processes.py", "fork"]),
    Way("multiprocessing spawn", lambda py: [py, "processes.py", "spawn"]),
    Way("multiprocessing forkserver", lambda py: [py, "processes.py", "forkserver"]),
    Way("-I", lambda py: [py, "-I", "-c", "import sys; sys.path.append('.')\n" + MAIN], 0),
    Way("-E", lambda py: [py, "-E", "main.py"], 0),
    Way("-S", lambda py: [py, "-S", "main.py"], 0),
    Way("env -i", lambda py: ["env", "-i", py, "main.py"], 0),
    Way("PYTHONPATH replaced", lambda py: ["./replaces.sh", py, "main.py"], 0),
    Way(
        "torchrun",
        lambda py: [py, "-m", "torch.distributed.run", "--nproc_per_node=2", "ranks.py"],
        2,
        torch=True,
    ),
    Way(
        "accelerate launch",
        lambda py: [
            py,
            "-m",
            "accelerate.commands.launch",
            "--cpu",
            "--num_processes=1",
            "main.py",
        ],
        torch=True,
    ),
]


def write_program(folder: Path) -> None:
    """Lay the program into a folder."""
    (folder / "other").mkdir(parents=True)
    for name, text in {
        "model.py": MODEL,
        "main.py": MAIN,
        "processes.py": PROCESSES,
        "child.py": CHILD,
        "again.py": AGAIN,
        "sees_other_site.py": SEES_OTHER_SITE,
        "ranks.py": RANKS,
        "other/sitecustomize.py": OTHER_SITE,
        "wrapper.sh": WRAPPER,
        "replaces.sh": REPLACES,
    }.items():
        (folder / name).write_text(text)
        if name.endswith(".sh"):
            (folder / name).chmod(0o700)


def launch(
    words: Sequence[str], folder: Path, frames: Frames = FRAMES, timeout_s: float = 60.0, **env: str
) -> Seen:
    """Start a program as ``mgtop run`` does, and read what it tells until it ends."""
    fifo = folder / f"events-{os.urandom(4).hex()}.fifo"
    os.mkfifo(fifo, 0o600)
    fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MGTOP", "PYTHON", "RANK"))}
    environment = {**kept, "PYTHONPATH": str(folder / "other"), "MGTOP_FIFO": str(fifo), **env}
    environment.update(boot_environment(frames, environment))
    try:
        done = subprocess.run(
            list(words),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Seen(done.returncode, done.stdout, list(_events(fd)))
    finally:
        os.close(fd)
        fifo.unlink()


def _events(fd: int) -> Iterator[AnyEvent]:
    splitter = Splitter()
    while True:
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        for payload in splitter.feed(data):
            yield decode_event(payload)


def verdict(way: Way, seen: Seen) -> str:
    """``ok``, or what is wrong."""
    if seen.code:
        return f"exit code {seen.code}: {seen.output[-200:]}"
    frames = seen.frames
    if sorted(frames.values()) != [BLOCKS * PER_BLOCK] * way.processes:
        return f"frames {list(frames.values())}"
    if len(seen.speaking) != way.processes:
        return f"{len(seen.speaking)} processes spoke"
    if seen.output.strip() and not way.torch:
        return f"it printed {seen.output[-200:]!r}"
    return "ok"


def interpreters() -> dict[str, str]:
    """Every CPython of 3.8 and later that this machine has, by version."""
    found: dict[str, str] = {}
    candidates = [sys.executable]
    for root in ("PYENV_ROOT", "HOME"):
        base = Path(os.environ.get(root, "/nowhere"))
        for where in ("versions", ".pyenv/versions"):
            candidates += map(str, (base / where).glob("*/bin/python3"))
    candidates += [f"/usr/bin/python3.{minor}" for minor in range(8, 16)]
    for path in candidates:
        if not os.access(path, os.X_OK):
            continue
        asked = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if version and tuple(map(int, version.split("."))) >= (3, 8):
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))
