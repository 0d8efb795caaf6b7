"""Frames seen at sinks, through the model: what counts, in which blocks, and what is said of it."""

from __future__ import annotations

from mgtop.analysis.model import Model
from mgtop.analysis.outputs import FROM_SINKS
from mgtop.config.structs import AnalysisSettings, Warmup
from mgtop.wire import records as r

MS = 1_000_000
S = 1_000 * MS
WRITE = r.SPAN_NAMES.index("write")
FORWARD = r.SPAN_NAMES.index("forward")
PROC = (1_000 << 22) | 77  # began 10 s after boot
START = 10 * S
SETTINGS = AnalysisSettings(warmup=Warmup(requests=0, emits=2))


class Program:
    """A program's events, one call of a sink after another."""

    def __init__(self, at_ms: float = 20_000) -> None:
        self.at = START + int(at_ms * MS)
        self.seq = 0
        self.records: list[r.AnyRecord] = [
            r.SessionStart(START, 0, 1, "", "", {}, {"warmup": {"requests": 0, "emits": 2}})
        ]
        self._calls: dict[int, int] = {}

    def _head(self) -> tuple[int, int, int, int]:
        self.seq += 1
        return self.at, self.seq, PROC, 77

    def opened(self, request: int, sink: str = "cv2.VideoWriter", whole: bool = False) -> None:
        """An output that takes frames of 832 x 480 at 16 fps."""
        params = {"width": 832, "height": 480, "fps": 16.0}
        self.records.append(r.Sink(*self._head(), request, sink, whole, params))

    def writes(self, request: int, after_ms: float, lasting_ms: float = 4, count: int = 1) -> None:
        """A call begins so long after the last event, and takes frames."""
        self.at += int((after_ms + lasting_ms) * MS)
        number = self._calls.get(request, 0)
        self._calls[request] = number + 1
        span = r.Span(*self._head(), request, number, WRITE, int(lasting_ms * MS))
        self.at += 2_000
        self.records += [
            span,
            r.FrameEmit(*self._head(), request, number * count, number, count, FROM_SINKS),
        ]

    def computes(self, lasting_ms: float) -> None:
        """A step of the model."""
        self.at += int(lasting_ms * MS)
        self.records.append(r.Span(*self._head(), 0, -1, FORWARD, int(lasting_ms * MS)))

    def ended(self, request: int) -> None:
        """The writer is released."""
        self.records.append(r.StreamEnd(*self._head(), request))

    def model(self) -> Model:
        """The analysis of all that."""
        model = Model(SETTINGS)
        model.feed_all(self.records)
        model.finish()
        return model


def test_a_clip_written_afterwards_has_frames_and_no_rate():
    program = Program()
    program.opened(1)
    for _ in range(200):
        program.writes(1, after_ms=2)
    program.ended(1)
    found = program.model().summary()
    (request,) = found.requests
    assert (request.frames, request.blocks, request.landed) == (200, 200, "batch")
    assert found.fps is None
    assert found.interval_ms.count == found.tails.count == 0
    assert found.playout.target_fps is None
    assert request.interval_ms.p50 is None
    (sink,) = found.sinks
    assert (sink.name, sink.landed) == ("cv2.VideoWriter", "batch")
    assert (sink.outputs, sink.frames) == (1, 200)
    assert abs(sink.inside_ms - 800) < 1
    assert found.verdict.code == "undecided"
    assert "were written after they were made (cv2.VideoWriter)" in found.verdict.text
    assert "200 frames" in found.verdict.text


def test_frames_written_as_they_are_made_have_a_rate_and_tails():
    program = Program()
    program.opened(1)
    for i in range(100):
        program.writes(1, after_ms=300 if i == 50 else 50)
    found = program.model().summary()
    (request,) = found.requests
    assert (request.frames, request.landed, request.sink) == (100, "live", "cv2.VideoWriter")
    assert request.params == {"width": 832, "height": 480, "fps": 16.0}
    assert found.fps is not None
    assert abs(found.fps - 1000 / (54 + 250 / 98)) < 0.1
    assert found.tails.count == 1
    assert found.playout.target_fps == 16


def test_a_slow_call_is_named_output():
    program = Program()
    program.opened(1)
    for i in range(100):
        program.writes(1, after_ms=50, lasting_ms=304 if i == 60 else 4)
    found = program.model().summary()
    (tail,) = found.tails.frames
    assert (tail.index, tail.cause) == (60, "output")


