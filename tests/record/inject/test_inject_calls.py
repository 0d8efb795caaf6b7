"""A text put into running interpreters: it runs, and nothing else changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.interpreter import NoInterpreter, find_interpreter
from mgtop.record.inject.registers import NAMES, NO_CALL, Registers
from tests.record.inject.targets import EVERY, PYTHONS, appeared, ends, put, target, wake

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="before Python 3.14 this way in knows x86-64 only"
)

WORK = """
import sys, threading, time
hits, over = [], threading.Event()
def busy():
    x = 0
    while True: x += 1
kind = sys.argv[1]
if kind == "threads":
    for _ in range(2): threading.Thread(target=busy, daemon=True).start()
print("ready")
while len(hits) < 30:
    if kind == "busy":
        for _ in range(1000): pass
    elif kind == "allocate":
        d = {i: bytes(i) for i in range(300)}
        assert len(d) == 300 and len(d[299]) == 299
    elif kind == "threads":
        time.sleep(0.001)
    else:
        over.wait(0.5)
print("done", len(hits))
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["busy", "allocate", "threads", "waiting"])
@pytest.mark.parametrize("python", PYTHONS)
def test_thirty_times_into_every_python(python: str, kind: str) -> None:
    with target(WORK, kind, python=python) as running:
        interpreter = find_interpreter(running.pid)
        slept = 0
        for _ in range(30):
            slept += put(running.pid, "hits.append(1)", interpreter).was_sleeping
            if kind == "waiting":
                time.sleep(0.002)
                wake(running.pid)
        assert running.stdout is not None
        assert running.stdout.readline() == "done 30\n"
        assert ends(running) == 0
    if kind in ("threads", "waiting"):
        assert slept >= 25  # such a program is as good as never stopped as it runs


def test_a_text_of_any_length_and_script(tmp_path: Path) -> None:
    out = tmp_path / "said"
    text = f"open({str(out)!r}, 'w').write({'ü' * 20_000 + 'x'!r} + chr(10))"
    with target("import time\nprint('ready')\nwhile True: time.sleep(0.001)") as running:
        put(running.pid, text)
        appeared(out)
    assert out.read_text() == "ü" * 20_000 + "x\n"


SLEEPER = """
import select, sys, threading, time, os
def sleeper():
    began = time.monotonic()
    if sys.argv[1] == "sleep": time.sleep(1.5)
    elif sys.argv[1] == "poll": select.poll().poll(1500)
    elif sys.argv[1] == "select": select.select([], [], [], 1.5)
    elif sys.argv[1] == "lock": lock.acquire(timeout=1.5)
    elif sys.argv[1] == "read": os.read(0, 1)
    print("slept", round(time.monotonic() - began, 3), flush=True)
lock = threading.Lock(); lock.acquire()
thread = threading.Thread(target=sleeper); thread.start()
time.sleep(0.1)
print("ready")
while thread.is_alive():
    for _ in range(10000): pass
"""


@pytest.mark.parametrize("kind", ["sleep", "poll", "select", "lock", "read"])
def test_the_call_that_a_borrowed_thread_sleeps_in_goes_on(kind: str) -> None:
    with target(SLEEPER, kind) as running:
        python = find_interpreter(running.pid)
        for _ in range(10):
            assert put(running.pid, "pass", python).was_sleeping
        assert running.stdin is not None
        assert running.stdout is not None
        if kind == "read":
            time.sleep(1.4)
            running.stdin.write("x")
            running.stdin.flush()
        word, seconds = running.stdout.readline().split()
        assert word == "slept"
        assert 1.45 <= float(seconds) < 6
        assert running.wait(5) == 0


SIGNALS = """
import signal, sys, time, faulthandler
faulthandler.enable()
count = 0
def on(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, on)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
print("ready")
hits = []
while len(hits) < 40: pass
signal.setitimer(signal.ITIMER_REAL, 0)
print("done", count)
sys.stdin.read()
"""


def caught(pid: int) -> dict[str, int]:
    """Masks of signals; blocked are those of ten looks, as a running handler blocks its own."""
    masks: dict[str, int] = {}
    for _ in range(10):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":\t")
            if name in ("SigCgt", "SigIgn", "SigBlk"):
                mask = int(value, 16)
                masks[name] = masks.get(name, mask) & mask if name == "SigBlk" else mask
        time.sleep(0.002)
    return masks


def test_signals_that_come_meanwhile_are_neither_lost_nor_made_up() -> None:
    with target(SIGNALS) as running:
        before = caught(running.pid)
        python = find_interpreter(running.pid)
        for number in range(40):
            if number == 39:
                after = caught(running.pid)
            put(running.pid, "hits.append(1)", python)
        assert running.stdout is not None
        word, count = running.stdout.readline().split()
        assert (word, int(count) > 20) == ("done", True)
        assert ends(running) == 0
    assert after == before


