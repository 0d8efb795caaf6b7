"""What a configuration says about frames in text logs."""

from __future__ import annotations

import re

from mgtop.config.structs import Frames, LogPattern
from mgtop.record.textlog import TextLog

GROUPS = frozenset({"event", "request", "index", "t_ms", "dt_ms", "count"})


class BadPattern(ValueError):
    """``frames.log.pattern`` cannot be used; ``str()`` says why, in words that follow that key."""


def compile_pattern(log: LogPattern | None) -> re.Pattern[str] | None:
    """The user's own pattern for log lines; None: the standard shape is looked for.

    Raises:
        BadPattern: it is no regular expression, or names a group that means nothing.
    """
    if log is None:
        return None
    try:
        pattern = re.compile(log.pattern)
    except re.error as error:
        raise BadPattern(f"is no regular expression: {error}") from None
    unknown = sorted(set(pattern.groupindex) - GROUPS)
    if unknown:
        raise BadPattern(
            f"names the group {unknown[0]!r}, which means nothing; "
            f"there are {', '.join(sorted(GROUPS))}"
        )
    return pattern


def frame_log(frames: Frames, proc: int) -> TextLog | None:
    """A parser for the lines of a running program; None where they are not wanted.

    Raises:
        BadPattern: as above.
    """
    if frames.from_ not in ("auto", "log"):
        return None
    return TextLog(proc=proc, pattern=compile_pattern(frames.log))
