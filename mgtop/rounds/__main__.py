"""``python -m mgtop.rounds FOLDER``: the rounds of a sweep, apart from the screen that shows them.

The order comes as JSON on standard input, since it may hold secrets that no file should keep.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import msgspec

from mgtop.config.errors import ConfigError
from mgtop.rounds.carrying_out import NOT_WRITTEN, USAGE, carry_out
from mgtop.rounds.preparing import prepare
from mgtop.rounds.state import Order, read_state
from mgtop.session.lock import SessionBusy
from mgtop.session.writer import SessionWriteError


def main() -> int:
    """Carry out the order; return the exit code."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder = Path(sys.argv[1])
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    try:
        prepared = prepare(order)
        state = read_state(folder)
        if state is None or state.order.fingerprint != prepared.order.fingerprint:
            print("the configuration has changed since the sweep was asked for", flush=True)
            return USAGE
        return carry_out(folder, state, prepared, lambda line: print(line, flush=True))
    except (ConfigError, SessionBusy) as error:
        print(error, flush=True)
        return USAGE
    except SessionWriteError as error:
        print(error, flush=True)
        return NOT_WRITTEN


if __name__ == "__main__":
    sys.exit(main())