def test_blocks_are_put_together():
    program = Program()
    program.opened(1)
    for block in range(20):
        for i in range(9 if block == 0 else 12):
            program.writes(1, after_ms=1 if i else 600, lasting_ms=3)
    program.ended(1)
    found = program.model().summary()
    (request,) = found.requests
    assert (request.frames, request.blocks, request.landed) == (9 + 19 * 12, 20, "live")
    assert list(found.interval_ms_by_count) == ["12"]
    assert found.interval_ms.p50 is not None
    assert abs(found.interval_ms.p50 - (600 + 11 + 36)) < 1
    assert found.tails.count == 0


def test_a_late_block_is_one_tail():
    program = Program()
    program.opened(1)
    for block in range(40):
        for i in range(4):
            program.writes(1, after_ms=0.5 if i else 900 if block == 30 else 200, lasting_ms=1)
    found = program.model().summary()
    assert [tail.emit for tail in found.tails.frames] == [30]
    assert found.tails.frames[0].index == 120


def test_the_answer_does_not_depend_on_when_somebody_asks():
    program = Program()
    program.opened(1)
    for _ in range(30):
        for i in range(4):
            program.writes(1, after_ms=0.5 if i else 200, lasting_ms=1)
    for _ in range(300):
        program.writes(2, after_ms=2)
    asked = Model(SETTINGS)
    for record in program.records:
        asked.feed(record)
        asked.summary()
    asked.finish()
    assert asked.summary() == program.model().summary()


def test_few_frames_are_undecided_and_said_so():
    program = Program()
    program.opened(1)
    for _ in range(5):
        program.writes(1, after_ms=50)
    found = program.model().summary()
    assert found.requests[0].landed == "undecided"
    assert found.fps is None
    assert "5 frames" in found.verdict.text


def test_a_clip_in_one_call_is_batch_however_it_is_timed():
    program = Program()
    for request in range(1, 5):
        program.at += 30 * S
        program.opened(request, "diffusers.export_to_video", whole=True)
        program.writes(request, after_ms=1, lasting_ms=2_000, count=81)
        program.ended(request)
    found = program.model().summary()
    assert [request.landed for request in found.requests] == ["batch"] * 4
    assert found.sinks[0].frames == 4 * 81
    assert found.fps is None


def test_live_and_batch_stand_apart():
    """A stream to a viewer, and the recording of it written at the end."""
    program = Program()
    program.opened(1, "starlette WebSocket")
    for _ in range(60):
        program.writes(1, after_ms=60, lasting_ms=1)
    program.ended(1)
    alone = program.model().summary()
    program.opened(2, "imageio (FFMPEG)")
    for _ in range(60):
        program.writes(2, after_ms=1, lasting_ms=5)
    found = program.model().summary()
    assert [(sink.name, sink.landed) for sink in found.sinks] == [
        ("imageio (FFMPEG)", "batch"),
        ("starlette WebSocket", "live"),
    ]
    assert found.fps == alone.fps
    assert found.interval_ms == alone.interval_ms


def test_the_models_spans_tell_that_its_work_is_over():
    program = Program(at_ms=10)
    for _ in range(25):
        program.computes(40)
    program.opened(1)
    for _ in range(400):
        program.writes(1, after_ms=8)
    found = program.model().summary()
    assert found.requests[0].landed == "batch"


def test_the_models_spans_tell_that_it_goes_on():
    program = Program()
    program.opened(1)
    for _ in range(40):
        program.computes(8)
        program.writes(1, after_ms=4)
    found = program.model().summary()
    assert found.requests[0].landed == "live"


def test_the_probe_is_believed_before_sinks():
    program = Program()
    program.opened(2)
    for i in range(40):
        program.writes(2, after_ms=50)
        program.records.append(r.FrameEmit(*program._head(), 1, i, i, 1, 0))
    found = program.model().summary()
    assert found.target.route == "probe"
    assert [request.frames for request in found.requests] == [40]
    assert found.sinks == []


def test_calls_that_were_lost_leave_their_interval_unknown():
    program = Program()
    program.opened(1)
    for _ in range(30):
        for i in range(4):
            program.writes(1, after_ms=0.5 if i else 200, lasting_ms=1)
    lost = [
        record
        for record in program.records
        if not (isinstance(record, r.FrameEmit) and 88 <= record.emit < 92)
    ]
    model = Model(SETTINGS)
    model.feed_all(lost)
    model.finish()
    found = model.summary()
    assert found.requests[0].frames == 120
    assert found.requests[0].unknown_intervals >= 1
    assert found.tails.count == 0
