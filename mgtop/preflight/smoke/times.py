"""Where the time of the first and of the second frame went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mgtop.preflight.smoke.output_lines import OutputLine
from mgtop.preflight.smoke.result import FrameTimes
from mgtop.preflight.smoke.seen import Seen
from mgtop.record.textlog_lines import duration_ns
from mgtop.record.textlog_stages import parse_stages
from mgtop.wire.records import (
    FIRST_FREE_NAME,
    ROUTES,
    SPAN_NAMES,
    AnyRecord,
    FrameEmit,
    Load,
    Name,
    RequestReceived,
    Span,
    TargetStart,
)

_FORWARD = ("forward",)
_POST = ("vae_decode", "postprocess", "encode", "write")


class Times(NamedTuple):
    """Both frames, and where the figures come from or why some are missing."""

    cold: FrameTimes
    warm: FrameTimes
    note: str


class _Frame(NamedTuple):
    """From when to when a frame was worked for."""

    begin_ns: int
    end_ns: int


def frame_times(
    records: Sequence[AnyRecord],
    lines: Sequence[OutputLine],
    seen: Sequence[Seen],
    written_ns: int | None,
) -> Times:
    """LOAD, FWD, POST and TOTAL of the first and of the second frame.

    Args:
        records: of the session.
        lines: of the program's output.
        seen: what was seen from inside.
        written_ns: when the output file was last written, on the monotonic clock; stands for
            the first frame where no frame was told of. None: not known.
    """
    stages = _stage_lines(lines)
    start_ns = next((one.t_ns for one in records if isinstance(one, TargetStart)), None)
    frames = _frames(records, start_ns)
    told = bool(frames)
    if stages and _route(records) in (None, ROUTES.index("log")):
        results = [_of_stages(found, total) for found, total in stages[:2]]
        return Times(
            results[0],
            results[1] if len(results) > 1 else FrameTimes(),
            "from the program's own lines of stages",
        )
    if not frames and start_ns is not None:
        frames = _pictures(seen, start_ns, written_ns)
    spans = _spans(records)
    calls = [(one.begin_ns, one.end_ns) for one in seen if one.what == "call"]
    notes: list[str] = []
    results = []
    for number, frame in enumerate(frames[:2]):
        fwd, post = _work(frame, spans, calls, notes)
        load = _load_ms(records, seen, start_ns, frame, notes) if number == 0 else None
        total = (frame.end_ns - frame.begin_ns) / 1e6
        results.append(FrameTimes(load_ms=load, fwd_ms=fwd, post_ms=post, total_ms=total))
    if not told:
        notes.append(_no_frames(len(results)))
    if len(results) == 1:
        notes.append("there was no second frame")
    if any(one.what == "compiled" for one in seen) and not spans and calls == []:
        notes.append("the model is compiled, so its calls were not timed")
    results += [FrameTimes()] * (2 - len(results))
    return Times(results[0], results[1], "; ".join(dict.fromkeys(notes)))


def _frames(records: Sequence[AnyRecord], start_ns: int | None) -> list[_Frame]:
    """The first two emits of the best route that told of any, with their beginnings."""
    best = _route(records)
    emits = [one for one in records if isinstance(one, FrameEmit) and one.route == best]
    emits.sort(key=lambda one: one.t_ns)
    received = {
        (one.proc, one.request): one.t_ns
        for one in records
        if isinstance(one, RequestReceived) and one.route == best
    }
    frames: list[_Frame] = []
    for one in emits[:2]:
        begin = received.get((one.proc, one.request))
        if not frames:
            begin = start_ns if start_ns is not None else begin  # cold: with all that comes first
        elif begin is None or begin < frames[-1].end_ns:
            begin = frames[-1].end_ns
        if begin is not None:
            frames.append(_Frame(begin, one.t_ns))
    return frames


def _route(records: Sequence[AnyRecord]) -> int | None:
    """The best route that told of frames; None: none did."""
    return min((one.route for one in records if isinstance(one, FrameEmit)), default=None)


def _pictures(seen: Sequence[Seen], start_ns: int, written_ns: int | None) -> list[_Frame]:
    """Frames of a program that tells of none: each ends where its picture's file is opened.

    Where no picture, or one alone, was seen to be opened: one frame, until the output file was
    last written.
    """
    opened = [one.t_ns for one in seen if one.what == "writing" and one.t_ns > start_ns]
    if len(opened) > 1:
        return [_Frame(start_ns, opened[0]), _Frame(opened[0], opened[1])]
    if written_ns is None or written_ns <= start_ns:
        return []
    return [_Frame(start_ns, written_ns)]


def _no_frames(count: int) -> str:
    if not count:
        return "no frame was told of, and no output was written"
    if count > 1:
        return "no frame was told of, so a frame ends where the file of its picture is opened"
    return "no frame was told of, so TOTAL is from the start to the output file's last write"


def _spans(records: Sequence[AnyRecord]) -> list[tuple[str, int, int]]:
    """(name, begin, end) of all spans, in ns."""
    names = {(one.proc, one.id): one.text for one in records if isinstance(one, Name)}

    def name_of(span: Span) -> str:
        if span.name < min(FIRST_FREE_NAME, len(SPAN_NAMES)):
            return SPAN_NAMES[span.name]
        return names.get((span.proc, span.name), "")

    return [
        (name_of(one), one.t_ns - one.duration_ns, one.t_ns)
        for one in records
        if isinstance(one, Span)
    ]


def _work(
    frame: _Frame,
    spans: Sequence[tuple[str, int, int]],
    calls: Sequence[tuple[int, int]],
    notes: list[str],
) -> tuple[float | None, float | None]:
    """FWD and POST of a frame: by spans, else by the model's outermost calls."""

    def within(begin: int, end: int) -> bool:
        return frame.begin_ns <= begin and end <= frame.end_ns

    def sum_of(wanted: Callable[[str], bool]) -> float | None:
        found = [end - begin for name, begin, end in spans if wanted(name) and within(begin, end)]
        return sum(found) / 1e6 if found else None

    fwd, post = sum_of(lambda name: name in _FORWARD), sum_of(lambda name: name in _POST)
    if fwd is not None:
        notes.append("from the program's spans, with the GPU waited for at their borders")
        return fwd, post
    inside = [(begin, end) for begin, end in calls if within(begin, end)]
    if not inside:
        notes.append("no span and no call of a model was seen, so FWD and POST are not known")
        return None, post
    notes.append(
        "FWD is the time in outermost calls of torch modules "
        f"({len(inside)} for this frame), POST what follows the last of them; "
        "the GPU was waited for at their borders"
    )
    fwd = sum(end - begin for begin, end in inside) / 1e6
    after = (frame.end_ns - max(end for _, end in inside)) / 1e6
    return fwd, post if post is not None else after


