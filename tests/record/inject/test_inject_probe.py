"""The probe put into running programs: it speaks, shadows nothing, and is put in once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mgtop.record.attach.process import Process, find
from mgtop.record.inject import placing, probe
from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.interpreter import Interpreter
from mgtop.record.inject.preflight import check_machine, check_version, check_yama, preflight
from mgtop.record.inject.probe import has_probe, inject, why_silent
from mgtop.record.inject.ptrace import Tracee
from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import AnyEvent, FrameEmit, GarbageCollection, Hello, Mark
from tests.record.attach.programs import until
from tests.record.inject.targets import EVERY, NO_REMOTE, PYTHONS, REMOTE, target

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="before Python 3.14 this way in knows x86-64 only"
)

WITHOUT_MGTOP = next(python for python in PYTHONS if "venv" not in python.split("/")[-3])
LOOP = """
import sys, time, gc
kept = [[n] for n in range(200_000)]
paths = list(sys.path)
before = set(globals()) | {"before"}
print("ready")
while "mgtop.probe" not in sys.modules: time.sleep(0.001)
time.sleep(0.05)
assert sys.path == paths
assert set(globals()) == before, set(globals()) - before
from mgtop import probe
import mgtop.probe
assert probe is mgtop.probe
probe.mark("from the program")
gc.collect()
probe.frame()
print("done", flush=True)
time.sleep(60)
"""


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    return folder


def events_in(fifo: Path) -> list[AnyEvent]:
    fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        return [decode_event(payload) for payload in Splitter().feed(os.read(fd, 1 << 20))]
    finally:
        os.close(fd)


@pytest.mark.parametrize("python", EVERY)
def test_the_probe_speaks_in_every_python(python: str, runtime: Path) -> None:
    with target(LOOP, python=python, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        process = find(running.pid)
        assert not has_probe(process)
        done = inject(process, runtime)
        assert done.answered
        assert not done.before
        assert (done.stopped_ns > 0) == (python in PYTHONS)  # nothing stops for 3.14's own way
        assert running.stdout is not None
        assert running.stdout.readline() == "done\n", running.communicate(timeout=2)
        events = events_in(runtime / f"{running.pid}.fifo")
        again = inject(process, runtime)
        assert again.before
        assert again.stopped_ns == 0
    kinds = {type(event) for event in events}
    assert {Hello, Mark, GarbageCollection, FrameEmit} <= kinds
    assert {event.proc for event in events} == {process.proc}
    assert isinstance(events[0], Hello)


@pytest.mark.parametrize("python", EVERY)
def test_a_main_thread_that_never_gives_up_the_gil(python: str, runtime: Path) -> None:
    code = (
        "import os, threading, sys\n"
        "threading.Thread(target=os.read, args=(0, 1), daemon=True).start()\n"
        "print('ready')\n"
        "while True:\n    for _ in range(1000): pass"
    )
    with target(code, python=python, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        began = time.monotonic()
        assert inject(find(running.pid), runtime).answered
        assert time.monotonic() - began < 2.5


def test_a_probe_of_the_programs_own_is_kept(tmp_path: Path, runtime: Path) -> None:
    own = tmp_path / "own"
    (own / "mgtop" / "probe").mkdir(parents=True)
    for file in (placing.package_folder() / "probe").glob("*.py"):
        (own / "mgtop" / "probe" / file.name).write_bytes(file.read_bytes())
    code = (
        f"import sys, time; sys.path.insert(0, {str(own)!r})\nprint('ready')\n"
        "while 'mgtop.probe' not in sys.modules: time.sleep(0.001)\n"
        "time.sleep(0.1)\nprint(sys.modules['mgtop.probe'].__file__)\ntime.sleep(60)"
    )
    with target(code, python=WITHOUT_MGTOP, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        assert inject(find(running.pid), runtime).answered
        assert running.stdout is not None
        assert running.stdout.readline().strip() == str(own / "mgtop" / "probe" / "__init__.py")


def test_a_package_of_the_same_name_stays_the_programs(tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "mgtop").mkdir()
    (tmp_path / "mgtop" / "__init__.py").write_text("mine = 1\n")
    code = (
        f"import sys, time; sys.path.insert(0, {str(tmp_path)!r})\nimport mgtop\nprint('ready')\n"
        "while 'mgtop.probe' not in sys.modules: time.sleep(0.001)\n"
        "time.sleep(0.1)\nimport mgtop\nprint(mgtop.mine)\ntime.sleep(60)"
    )
    with target(code, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        assert inject(find(running.pid), runtime).answered
        assert running.stdout is not None
        assert running.stdout.readline() == "1\n"


def test_functions_of_a_library_that_the_program_has_by_name_are_seen(
    tmp_path: Path, runtime: Path
) -> None:
    """A package laid out as diffusers has it; what counts is whose function is called."""
    package = tmp_path / "diffusers" / "utils"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "export_utils.py").write_text(
        "def export_to_video(frames, path=None, fps=10):\n    return path\n"
    )
    code = (
        f"import sys, time; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from diffusers.utils.export_utils import export_to_video\nprint('ready')\n"
        "while 'mgtop.probe' not in sys.modules: time.sleep(0.001)\n"
        "time.sleep(0.1)\nprint(export_to_video([1, 2, 3], 'x.mp4'))\ntime.sleep(60)"
    )
    with target(code, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        assert inject(find(running.pid), runtime).answered
        assert running.stdout is not None
        assert running.stdout.readline() == "x.mp4\n"
        events = events_in(runtime / f"{running.pid}.fifo")
    assert sum(event.count for event in events if isinstance(event, FrameEmit)) == 3


def test_what_goes_wrong_inside_stays_inside(runtime: Path) -> None:
    code = (
        "import sys, time, builtins\n"
        "def no(*_, **__): raise SystemExit('the import machinery is broken')\n"
        "builtins.__import__ = no\nprint('ready')\nwhile True: time.sleep(0.001)"
    )
    with target(code, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        done = inject(find(running.pid), runtime, patience_s=0.3)
        assert not done.answered
        assert running.poll() is None
        running.kill()
        _, stderr = running.communicate()
    assert stderr == ""


@pytest.mark.parametrize("python", [sys.executable, *EVERY[len(PYTHONS) :]])
@pytest.mark.parametrize("where", ["event", "join", "queue"])
def test_a_main_thread_that_waits_for_a_lock_is_woken(
    where: str, python: str, runtime: Path
) -> None:
    code = {
        "event": "threading.Event().wait()",
        "join": "t = threading.Thread(target=time.sleep, args=(60,)); t.start(); t.join()",
        "queue": "queue.Queue().get()",
    }[where]
    with target(
        f"import threading, time, queue\nprint('ready')\n{code}",
        python=python,
        env={"MGTOP_RUNTIME": str(runtime)},
    ) as running:
        time.sleep(0.1)
        began = time.monotonic()
        assert inject(find(running.pid), runtime).answered
        assert time.monotonic() - began < 2
        assert running.poll() is None


def test_a_hung_main_thread_hears_it_when_it_wakes(runtime: Path) -> None:
    code = "import os, time\nprint('ready')\nos.read(0, 1)\nprint('awake')\ntime.sleep(60)"
    with target(code, env={"MGTOP_RUNTIME": str(runtime)}) as running:
        process = find(running.pid)
        done = inject(process, runtime, patience_s=0.3)
        assert not done.answered
        assert "system call 0" in why_silent(process)
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("x")
        running.stdin.flush()
        assert running.stdout.readline() == "awake\n"
        until(lambda: has_probe(process))


def test_a_stopped_process_is_left_alone(runtime: Path) -> None:
    with target("print('ready')\nimport time\nwhile True: time.sleep(0.01)") as running:
        os.kill(running.pid, signal.SIGSTOP)
        until(lambda: "T" in Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2])
        with pytest.raises(CannotInject, match=f"kill -CONT {running.pid}"):
            inject(find(running.pid), runtime)
        os.kill(running.pid, signal.SIGCONT)


def test_a_process_that_somebody_else_traces(runtime: Path) -> None:
    with target("print('ready')\nimport time\nwhile True: time.sleep(0.01)") as running:
        reader, writer = os.pipe()
        tracer = os.fork()
        if tracer == 0:
            Tracee(running.pid)
            os.write(writer, b"x")
            time.sleep(60)
        os.read(reader, 1)
        try:
            with pytest.raises(CannotInject, match=f"traced by process {tracer} .*end that first"):
                inject(find(running.pid), runtime)
        finally:
            os.kill(tracer, signal.SIGKILL)
            os.waitpid(tracer, 0)
            os.close(reader)
            os.close(writer)
        assert preflight(find(running.pid))


def test_a_probe_that_is_switched_off(runtime: Path) -> None:
    code = "print('ready')\nimport time; time.sleep(60)"
    with target(code, env={"MGTOP_PROBE": "off"}) as running:
        process = find(running.pid)
        with pytest.raises(CannotInject, match="MGTOP_PROBE=off"):
            inject(process, runtime)


def test_what_is_no_python_names_descendants_that_are(runtime: Path) -> None:
    shell = subprocess.Popen(["sh", "-c", "python3 -c 'import time; time.sleep(60)'; true"])
    try:
        children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
        child = int(until(lambda: children.read_text().split())[0])
        until(lambda: "python" in find(child).name)

        def refusal() -> str:
            try:
                inject(find(shell.pid), runtime)
            except CannotInject as error:
                return str(error)
            raise AssertionError

        until(lambda: f"Its descendants {child} run Python" in refusal())
        os.kill(child, signal.SIGKILL)
    finally:
        shell.kill()
        shell.wait()


def a_process(pid: int = 4711) -> Process:
    return Process(pid=pid, proc=1, inner_pid=pid, inner_proc=1, uid=0, inner_uid=0, name="python",
                   command=())  # fmt: skip


def test_yama_and_its_remedies() -> None:
    for scope, privileged in ((0, False), (0, True), (1, True), (2, True)):
        check_yama(a_process(), scope, privileged)
    with pytest.raises(CannotInject, match=r"sudo mgtop attach 4711 --inject; sudo sysctl kernel"):
        check_yama(a_process(), 1, privileged=False)
    with pytest.raises(CannotInject, match=r"helps: sudo mgtop attach 4711 --inject\.$"):
        check_yama(a_process(), 2, privileged=False)
    with pytest.raises(CannotInject, match="until its next start"):
        check_yama(a_process(), 3, privileged=True)
    child = subprocess.Popen(["sleep", "60"])
    check_yama(a_process(child.pid), 1, privileged=False)  # a descendant may be traced
    child.kill()
    child.wait()


def test_other_architectures_and_versions_are_refused() -> None:
    check_machine(62, "x86_64")
    with pytest.raises(CannotInject, match="this machine is aarch64"):
        check_machine(183, "aarch64")
    with pytest.raises(CannotInject, match="that program is not"):
        check_machine(3, "x86_64")

    def python(minor: int, free: bool = False) -> Interpreter:
        return Interpreter((3, minor), free, 62, 1, 2, "")

    check_version(python(8), 5)
    check_version(python(13), 5)
    check_version(python(14, free=True), 5)
    with pytest.raises(CannotInject, match=r"runs Python 3\.7; the probe needs 3\.8"):
        check_version(python(7), 5)
    with pytest.raises(CannotInject, match="without the GIL"):
        check_version(python(13, free=True), 5)


def test_two_at_once_put_it_in_once(runtime: Path) -> None:
    with target("print('ready')\nimport time\nwhile True: time.sleep(0.001)",
                env={"MGTOP_RUNTIME": str(runtime)}) as running:  # fmt: skip
        process = find(running.pid)
        pids = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 0 if inject(process, runtime).answered else 2
                except CannotInject:
                    code = 3  # another one was at it just then
                finally:
                    os._exit(code)
            pids.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        assert set(codes) <= {0, 3}
        assert 0 in codes
        until(lambda: has_probe(process))
        hellos = [e for e in events_in(runtime / f"{running.pid}.fifo") if isinstance(e, Hello)]
        assert len(hellos) == 1
        assert running.poll() is None


def run_by(uid: int) -> dict[str, object]:
    """Options of a process that another user runs."""
    return {"user": uid, "group": uid, "extra_groups": []}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("python", ["/usr/bin/python3", *EVERY[len(PYTHONS) :]])
def test_a_user_who_may_not_read_our_folder_gets_a_copy(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    package = placing.package_folder()
    for file in placing.files(package):
        copy = secret / file.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(placing, "package_folder", lambda: secret)
    code = (
        "import sys, time\nprint('ready')\n"
        "while 'mgtop.probe' not in sys.modules: time.sleep(0.001)\n"
        "time.sleep(0.1)\nprint(sys.modules['mgtop.probe'].__file__)\ntime.sleep(60)"
    )
    with target(code, python=python, **run_by(65534)) as running:
        process = find(running.pid)
        assert process.uid == 65534
        assert inject(process, tmp_path).answered
        assert running.stdout is not None
        said = Path(running.stdout.readline().strip())
        fifo = Path(f"/tmp/mgtop-65534/{running.pid}.fifo")
        assert fifo.exists()
        fifo.unlink()
    folder = said.parent.parent
    assert folder.parent == Path("/tmp/mgtop-65534")
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_uid == 65534
    assert not list(folder.parent.glob("inject-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_what_another_user_lays_in_the_way_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prize = tmp_path / "prize"
    prize.mkdir()
    place = tmp_path / "place"
    place.symlink_to(prize)
    monkeypatch.setattr(placing, "private_name", lambda _: str(place))
    code = "print('ready')\nimport time; time.sleep(60)"
    with target(code, python="/usr/bin/python3", **run_by(65534)) as running:
        process = find(running.pid)
        monkeypatch.setattr(placing, "_sees", lambda *_: False)
        with pytest.raises(CannotInject, match="cannot be copied to where it can"):
            inject(process, tmp_path)
    assert not list(prize.iterdir())


@NO_REMOTE
def test_an_interpreter_that_was_told_not_to(runtime: Path) -> None:
    code = "print('ready')\nimport time; time.sleep(60)"
    environment = {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}
    with target(code, python=REMOTE[0], env=environment) as running:
        with pytest.raises(CannotInject, match="PYTHON_DISABLE_REMOTE_DEBUG or -X disable"):
            inject(find(running.pid), runtime)
        assert running.poll() is None
    assert not list(runtime.iterdir())


@NO_REMOTE
def test_a_script_that_waits_is_read_when_the_program_wakes(runtime: Path) -> None:
    code = "import os, time\nprint('ready')\nos.read(0, 1)\nprint('awake')\ntime.sleep(60)"
    with target(code, python=REMOTE[0], env={"MGTOP_RUNTIME": str(runtime)}) as running:
        process = find(running.pid)
        assert not inject(process, runtime, patience_s=0.2).answered
        (script,) = runtime.glob("inject-*.py")
        assert running.stdin is not None
        running.stdin.write("x")
        running.stdin.flush()
        until(lambda: has_probe(process))
        until(lambda: not script.exists())


def test_nothing_is_left_traced(runtime: Path) -> None:
    with target("print('ready')\nimport time\nwhile True: time.sleep(0.001)",
                env={"MGTOP_RUNTIME": str(runtime)}) as running:  # fmt: skip
        inject(find(running.pid), runtime)
        for status in Path(f"/proc/{running.pid}/task").glob("*/status"):
            assert "TracerPid:\t0" in status.read_text()


def test_an_error_in_the_work_is_raised_where_it_was_asked_for() -> None:
    def fail() -> None:
        raise CannotInject("no")

    with pytest.raises(CannotInject, match="no"):
        probe._apart(fail)
