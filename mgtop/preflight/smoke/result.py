"""What a smoke test found; its JSON is what ``mgtop smoke --json`` prints."""

from __future__ import annotations

from typing import Literal

import msgspec

Failure = Literal["no_cuda", "oom", "weights_path", "other"]


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must hold, and what was seen of it, in a sentence."""

    passed: bool
    evidence: str


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """All that must hold for a smoke test to pass.

    ``no_errors``: no line of the output is an error, though the program may have gone on.
    """

    weights_loaded: Criterion
    output_reported: Criterion
    output_valid: Criterion
    exit_zero: Criterion
    no_errors: Criterion

    def unmet(self) -> list[tuple[str, Criterion]]:
        """Those that do not hold, by name, in the order of the fields."""
        pairs = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, criterion) for name, criterion in pairs if not criterion.passed]


class FrameTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time of one frame went, in milliseconds; None: not known.

    Attributes:
        load_ms: loading weights; it belongs to the first frame alone.
        fwd_ms: the model.
        post_ms: what follows it: decoding, postprocessing, writing.
        total_ms: from the beginning (of the process, or of the request) to the frame's output.
    """

    load_ms: float | None = None
    fwd_ms: float | None = None
    post_ms: float | None = None
    total_ms: float | None = None


class SmokeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished smoke test.

    Attributes:
        passed: all criteria hold.
        cold: the first frame, with loading.
        warm: the second frame; all None where there was none.
        failure: why it did not pass; None where it did.
        failure_text: the earliest line that tells why, or a sentence.
        times_note: where the times come from, or why there are none.
        note: what was made smaller for it; empty where the configuration has its own smoke test.
        command: what was run.
        output: the file that was looked at.
        exit_code: of the program; None where a signal ended it.
        session: the folder of the recording.
    """

    passed: bool
    criteria: Criteria
    cold: FrameTimes = FrameTimes()
    warm: FrameTimes = FrameTimes()
    failure: Failure | None = None
    failure_text: str | None = None
    times_note: str = ""
    note: str = ""
    command: list[str] = []
    output: str | None = None
    exit_code: int | None = None
    session: str | None = None