def _load_ms(
    records: Sequence[AnyRecord],
    seen: Sequence[Seen],
    start_ns: int | None,
    frame: _Frame,
    notes: list[str],
) -> float | None:
    done = next((one for one in records if isinstance(one, Load) and one.done), None)
    if done is not None and done.t_ns <= frame.end_ns:
        begun = [
            one.t_ns
            for one in records
            if isinstance(one, Load) and not one.done and one.t_ns <= done.t_ns
        ]
        if begun:
            return (done.t_ns - begun[0]) / 1e6
        if start_ns is not None:
            notes.append("LOAD is from the start of the process to load_done")
            return (done.t_ns - start_ns) / 1e6
    loads = [one for one in seen if one.what == "loaded" and one.end_ns <= frame.end_ns]
    if loads:
        notes.append("LOAD is the time in torch.load and safetensors")
        return sum(_merged([(one.begin_ns, one.end_ns) for one in loads])) / 1e6
    notes.append("LOAD is not known: no load was reported")
    return None


def _merged(pieces: Sequence[tuple[int, int]]) -> list[int]:
    """Lengths of the union of intervals: a load within a load is counted once."""
    lengths, last = [], 0
    for begin, end in sorted(pieces):
        begin = max(begin, last)
        if end > begin:
            lengths.append(end - begin)
            last = end
    return lengths


def _stage_lines(lines: Sequence[OutputLine]) -> list[tuple[dict[str, str], int]]:
    return [found for line in lines if (found := parse_stages(line.text)) is not None]


def _of_stages(stages: dict[str, str], total_ns: int) -> FrameTimes:
    def ms(name: str) -> float | None:
        found = duration_ns(stages[name]) if name in stages else None
        return None if found is None else found / 1e6

    return FrameTimes(
        load_ms=ms("load"),
        fwd_ms=ms("forward"),
        post_ms=ms("postprocess"),
        total_ms=total_ns / 1e6,
    )