MATMUL = """
import sys, torch
torch.set_num_threads(2)
torch.manual_seed(0)
a, b = torch.randn(96, 96), torch.randn(96, 96)
right = a @ b
hits, wrong, done = [], 0, 0
print("ready")
while len(hits) < int(sys.argv[1]):
    for _ in range(20):
        wrong += not torch.equal(a @ b, right)
        done += 1
print("done", done, wrong)
sys.stdin.read()
"""


def test_results_of_a_busy_torch_process_stay_right() -> None:
    pytest.importorskip("torch")
    with target(MATMUL, 60) as running:
        python = find_interpreter(running.pid)
        for _ in range(60):
            put(running.pid, "hits.append(1)", python)
            time.sleep(0.01)
        assert running.stdout is not None
        _, done, wrong = running.stdout.readline().split()
        assert ends(running) == 0
    assert int(done) >= 60
    assert int(wrong) == 0


def test_a_full_queue_is_said() -> None:
    with target("import os\nprint('ready')\nos.read(0, 1)\nprint('done')") as running:
        python = find_interpreter(running.pid)

        def fill() -> None:
            for _ in range(400):
                put(running.pid, "pass", python)

        with pytest.raises(CannotInject, match="queue of pending calls is full"):
            fill()
        running.communicate("x", timeout=5)
        assert running.returncode == 0


def test_a_process_that_ends_meanwhile() -> None:
    with target("import time\nprint('ready')\nwhile True: time.sleep(0.001)") as running:
        python = find_interpreter(running.pid)
        running.kill()
        running.wait()
        with pytest.raises((CannotInject, ProcessLookupError, FileNotFoundError)):
            put(running.pid, "pass", python)


def test_what_is_no_python() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(NoInterpreter, match="does not run Python"):
            find_interpreter(process.pid)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("python", EVERY)
def test_the_version_of_a_process(python: str) -> None:
    said = subprocess.run([python, "-c", "import sys; print(sys.version_info[:2])"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    with target("print('ready')\nimport time; time.sleep(60)", python=python) as running:
        found = find_interpreter(running.pid)
    assert str(found.version) == said.stdout.strip()
    assert not found.free_threaded


def test_registers_are_read_and_written_as_the_kernel_has_them() -> None:
    data = b"".join(number.to_bytes(8, "little") for number in range(len(NAMES)))
    registers = Registers.from_bytes(data)
    assert registers["r15"] == 0
    assert registers["rip"] == 16
    assert registers.to_bytes() == data
    assert registers.in_call is None
    registers.update(orig_rax=202, rax=(1 << 64) - 512)
    assert registers.in_call == 202
    changed = registers.calling(rip=7)
    assert (changed["orig_rax"], changed["rax"], changed["rip"]) == (NO_CALL, 0, 7)
    assert registers["rip"] == 16


def test_an_interrupt_meanwhile_reaches_nobody_else() -> None:
    """Ctrl-C in mgtop lets the thread go first: it is delivered between two injections."""
    code = (
        "import os, signal, sys, time\n"
        "from mgtop.record.inject.interpreter import find_interpreter\n"
        "from tests.record.inject.targets import put\n"
        "pid = int(sys.argv[1]); python = find_interpreter(pid)\n"
        "print('started', flush=True)\n"
        "while True: put(pid, 'pass', python)\n"
    )
    with target("import time\nprint('ready')\nwhile True: time.sleep(0.001)") as running:
        for _ in range(3):
            injector = subprocess.Popen(
                [sys.executable, "-c", code, str(running.pid)],
                cwd=Path(__file__).parents[3],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert injector.stdout is not None
            injector.stdout.readline()
            time.sleep(0.2)
            injector.send_signal(signal.SIGINT)
            injector.wait(10)
            injector.stdout.close()
            time.sleep(0.1)
            assert running.poll() is None
            assert "TracerPid:\t0" in Path(f"/proc/{running.pid}/status").read_text()


def test_a_process_without_memory_to_spare_refuses_and_goes_on() -> None:
    code = (
        "import resource, threading, time\n"
        "def sleep():\n    began = time.monotonic(); time.sleep(1.5)\n"
        "    print('slept', time.monotonic() - began)\n"
        "thread = threading.Thread(target=sleep); thread.start()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))\n"
        "print('ready')\nthread.join()"
    )
    with target(code) as running:
        python = find_interpreter(running.pid)
        with pytest.raises(CannotInject, match="no memory, error 12"):
            put(running.pid, "pass", python)
        assert running.stdout is not None
        word, seconds = running.stdout.readline().split()
        assert word == "slept"
        assert 1.4 < float(seconds) < 4
        assert running.wait(5) == 0
