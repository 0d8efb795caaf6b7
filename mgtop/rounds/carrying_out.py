"""Carrying out an order from its folder to its exit code."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from mgtop.config.errors import ConfigError
from mgtop.record.launch import LaunchError
from mgtop.rounds.one_round import Stopped
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.results import result_of
from mgtop.rounds.runner import Runner, SmokeFailed
from mgtop.rounds.state import State, hold
from mgtop.rounds.sweep import run_sweep
from mgtop.rounds.sweep_text import short
from mgtop.session.writer import SessionWriteError

DONE, NOT_MET, USAGE, TARGET_FAILED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes, as of all commands."""


def carry_out(
    folder: Path,
    state: State,
    prepared: Prepared,
    say: Callable[[str], object] = lambda line: None,
) -> int:
    """Run all rounds that are left; return the exit code, which is in the state as well.

    SIGINT, SIGTERM and SIGHUP stop the round that runs and keep the others.

    Raises:
        SessionBusy: another process runs these rounds.
        SessionWriteError: the state cannot be written.
    """
    out = Path(prepared.order.out) if prepared.order.out is not None else None
    with hold(folder):
        runner = Runner(folder, state, prepared, out, say)
        state.message, state.exit_code = "", None
        with _stopping(runner):
            code, message = _run(runner)
        state.exit_code, state.message = code, message
        if state.status == "running":
            runner.finish("stopped" if code == INTERRUPTED else "failed")
        else:
            runner.finish(state.status)
    return code


def _run(runner: Runner) -> tuple[int, str]:
    """Exit code and what to say of it."""
    prepared = runner.prepared
    try:
        if prepared.order.kind == "fallback":
            from mgtop.rounds.fallback import run_fallback

            return run_fallback(runner), ""
        run_sweep(runner)
    except Stopped:
        return INTERRUPTED, ""
    except SmokeFailed as error:
        return NOT_MET, f"the smoke test failed, so no round was run: {error}"
    except LaunchError as error:
        return error.code, str(error)
    except (ConfigError, SessionWriteError) as error:
        return (NOT_WRITTEN if isinstance(error, SessionWriteError) else USAGE), str(error)
    result = result_of(runner.state, prepared.variables)
    runner.state.result = short(result)
    return _code(runner, prepared)


def _code(runner: Runner, prepared: Prepared) -> tuple[int, str]:
    rows = [found.row for found in runner.state.rounds if found.row is not None]
    if not any(row.has_figures or row.oom for row in rows):
        why = next((row.note for row in rows if row.note), "")
        return TARGET_FAILED, f"no round gave figures: {why}" if why else "no round gave figures"
    if prepared.gates and all(row.gates or not row.has_figures for row in rows):
        unmet = next((row.gates[0] for row in rows if row.gates), "no round gave figures")
        return NOT_MET, f"no setting meets all gates; {unmet}"
    return DONE, ""


@contextlib.contextmanager
def _stopping(runner: Runner) -> Iterator[None]:
    """Signals that ask for an end are passed on to the runner."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        runner.stop.set()

    before = {}
    with contextlib.suppress(ValueError):  # not the main thread: whoever called sees to it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
