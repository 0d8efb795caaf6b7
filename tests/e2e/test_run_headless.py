"""``mgtop run --headless`` as a script sees it: streams, signals, exit codes, what stays."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time

import pytest
from machine import FRAMES, PYTHON, ROOT, Machine, last_line, records_of, until

from mgtop.record.status import read_status
from mgtop.record.tree import is_running
from mgtop.wire.records import FrameEmit, SessionStart, TargetExit, TargetStart

pytestmark = pytest.mark.e2e


def test_the_session_folder_is_the_last_line_of_stdout(mgtop: Machine) -> None:
    (mgtop.folder / "frames.py").write_text(FRAMES)
    done = mgtop.run("run", "--headless", "--name", "mine", "--", PYTHON, "frames.py", "30")
    assert done.returncode == 0, done.stderr
    folder = last_line(done.stdout)
    assert folder == mgtop.sessions()[0]
    assert folder.name.endswith("-mine")
    assert "done 30" in done.stderr
    assert (folder / "stdout.log").read_text() == "done 30\n"
    records = records_of(folder)
    assert [r.index for r in records if isinstance(r, FrameEmit)] == list(range(30))
    start = records[1]
    assert isinstance(start, TargetStart)
    assert start.command == [PYTHON, "frames.py", "30"]
    assert start.cwd == str(mgtop.folder)


def test_standard_input_is_the_targets(mgtop: Machine) -> None:
    done = mgtop.run("run", "--headless", "--", "sh", "-c", "read a; echo got $a", stdin="word\n")
    assert done.returncode == 0
    assert "got word" in done.stderr


def test_exit_codes(mgtop: Machine) -> None:
    def code(*arguments: str) -> int:
        done = mgtop.run("run", "--headless", *arguments)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or "mgtop: " in done.stderr
        return done.returncode

    assert code("--", "true") == 0
    assert code("--", "false") == 3
    assert code("--", "sh", "-c", "kill -9 $$") == 3
    assert code("--", "no-such-command") == 2
    assert code("--seconds", "0.3", "--", "sleep", "60") == 0
    assert code("--seconds", "9", "--", "sh", "-c", "exit 5") == 3


def test_wrong_usage_says_what_to_do(mgtop: Machine) -> None:
    for name in ("infer.py", "start it", "steps24.yaml"):
        (mgtop.folder / name).touch(mode=0o755)
    for arguments, words in [
        ((), "Say what to run"),
        (("--",), "no command after --"),
        (("python3", "x.py"), "Put -- before a command: mgtop run -- python3 x.py"),
        (("missing.yaml",), "no configuration 'missing.yaml'."),
        (("steps24.yml",), "no configuration 'steps24.yml'; did you mean 'steps24.yaml'?"),
        (("steps",), "no configuration 'steps'; did you mean 'steps24.yaml'?"),
        (("infer.py",), "put its command after --: mgtop run -- python infer.py"),
        (("start it",), "put its command after --: mgtop run -- './start it'"),
        (("--headless", "--name", "\udcff", "--", "true"), "is not UTF-8 text"),
        (("--headless", "--seconds", "soon", "--", "true"), "'soon' is not a valid number"),
        (("--headless", "--seconds", "nan", "--", "true"), "'nan' is not a valid number"),
        (("--headless", "--seconds", "1e300", "--", "true"), "is too large"),
        (("steps24.yaml", "--headless", "more"), "'more' is too much"),
        (("missing.yaml", "--", "true"), "not both"),
        (("x" * 50_000,), "no configuration 'xxx"),
        ((".",), "no mgtop.yaml"),
        (("--", "true"), "use --headless"),
        (("--headless", "--gate", "p95 ~ 3", "--", "true"), "gate"),
        (("--headless", "--set", "detect.ratio=-1", "--", "true"), "detect.ratio"),
    ]:
        done = mgtop.run("run", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert words in done.stderr, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
    assert mgtop.sessions() == []


def test_a_configuration_is_resolved_and_kept_without_secrets(mgtop: Machine) -> None:
    project = mgtop.folder / "project"
    project.mkdir()
    (project / "frames.py").write_text(FRAMES)
    (project / "mgtop.yaml").write_text(
        f"command: [python, frames.py, '{{frames}}']\npython: {PYTHON}\n"
        "params: {frames: 5, fps: 50}\n"
        f"env: {{HF_TOKEN: hf_abcdefghijklmnop, PYTHONPATH: '{ROOT}'}}\n"
    )
    done = mgtop.run("run", "project", "--headless", "--set", "params.frames=7")
    assert done.returncode == 0, done.stderr
    folder = last_line(done.stdout)
    assert folder.name.endswith("-project")
    text = (folder / "config.yaml").read_text()
    assert "hf_abc" not in text
    everything = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert b"hf_abcdef" not in everything
    records = records_of(folder)
    assert isinstance(records[0], SessionStart)
    assert records[0].params == {"frames": 7, "fps": 50}
    assert records[0].settings["target_fps"] == 50
    assert len([r for r in records if isinstance(r, FrameEmit)]) == 7
    again = mgtop.run("run", str(folder / "config.yaml"), "--headless")
    assert again.returncode == 0, again.stderr


def test_out_is_the_session_folder_and_is_never_overwritten(mgtop: Machine) -> None:
    first = mgtop.run("run", "--headless", "--out", "here", "--", "true")
    assert last_line(first.stdout) == mgtop.folder / "here"
    second = mgtop.run("run", "--headless", "--out", "here", "--", "true")
    assert second.returncode == 4
    assert "already holds a session" in second.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_by_mode(mgtop: Machine) -> None:
    (mgtop.folder / "locked").mkdir(mode=0o500)
    done = mgtop.run("run", "--headless", "--out", "locked/session", "--", "true")
    assert done.returncode == 4


def test_a_folder_on_a_file_system_that_cannot_be_written(mgtop: Machine) -> None:
    done = mgtop.run("run", "--headless", "--out", "/proc/session", "--", "true")
    assert done.returncode == 4
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_target(mgtop: Machine, number: signal.Signals) -> None:
    process = mgtop.start("run", "--headless", "--", "sleep", "60")
    pid = mgtop.target_pid()
    time.sleep(0.2)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=8)
    assert process.returncode == 130, stderr
    assert not is_running(pid)
    folder = last_line(stdout)
    exits = [r for r in records_of(folder) if isinstance(r, TargetExit)]
    assert exits[0].signal == number


def test_a_target_that_ends_well_on_interrupt_is_no_failure(mgtop: Machine) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(0))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    process = mgtop.start("run", "--headless", "--", PYTHON, "-c", code)
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=8)
    assert process.returncode == 0


def test_the_command_killed_harms_nobody(mgtop: Machine) -> None:
    (mgtop.folder / "frames.py").write_text(FRAMES)
    process = mgtop.start("run", "--headless", "--", PYTHON, "frames.py", "100")
    pid = mgtop.target_pid()
    process.kill()
    process.wait()
    assert is_running(pid)
    folder = mgtop.sessions()[0]

    def ended() -> bool:
        status = read_status(folder)
        return status is not None and status.state == "ended"

    until(ended)
    assert len([r for r in records_of(folder) if isinstance(r, FrameEmit)]) == 100


def test_the_recorder_killed_is_said_and_the_target_goes_on(mgtop: Machine) -> None:
    code = "import time; print('begin', flush=True); time.sleep(1.5); print('end'); exit(6)"
    process = mgtop.start("run", "--headless", "--", PYTHON, "-c", code)
    mgtop.target_pid()
    status = read_status(mgtop.sessions()[0])
    assert status is not None
    assert status.recorder_pid is not None
    os.kill(status.recorder_pid, signal.SIGKILL)
    _stdout, stderr = process.communicate(timeout=9)
    assert process.returncode == 4
    assert stderr.count("The recorder ended unexpectedly") == 1
    assert "failed with exit code 6" in stderr  # it came to us when its parent died
    assert "end\n" in stderr  # its output is still passed on


def test_a_full_disk_is_said_and_the_target_goes_on(mgtop: Machine) -> None:
    (mgtop.folder / "frames.py").write_text(FRAMES)
    process = mgtop.start("run", "--headless", "--", PYTHON, "frames.py", "120")
    mgtop.target_pid()
    folder = mgtop.sessions()[0]
    status = read_status(folder)
    assert status is not None
    assert status.recorder_pid is not None
    limit = (folder / "session.log").stat().st_size + 4000
    resource.prlimit(status.recorder_pid, resource.RLIMIT_FSIZE, (limit, limit))
    _stdout, stderr = process.communicate(timeout=9)
    assert process.returncode == 4
    assert stderr.count("cannot write") == 1
    assert "done 120" in stderr


def test_output_that_nobody_reads_does_not_stop_the_target(mgtop: Machine) -> None:
    read_end, write_end = os.pipe()
    code = "for n in range(2000): print('line', n)"
    process = mgtop.start(
        "run", "--headless", "--", PYTHON, "-c", code, stderr=write_end, stdout=subprocess.PIPE
    )
    os.close(write_end)
    os.close(read_end)
    stdout, _ = process.communicate(timeout=9)
    assert process.returncode == 0
    assert (last_line(stdout) / "stdout.log").read_text().endswith("line 1999\n")


def test_ls_and_stop(mgtop: Machine) -> None:
    assert "No sessions yet" in mgtop.run("ls").stdout
    mgtop.run("run", "--headless", "--name", "old", "--", "true")
    live = mgtop.start("run", "--headless", "--name", "new", "--", "sleep", "60")
    until(lambda: len(mgtop.sessions()) == 2)
    pid = until(lambda: next((s.target_pid for f in mgtop.sessions() if "new" in f.name
                              and (s := read_status(f))), None))  # fmt: skip
    lines = mgtop.run("ls").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["STATE", "live", "ended"]
    listed = json.loads(mgtop.run("ls", "--json").stdout)["sessions"]
    assert (listed[0]["live"], listed[0]["target_pid"]) == (True, pid)
    assert listed[1]["duration_ms"] is not None
    done = mgtop.run("stop", "new")
    assert (done.returncode, "the program goes on" in done.stdout) == (0, True)
    assert is_running(pid)
    assert live.poll() is None  # it stands in for the program, which goes on
    done = mgtop.run("stop", "new", "--target")
    assert (done.returncode, "was stopped" in done.stdout) == (0, True)
    assert not is_running(pid)
    live.communicate(timeout=8)
    assert mgtop.run("stop", "old").returncode == 0
    assert mgtop.run("stop", "nothing-like-it").returncode == 2


def test_stop_with_target_of_a_live_session(mgtop: Machine) -> None:
    live = mgtop.start("run", "--headless", "--name", "new", "--", "sleep", "60")
    pid = mgtop.target_pid()
    done = mgtop.run("stop", "new", "--target")
    assert done.returncode == 0, done.stderr
    assert not is_running(pid)
    live.communicate(timeout=8)
    assert live.returncode == 0  # somebody wanted it so


def test_as_pid_1_orphans_are_reaped(mgtop: Machine) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system allows no pid namespaces")
    # A daemon that ends after its parent: someone has to collect it.
    script = "(sleep 0.2 &) ; sleep 0.8; ps -o stat= -e | grep -c Z; exit 0"
    done = subprocess.run(
        [*unshare, PYTHON, "-m", "mgtop", "run", "--headless", "--", "sh", "-c", script],
        cwd=mgtop.folder, env=mgtop.env, capture_output=True, text=True, timeout=20, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("0\n")


def test_gates_decide_the_exit_code(mgtop: Machine) -> None:
    (mgtop.folder / "frames.py").write_text(FRAMES)
    command = ["--", PYTHON, "frames.py", "30"]
    done = mgtop.run("run", "--headless", "--gate", "interval_ms.p50 < 2000", *command)
    assert (done.returncode, "met: interval_ms.p50" in done.stderr) == (0, True)
    done = mgtop.run("run", "--headless", "--gate", "interval_ms.p50 < 1", *command)
    assert (done.returncode, "not met: interval_ms.p50" in done.stderr) == (1, True)
    assert last_line(done.stdout).is_dir()
    unknown = mgtop.run("run", "--headless", "--gate", "interval_ms.p50 < 1", "--", "true")
    assert (unknown.returncode, "not known" in unknown.stderr) == (1, True)
    failed = mgtop.run("run", "--headless", "--gate", "interval_ms.p50 < 1", "--", "false")
    assert (failed.returncode, "not evaluated" in failed.stderr) == (3, True)


def test_a_target_that_dies_at_once_can_be_reported(mgtop: Machine) -> None:
    mgtop.run("run", "--headless", "--name", "dies", "--", "sh", "-c", "exit 9")
    done = mgtop.run("report", "dies", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["target"]["exit_code"] == 9
    assert report["session"]["live"] is False
    assert report["environment"]["kernel"]
    assert report["interval_ms"]["p50"] is None
