"""``python -m mgtop.session FOLDER RETENTION``: keeps a session's log small, once.

The recorder starts it when a file of the log is finished. It runs only where nobody else wants the
core, compacts finished files, and drops what the configuration says (``RETENTION``, as JSON).
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from mgtop.config.structs import Retention
from mgtop.session.compact import alone, compact_finished
from mgtop.session.priority import give_way
from mgtop.session.retention import keep_to


def main(folder: Path, retention: Retention) -> int:
    """Do it; 1 where it could not be done, and all is as it was."""
    try:
        keep_to(folder, retention)  # first: it may make the room that compacting needs
        with alone(folder):
            compact_finished(folder)
        keep_to(folder, retention)
    except OSError as error:
        print(f"{folder}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    give_way()
    sys.exit(main(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Retention)))
