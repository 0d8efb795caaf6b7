"""The command line frame: lazy commands, exit codes, and what is said when things go wrong."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mgtop import __version__
from mgtop.cli import main as frame
from mgtop.cli.errors import UserError

NEVER_FOR_HELP = (
    "textual", "rich", "pynvml", "psutil", "yaml", "plotext", "msgspec", "torch", "av", "numpy",
    "platformdirs", "asyncio", "mgtop.wire", "mgtop.probe",
    "mgtop.analysis", "mgtop.session", "mgtop.config",
)  # fmt: skip


def there() -> list[str]:
    return frame.group.list_commands(click.Context(frame.group))


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=60,
    )


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch):
    """Makes ``mgtop fails`` raise an exception, or return a value."""

    def arrange(outcome: object) -> None:
        @click.command("fails")
        def fails() -> object:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(frame.LazyGroup, "get_command", lambda *_: fails)

    return arrange


def test_help_imports_nothing_heavy():
    done = python(
        "import sys\n"
        "from mgtop.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        f"print([name for name in {NEVER_FOR_HELP!r} if name in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_the_commands_that_are_there(capsys: pytest.CaptureFixture[str]):
    assert frame.run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "report" in there()
    for name, (_, summary) in frame.COMMANDS.items():
        assert (f"  {name} " in shown and summary in shown) == (name in there())


def test_without_arguments_it_helps(capsys: pytest.CaptureFixture[str]):
    assert frame.run([]) == 0
    assert capsys.readouterr().out.startswith("Usage: mgtop")


@pytest.mark.parametrize("name", there())
def test_the_summary_in_the_table_is_the_commands_own(name: str):
    command = frame.group.get_command(click.Context(frame.group), name)
    assert command is not None
    assert command.name == name
    first = (command.help or "").split("\n\n")[0]
    assert " ".join(first.split()) == frame.COMMANDS[name][1]


@pytest.mark.parametrize("name", there())
def test_every_command_helps_with_an_example(name: str, capsys: pytest.CaptureFixture[str]):
    assert frame.run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "xample" in shown
    assert f"mgtop {name}" in shown.split("xample", 1)[1]


def test_version(capsys: pytest.CaptureFixture[str]):
    assert frame.run(["--version"]) == 0
    assert capsys.readouterr().out == f"mgtop {__version__}\n"


def test_an_unknown_command_is_wrong_usage_and_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
):
    assert frame.run(["reprot"]) == 2
    assert "no command 'reprot'. Did you mean report" in capsys.readouterr().err


def test_an_unknown_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]):
    assert frame.run(["report", "--yaml"]) == 2
    assert "--yaml" in capsys.readouterr().err


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_a_user_error_has_its_code_and_one_sentence(
    raising, code: int, capsys: pytest.CaptureFixture[str]
):
    raising(UserError("The sentence.", code))
    assert frame.run(["fails"]) == code
    assert capsys.readouterr().err == "mgtop: The sentence.\n"


def test_a_message_that_quotes_something_endless_is_cut(
    raising, capsys: pytest.CaptureFixture[str]
):
    raising(UserError("There is no 'x" + "x" * 100_000 + "'; look elsewhere."))
    assert frame.run(["fails"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mgtop: There is no 'xx")
    assert said.endswith("xx'; look elsewhere.\n")
    assert len(said) < 1100


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ConfigError", 2),
        ("CannotStop", 2),
        ("SessionNotFound", 2),
        ("SessionAmbiguous", 2),
        ("GateError", 2),
        ("SessionWriteError", 4),
    ],
)
def test_errors_of_lower_packages_are_known_by_name(
    raising, name: str, code: int, capsys: pytest.CaptureFixture[str]
):
    base = type(name, (Exception,), {"__module__": "mgtop.somewhere"})
    raising(type("Special", (base,), {"__module__": "elsewhere"})("What to do."))
    assert frame.run(["fails"]) == code
    assert capsys.readouterr().err == "mgtop: What to do.\n"


def test_a_full_disk_is_a_session_that_could_not_be_written(
    raising, capsys: pytest.CaptureFixture[str]
):
    raising(OSError(28, "No space left on device", "/s/session.log"))
    assert frame.run(["fails"]) == 4
    assert "'/s/session.log': No space left" in capsys.readouterr().err


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), click.Abort()])
def test_interrupted_is_130(raising, interrupt: BaseException, capsys: pytest.CaptureFixture[str]):
    raising(interrupt)
    assert frame.run(["fails"]) == 130
    assert capsys.readouterr().err.endswith("mgtop: interrupted.\n")


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (3, 3), (True, 0), ("text", 0)])
def test_a_command_may_return_its_exit_code(raising, value: object, code: int):
    raising(value)
    assert frame.run(["fails"]) == code


def test_an_internal_error_leaves_its_traceback_in_a_file(
    raising, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("MGTOP_DEBUG", raising=False)
    raising(ValueError("boom\nsecond line"))
    assert frame.run(["fails"]) == 70
    said = capsys.readouterr().err
    (file,) = (tmp_path / "mgtop").iterdir()
    assert said.count("\n") == 1
    assert "ValueError: boom);" in said
    assert str(file) in said
    assert "Traceback" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_debugging_shows_the_traceback(raising, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MGTOP_DEBUG", "1")
    raising(ValueError("boom"))
    with pytest.raises(ValueError, match="boom"):
        frame.run(["fails"])


def test_a_reader_that_went_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mgtop", "--help"],
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_is_no_error(closed: str, tmp_path: Path):
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m mgtop ls {closed}', sys.executable],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("No sessions yet" in done.stdout) == (">&- " not in f"{closed} ".replace("2>&-", ""))
    assert not (tmp_path / "mgtop").exists()


def test_shell_completion_is_offered():
    done = python(
        "from mgtop.cli.main import main; main()",
        _MGTOP_COMPLETE="bash_complete",
        COMP_WORDS="mgtop rep",
        COMP_CWORD="1",
    )
    assert done.stdout.strip() == "plain,report"
