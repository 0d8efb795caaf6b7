"""Stages, memory and late frames of a session on one time axis, and which came before which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mgtop.analysis.causes import letter_of
from mgtop.analysis.stages import Stages
from mgtop.analysis.summary import Tail
from mgtop.report.numbers import plural
from mgtop.rounds.bootstrap import median
from mgtop.rounds.reading import read_session
from mgtop.rounds.wording import significant
from mgtop.session.reader import LogReader
from mgtop.wire import records as r

COLUMNS = 64
STAGE_LETTERS = {"load": "l", "idle": "·", "first_frame": "F", "steady": "s"}
_LEVELS = "▁▂▃▄▅▆▇█"
MIB = 1 << 20


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in late frames, and how long before their ends it began, ms (median)."""

    channel: str
    frames: int
    lead_ms: float | None


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """The picture of a session, one character a column.

    Attributes:
        seconds: length of the axis.
        stages: ``l`` loading, ``·`` idle, ``F`` first frame, ``s`` steady.
        memory: filled in eighths of the largest value; a space where there was no reading.
        memory_source: whose memory it is; ``memory_mib``: least and largest value.
        tails: the letter of the cause where late frames ended, ``?`` for unexplained.
        by_stage: late frames by the stage that they fell in.
        before: what came before the late frames, the most frequent first.
        text: that in a sentence.
    """

    seconds: float
    stages: str
    memory: str
    memory_source: str | None
    memory_mib: tuple[float, float] | None
    tails: str
    by_stage: dict[str, int]
    before: list[Before]
    text: str

    def lines(self) -> list[str]:
        """The picture with its labels."""
        source = "n/a: none was read"
        if self.memory_mib is not None:
            low, high = self.memory_mib
            source = f"{self.memory_source}, {significant(low)} to {significant(high)} MiB"
        return [
            f"stage   {self.stages}",
            f"memory  {self.memory}",
            f"late    {self.tails}",
            f"        0 s{f'{self.seconds:.1f} s':>{max(1, len(self.stages) - 3)}}",
            "stage: l load, F first frame, s steady, · idle; late: the letter of the cause",
            f"memory: {source}",
        ]


def overlay(folder: Path, columns: int = COLUMNS) -> Overlay:
    """The overlay of a recorded session."""
    log = _Log()
    reader = LogReader(folder)
    while True:
        for record in reader.poll():
            log.feed(record)
        if reader.at_end:
            break
    tails = read_session(folder).summary.tails.frames
    begin, end = log.begin_ns or 0, max(log.end_ns, (log.begin_ns or 0) + 1)
    step = (end - begin) / columns
    ends = [begin + round(tail.t_ms * 1e6) for tail in tails]
    before = _before(tails)
    by_stage = Counter(log.stage_at(t_ns) for t_ns in ends)
    source, memory = log.memory()
    levels, span = _levels(memory, begin, step, columns)
    return Overlay(
        seconds=(end - begin) / 1e9,
        stages="".join(
            STAGE_LETTERS[log.stage_at(round(begin + (column + 0.5) * step))]
            for column in range(columns)
        ),
        memory=levels,
        memory_source=source,
        memory_mib=span,
        tails=_letters(tails, ends, begin, step, columns),
        by_stage=dict(by_stage),
        before=before,
        text=_sentence(before, by_stage, len(tails)),
    )


class _Log:
    """Stages and memory as they come."""

    def __init__(self) -> None:
        self.begin_ns: int | None = None
        self.end_ns = 0
        self._stages = Stages()
        self._turns: list[tuple[int, str]] = []
        self._process: dict[tuple[int, int], int] = {}
        self._readings: dict[str, list[tuple[int, float]]] = {}

    def feed(self, record: r.AnyRecord) -> None:
        if self.begin_ns is None:
            self.begin_ns = record.t_ns
        self.end_ns = max(self.end_ns, record.t_ns)
        self._stages.feed(record)
        stage = self._stages.current
        if not self._turns or self._turns[-1][1] != stage:
            self._turns.append((record.t_ns, stage))
        if isinstance(record, r.GpuProcess) and record.relation == "target":
            self._process[record.gpu, record.pid] = record.used_bytes or 0
            used = sum(self._process.values())
            self._add("GPU memory of the program", record.t_ns, used)
        elif isinstance(record, r.TorchMemory):
            self._add("reserved by torch", record.t_ns, record.reserved_bytes)
        elif isinstance(record, r.HostMemory) and record.tree_rss_bytes is not None:
            self._add("main memory of the program", record.t_ns, record.tree_rss_bytes)

    def _add(self, source: str, t_ns: int, used: int) -> None:
        self._readings.setdefault(source, []).append((t_ns, used / MIB))

    def stage_at(self, t_ns: int) -> str:
        found = "load"
        for began, stage in self._turns:
            if began > t_ns:
                break
            found = stage
        return found

    def memory(self) -> tuple[str | None, list[tuple[int, float]]]:
        for source in (
            "GPU memory of the program",
            "reserved by torch",
            "main memory of the program",
        ):
            if self._readings.get(source):
                return source, self._readings[source]
        return None, []


def _levels(
    readings: Sequence[tuple[int, float]], begin: int, step: float, columns: int
) -> tuple[str, tuple[float, float] | None]:
    """The largest reading of each column; one that does not change is not written again."""
    if not readings:
        return " " * columns, None
    highest: list[float | None] = [None] * columns
    for t_ns, mib in readings:
        column = min(columns - 1, max(0, int((t_ns - begin) / step)))
        highest[column] = max(mib, highest[column] or 0.0)
    top = max(mib for _, mib in readings) or 1.0
    last: float | None = None
    cells = []
    for value in highest:
        last = value if value is not None else last
        level = " " if last is None else _LEVELS[min(7, max(0, round(8 * last / top) - 1))]
        cells.append(level)
    return "".join(cells), (min(mib for _, mib in readings), top)


def _letters(
    tails: Sequence[Tail], ends: Sequence[int], begin: int, step: float, columns: int
) -> str:
    cells = [" "] * columns
    for tail, t_ns in zip(tails, ends, strict=True):
        column = min(columns - 1, max(0, int((t_ns - begin) / step)))
        cells[column] = letter_of(tail.cause).strip() or "!"
    return "".join(cells)


def _before(tails: Sequence[Tail]) -> list[Before]:
    leads: dict[str, list[float | None]] = {}
    for tail in tails:
        for evidence in tail.evidence:
            if evidence.state == "present":
                leads.setdefault(evidence.channel, []).append(evidence.lead_ms)
    found = []
    for channel, values in leads.items():
        known = [value for value in values if value is not None]
        lead = median(known) if known else None
        found.append(Before(channel=channel, frames=len(values), lead_ms=lead))
    found.sort(key=lambda item: (-item.frames, -(item.lead_ms or 0.0), item.channel))
    return found


def _sentence(before: Sequence[Before], by_stage: Counter[str], count: int) -> str:
    if not count:
        return "no late frame was recorded"
    parts = [
        f"{item.channel} in {item.frames} of {plural(count, 'late frame')}"
        + (
            f", beginning {significant(item.lead_ms)} ms before its end"
            if item.lead_ms is not None
            else ""
        )
        for item in before[:3]
    ]
    stages = ", ".join(f"{n} in {stage.replace('_', ' ')}" for stage, n in by_stage.most_common())
    came = "; ".join(parts) if parts else "no channel saw anything before them"
    return f"before the late frames: {came}. They stand: {stages}"
