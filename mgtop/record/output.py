"""The target's output: how long the file was when, lines that tell something, and frames."""

from __future__ import annotations

from pathlib import Path

from mgtop.record.output_file import GrowingFile
from mgtop.record.output_messages import Messages
from mgtop.record.textlog import TextLog
from mgtop.wire.records import OutputAt, Record, SourceState

OUTPUT_FILE = "stdout.log"
LENGTH_PERIOD_NS = 100_000_000
POLL_PERIOD_NS = 20_000_000
HEAD_BYTES = 256 << 10
TAIL_BYTES = 4 << 20
"""What of an existing log is looked at for the requests that it is about."""


class OutputTail:
    """Follows a text file that the target writes, as it grows.

    Args:
        path: the file.
        frames: parser for lines that tell of frames; None: they are not looked for.
        lengths: also record how long the file was when (of ``stdout.log`` alone).
    """

    def __init__(self, path: Path, *, frames: TextLog | None = None, lengths: bool = True) -> None:
        self._file = GrowingFile(path)
        self._messages = Messages()
        self._frames = frames
        self._lengths = lengths
        self._length = 0
        self._next_length_ns = 0

    @property
    def skipped_bytes(self) -> int:
        """Output that was not looked at, since it came faster than it could be read."""
        return self._file.skipped_bytes

    @property
    def events(self) -> int:
        """Lines so far that told of frames or their requests."""
        return self._frames.events if self._frames is not None else 0

    def begin_at_end(self) -> int:
        """Pass over what is there; return how many lines of it told of frames.

        The requests that they speak of are remembered: the next line goes on with them.
        """
        head, tail = self._file.go_to_end(HEAD_BYTES, TAIL_BYTES)
        return self._frames.remember(head + tail) if self._frames is not None else 0

    def poll(self, now_ns: int, *, final: bool = False, frames: bool = True) -> list[Record]:
        """The new length (at most ten times a second), and what the new lines tell.

        ``frames`` False: lines about frames are passed by this time.
        """
        records: list[Record] = []
        lines = self._file.poll(now_ns, final=final)
        if self._frames is not None and frames:
            for line in lines:
                records += self._frames.line(line.text, now_ns)
        records += self._messages.take(lines, now_ns, final=final)
        length = self._file.length
        if self._lengths and length != self._length and (final or now_ns >= self._next_length_ns):
            self._length = length
            self._next_length_ns = now_ns + LENGTH_PERIOD_NS
            records.append(OutputAt(t_ns=now_ns, offset=length))
        return records

    def states(self, now_ns: int) -> list[SourceState]:
        """The log as a source, once it has told of frames."""
        return [log_state(now_ns)] if self.events else []

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def log_state(now_ns: int) -> SourceState:
    """A log that is read and tells of frames."""
    return SourceState(
        t_ns=now_ns,
        source="log",
        state="ok",
        period_ns=POLL_PERIOD_NS,
        covered_ns=now_ns - POLL_PERIOD_NS,
    )
