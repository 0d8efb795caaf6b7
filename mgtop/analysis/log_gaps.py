"""Time that is not in the log any more: figures and words."""

from __future__ import annotations

from collections.abc import Iterable

from mgtop.analysis.summary import LogGap
from mgtop.analysis.wording import duration
from mgtop.wire import records as r

_MIB = 1 << 20
_WHY = {
    "retention": "dropped by retention",
    "missing": "is not there: a file of the log is missing",
    "damaged": "cannot be read: a file of the log has lost its end",
}
_FIRST_MS = 1_000.0


def log_gaps(gaps: Iterable[r.LogGap], start_ns: int) -> list[LogGap]:
    """The gaps of a log, in order of time, each piece of time once; from ``start_ns`` on."""
    found: list[LogGap] = []
    told_ns = start_ns
    for gap in sorted(gaps, key=lambda gap: (gap.t_ns, gap.until_ns)):
        begin_ns = max(gap.t_ns, told_ns)
        if gap.until_ns > begin_ns:
            found.append(
                LogGap(
                    begin_ms=(begin_ns - start_ns) / 1e6,
                    end_ms=(gap.until_ns - start_ns) / 1e6,
                    reason=gap.reason,
                    mib=None if gap.bytes is None else gap.bytes / _MIB,
                )
            )
            told_ns = gap.until_ns
    return found


def begin_of(records: Iterable[r.AnyRecord]) -> list[LogGap]:
    """What is missing before the first record of a log."""
    gaps: list[r.LogGap] = []
    for record in records:
        if not isinstance(record, r.LogGap):
            break
        gaps.append(record)
    return log_gaps(gaps, gaps[0].t_ns) if gaps else []


def told(gap: LogGap) -> str:
    """One sentence: ``the first 3 h 12 min were dropped by retention``."""
    why = _WHY.get(gap.reason, gap.reason)
    were = f"were {why}" if gap.reason == "retention" else why
    if gap.begin_ms < _FIRST_MS:
        return f"the first {duration(gap.end_ms)} {were.replace('is not', 'are not')}"
    return f"{duration(gap.begin_ms)} to {duration(gap.end_ms)} {were}"
