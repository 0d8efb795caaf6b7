"""The text log parser against the written shape of the log, and against bad logs."""

from __future__ import annotations

import itertools
import re

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mgtop.record.textlog import LOG_ROUTE, MAX_LINE, TextLog
from mgtop.record.textlog_clock import StatedTime
from mgtop.record.textlog_lines import fields_in, parse_line, plain_value
from mgtop.wire.records import (
    SPAN_NAMES,
    AnyEvent,
    FrameEmit,
    PreprocessDone,
    RequestReceived,
    Span,
    StreamEnd,
)

MS = 1_000_000

EXAMPLE = """\
[req 7f3a] T+0     request_received    w=1280 h=720 steps=24 fps=16
[req 7f3a] T+38    preprocess_done     frames=48 decode=14ms resize=10ms h2d=6ms
[req 7f3a] T+1120  first_frame_emit    steps_done=24
[req 7f3a] T+1168  frame_emit idx=1    dt=48
[req 7f3a] T+1219  frame_emit idx=2    dt=51
[req 7f3a] T+1690  frame_emit idx=11   dt=214
[req 7f3a] T+1732  frame_emit idx=12   dt=42
[req 7f3a] T+2601  stream_end         frames=30
"""


def parse(text: str, **options: object) -> tuple[list[AnyEvent], TextLog]:
    log = TextLog(**options)  # type: ignore[arg-type]
    return log.feed(text) + log.close(), log


def emits(records: list[AnyEvent]) -> list[FrameEmit]:
    return [record for record in records if isinstance(record, FrameEmit)]


def requests(records: list[AnyEvent]) -> list[RequestReceived]:
    return [record for record in records if isinstance(record, RequestReceived)]


def test_the_example_becomes_the_records_of_a_probe():
    records, log = parse(EXAMPLE)
    assert [type(record) for record in records] == [
        RequestReceived, Span, Span, Span, PreprocessDone,
        FrameEmit, FrameEmit, FrameEmit, FrameEmit, FrameEmit, StreamEnd,
    ]  # fmt: skip
    header = records[0]
    assert isinstance(header, RequestReceived)
    assert header.id == "7f3a"
    assert header.params == {"w": 1280, "h": 720, "steps": 24, "fps": 16}
    assert header.route == LOG_ROUTE
    assert records[4].t_ns == 38 * MS
    assert (log.events, log.ignored, log.malformed, log.duplicates) == (8, 0, 0, 0)
    assert log.end_ns == 2601 * MS


def test_stage_durations_are_laid_one_after_the_other_and_end_with_the_preprocessing():
    records, _ = parse(EXAMPLE)
    spans = [record for record in records if isinstance(record, Span)]
    assert [SPAN_NAMES[span.name] for span in spans] == ["decode", "resize", "h2d"]
    assert [span.duration_ns for span in spans] == [14 * MS, 10 * MS, 6 * MS]
    assert [span.t_ns for span in spans] == [22 * MS, 32 * MS, 38 * MS]
    assert {span.index for span in spans} == {-1}


def test_emits_carry_index_stated_interval_and_time():
    records, _ = parse(EXAMPLE)
    found = emits(records)
    assert [emit.index for emit in found] == [0, 1, 2, 11, 12]
    assert [emit.emit for emit in found] == [0, 1, 2, 11, 12]
    assert [emit.interval_ns for emit in found] == [None, 48 * MS, 51 * MS, 214 * MS, 42 * MS]
    assert [emit.t_ns // MS for emit in found] == [1120, 1168, 1219, 1690, 1732]
    assert {emit.route for emit in found} == {LOG_ROUTE}


def test_the_end_carries_the_frames_that_the_program_counted():
    end = parse(EXAMPLE)[0][-1]
    assert isinstance(end, StreamEnd)
    assert end.frames == 30
    assert end.t_ns == 2601 * MS


def test_sequence_numbers_have_no_gaps():
    records, _ = parse(EXAMPLE)
    assert [record.seq for record in records] == list(range(len(records)))


def test_a_missing_header_still_opens_the_request_at_its_start():
    records, _ = parse("\n".join(EXAMPLE.splitlines()[2:]))
    first = records[0]
    assert isinstance(first, RequestReceived)
    assert (first.id, first.params, first.t_ns) == ("7f3a", {}, 0)
    assert emits(records)[0].t_ns == 1120 * MS


def test_lines_may_be_missing_in_any_place():
    lines = EXAMPLE.splitlines(keepends=True)
    for gone in range(len(lines)):
        records, log = parse("".join(lines[:gone] + lines[gone + 1 :]))
        assert log.events == len(lines) - 1
        assert log.malformed == 0
        assert len(requests(records)) == 1


def test_a_lost_first_frame_is_not_replaced_by_another():
    text = "[req a] T+0 request_received\n[req a] T+900 frame_emit idx=3 dt=40\n"
    (emit,) = emits(parse(text)[0])
    assert (emit.index, emit.emit) == (3, 3)


def test_requests_follow_each_other_on_the_axis():
    records, _ = parse(EXAMPLE + EXAMPLE.replace("7f3a", "7f3b"))
    second = requests(records)[1]
    assert (second.request, second.id, second.t_ns) == (2, "7f3b", 2601 * MS)
    assert records[-1].t_ns == 2 * 2601 * MS


def test_interleaved_requests_overlap_by_the_order_of_the_file():
    text = """\
[req a] T+0 request_received
[req a] T+100 first_frame_emit
[req b] T+0 request_received
[req a] T+150 frame_emit idx=1 dt=50
[req b] T+90 first_frame_emit
[req b] T+140 frame_emit idx=1 dt=50
[req a] T+200 frame_emit idx=2 dt=50
"""
    records, log = parse(text)
    by_request = {1: [], 2: []}
    for emit in emits(records):
        by_request[emit.request].append((emit.index, emit.t_ns // MS))
    assert by_request == {1: [(0, 100), (1, 150), (2, 200)], 2: [(0, 190), (1, 240)]}
    assert log.malformed == 0


def test_an_id_used_again_after_its_end_is_another_request():
    records, log = parse(EXAMPLE + EXAMPLE)
    assert [request.request for request in requests(records)] == [1, 2]
    assert log.duplicates == 0


def test_an_id_used_again_without_end_and_header_is_another_request():
    body = "".join(EXAMPLE.splitlines(keepends=True)[1:-1])
    again = body.replace("T+38", "T+41").replace("T+11", "T+10").replace("T+12", "T+11")
    records, log = parse(body + again)
    assert len(requests(records)) == 2
    assert len(emits(records)) == 10
    assert log.duplicates == log.malformed == 0


def test_every_line_twice_counts_once():
    doubled = "".join(line + line for line in EXAMPLE.splitlines(keepends=True))
    records, log = parse(doubled)
    assert records == parse(EXAMPLE)[0]
    assert log.duplicates == 8


def test_an_emit_written_late_by_another_thread_stays_with_its_request():
    text = """\
[req a] T+0 request_received
[req a] T+10 first_frame_emit
[req a] T+30 frame_emit idx=2 dt=10
[req a] T+20 frame_emit idx=1 dt=10
[req a] T+50 stream_end frames=4
[req a] T+40 frame_emit idx=3 dt=10
"""
    records, log = parse(text)
    assert len(requests(records)) == 1
    assert [(emit.index, emit.emit) for emit in emits(records)] == [(0, 0), (2, 2), (1, 1), (3, 3)]
    assert log.malformed == 0


def test_an_index_that_comes_again_later_contradicts_the_log():
    text = "[req a] T+5 frame_emit idx=1\n[req a] T+9 frame_emit idx=1\n"
    records, log = parse(text)
    assert len(emits(records)) == 1
    assert log.malformed == 1


def test_blocks_by_frame_index():
    text = """\
[req a] T+0 first_frame_emit count=9
[req a] T+100 frame_emit idx=9 count=12 dt=100
[req a] T+200 frame_emit idx=21 count=12 dt=100
[req a] T+500 frame_emit idx=57 count=12 dt=100
"""
    found = emits(parse(text)[0])
    assert [(emit.index, emit.emit, emit.count) for emit in found] == [
        (0, 0, 9), (9, 1, 12), (21, 2, 12), (57, 5, 12),
    ]  # fmt: skip


def test_blocks_numbered_by_emit():
    text = """\
[req a] T+0 first_frame_emit count=9
[req a] T+100 frame_emit idx=1 count=12 dt=100
[req a] T+200 frame_emit idx=2 count=12 dt=100
[req a] T+500 frame_emit idx=5 count=12 dt=100
"""
    found = emits(parse(text)[0])
    assert [(emit.index, emit.emit) for emit in found] == [(0, 0), (9, 1), (21, 2), (57, 5)]


def test_emits_without_index_are_counted():
    text = "[req a] T+10 first_frame_emit\n[req a] T+20 frame_emit\n[req a] T+31 frame_emit\n"
    found = emits(parse(text)[0])
    assert [(emit.index, emit.emit) for emit in found] == [(0, 0), (1, 1), (2, 2)]
    assert {emit.interval_ns for emit in found} == {None}


def test_an_emit_of_no_frames_is_malformed():
    _, log = parse("[req a] T+1 first_frame_emit count=0\n[req a] T+2 frame_emit count=-3\n")
    assert (log.events, log.malformed) == (0, 2)


def test_fractions_are_exact():
    records, _ = parse("[req a] T+0.1 request_received\n[req a] T+1120.000001 first_frame_emit\n")
    assert [record.t_ns for record in records] == [100_000, 1_120_000_001]


def test_prefixes_colours_carriage_returns_and_progress_bars():
    noisy = "".join(
        f"\x1b[2m2026-11-30 22:15:00,123 INFO gen:\x1b[0m \x1b[32m{line}\x1b[0m\r\n"
        for line in EXAMPLE.splitlines()
    )
    noisy = noisy.replace(
        "2026-11-30 22:15:00,123 INFO gen:\x1b[0m \x1b[32m[req 7f3a] T+1690",
        "sampling:  96%|####6| 23/24\rsampling: 100%|#####| 24/24[req 7f3a] T+1690",
    )
    records, log = parse(noisy)
    assert records == parse(EXAMPLE)[0]
    assert log.malformed == 0


def test_two_events_in_one_line():
    text = EXAMPLE.replace("dt=48\n", "dt=48 ")
    assert parse(text)[0] == parse(EXAMPLE)[0]


def test_ids_of_any_shape():
    for name in ("0", "a b", "job[3]", "用户-1", "a=b", "x" * 200, "req"):
        records, log = parse(f"[req {name}] T+0 request_received w=1\n")
        assert [request.id for request in requests(records)] == [name]
        assert log.malformed == 0


def test_garbage_is_ignored_and_counted():
    text = "loading…\n\n[req 7f3a] T+x request_received\n[req 7f3a] T+0 something_else\n###\n"
    records, log = parse(text + EXAMPLE)
    assert records == parse(EXAMPLE)[0]
    assert (log.ignored, log.malformed) == (2, 2)


def test_a_wall_clock_is_not_a_time_since_the_start():
    records, log = parse("[req a] T+1764541500000 request_received\n")
    assert records == []
    assert log.malformed == 1


def test_a_line_without_end_is_skipped_not_kept():
    log = TextLog()
    for _ in range(40):
        assert log.feed("x" * 4000) == []
    assert log.feed("[req a] T+0 request_received\n") == []
    assert len(log.feed("[req a] T+1 request_received\n")) == 1
    assert log.ignored == 1
    assert parse("x" * (MAX_LINE + 1) + "\n" + EXAMPLE)[0] == parse(EXAMPLE)[0]


def test_times_follow_the_clock_where_lines_are_read_as_written():
    log = TextLog(proc=77)
    records = log.feed("[req a] T+5 request_received\n", now_ns=10**12)
    records += log.feed("[req a] T+105 first_frame_emit\n", now_ns=10**12 + 103 * MS)
    assert [record.t_ns for record in records] == [10**12, 10**12 + 100 * MS]
    assert {record.proc for record in records} == {77}


def test_a_pattern_of_the_user():
    pattern = re.compile(r"user=(?P<request>\w+) chunk (?P<index>\d+) took (?P<dt_ms>[\d.]+)")
    text = "user=a chunk 0 took 900\nnoise\nuser=a chunk 1 took 48.5\nuser=a chunk 2 took 51\n"
    records, log = parse(text, pattern=pattern)
    found = emits(records)
    assert [emit.index for emit in found] == [0, 1, 2]
    assert [emit.interval_ns for emit in found] == [None, 48_500_000, 51 * MS]
    assert [emit.t_ns - found[0].t_ns for emit in found] == [0, 48_500_000, 99_500_000]
    assert log.ignored == 1


def test_a_pattern_with_times_opens_the_request():
    pattern = re.compile(r"(?P<t_ms>\d+) (?P<event>\w+)")
    records, log = parse("0 request_received\n40 first_frame_emit\n60 nonsense\n", pattern=pattern)
    assert [type(record) for record in records] == [RequestReceived, FrameEmit]
    assert requests(records)[0].id == "log"
    assert log.ignored == 1


def test_values_of_parameters():
    assert plain_value("24") == 24
    assert plain_value("-0.5") == -0.5
    assert plain_value("1e400") == "1e400"
    assert plain_value("9" * 30) == float("9" * 30)
    assert plain_value("True") is True
    assert plain_value("720p") == "720p"
    assert fields_in("a=\"x y\", b='z' c=1, d=") == {"a": "x y", "b": "z", "c": "1"}


def test_a_line_that_is_no_event_has_no_parts():
    assert parse_line("nothing here") == ([], 0)
    assert parse_line("[req 1] [req 2] T+0 stream_end")[1] == 1


# ------------------------------------------------------------------ properties

pieces = st.sampled_from(
    [
        *EXAMPLE.splitlines(keepends=True),
        *EXAMPLE.replace("7f3a", "b b").splitlines(keepends=True),
        "[req ", "] T+", "12.5", "999999999999999", " frame_emit", " idx=", "count=12 ", "count=0",
        "\r", "\n", "\r\n", "\x1b[31m", "\x1b]0;t\x07", "dt=", "é", "\x00", "garbage ", "=",
    ]
)  # fmt: skip
logs = st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=60).map("".join)


@given(logs)
@settings(max_examples=300, deadline=None)
def test_it_never_raises_and_its_records_can_be_stored(text: str):
    records, log = parse(text)
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(records), type=list[AnyEvent])
    assert decoded == records
    assert [record.seq for record in records] == list(range(len(records)))
    assert all(record.count > 0 and record.index >= 0 for record in emits(records))
    assert min(log.events, log.ignored, log.malformed, log.duplicates) >= 0


@given(logs, st.lists(st.integers(0, 400), max_size=12))
@settings(max_examples=300, deadline=None)
def test_how_the_text_is_cut_does_not_matter(text: str, cuts: list[int]):
    whole, _ = parse(text)
    log = TextLog()
    records: list[AnyEvent] = []
    at = 0
    for cut in sorted(cuts):
        records += log.feed(text[at : max(cut, at)])
        at = max(cut, at)
    records += log.feed(text[at:]) + log.close()
    assert records == whole


def test_lines_of_stages_are_frames_of_one_request():
    text = (
        "LOAD 3.2 s | FWD 850.5 ms | POST 12 | TOTAL 4062.5 ms\n"
        "  frame 1: LOAD: 2ms | FWD: 85ms | POST: 4ms\n"
        "FWD 85 | nothing else\nFWD LOAD POST\n| LOAD 3 ms |\nload a file | fwd it\n"
    )
    records, log = parse(text)
    assert log.events == 2
    first, second = emits(records)
    assert (first.t_ns, second.t_ns) == (round(4062.5 * MS), round(4153.5 * MS))
    assert second.interval_ns == 91 * MS
    spans = [record for record in records if isinstance(record, Span)]
    assert [span.duration_ns for span in spans[3:]] == [2 * MS, 85 * MS, 4 * MS]
    assert SPAN_NAMES[spans[1].name] == "forward"
    (request,) = requests(records)
    assert request.id == "frames"


def test_lines_of_stages_that_are_read_as_they_are_written_keep_their_times():
    log = TextLog()
    records: list[AnyEvent] = []
    for number in range(3):
        records += log.line("LOAD 1 ms | FWD 2 ms", now_ns=(10 + number) * 1_000 * MS)
    assert [frame.t_ns for frame in emits(records)] == [10_000 * MS, 11_000 * MS, 12_000 * MS]
    assert [frame.interval_ns for frame in emits(records)] == [None, None, None]
    assert requests(records) == []  # when the first was asked for, nobody knows


def test_lines_of_stages_in_other_hands():
    records, log = parse(
        "step 1 load=2ms|fwd=85ms|post=4ms\r[LOAD 0.002s | Fwd: 0.085s | Post 4]\n"
    )
    assert log.events == 2
    assert [frame.interval_ns for frame in emits(records)] == [None, 91 * MS]


def stamped(text: str) -> tuple[list[AnyEvent], TextLog]:
    log = TextLog(clock=StatedTime())
    return log.feed(text), log


def test_stages_with_the_time_of_day_come_when_it_says():
    records, log = stamped(
        "2026-11-30 22:15:01,000 LOAD 3 ms | FWD 90 ms | POST 7 ms\n"
        "2026-11-30 22:15:01,250 LOAD 3 ms | FWD 90 ms | POST 7 ms\n"
    )
    first, second = emits(records)
    assert second.t_ns - first.t_ns == 250 * MS
    assert requests(records)[0].t_ns == first.t_ns - 100 * MS
    assert log.coarse == 0


def test_a_clock_of_whole_seconds_makes_no_intervals_where_lines_tell_them():
    line = "2026-11-30 22:15:{} LOAD 3 ms | FWD 290 ms | POST 7 ms\n"
    seconds = ["01", "01", "01", "02", "02", "02", "09"]
    records, log = stamped("".join(line.format(second) for second in seconds))
    times = [frame.t_ns for frame in emits(records)]
    steps = [(b - a) // MS for a, b in itertools.pairwise(times)]
    assert steps[:5] == [300] * 5
    assert steps[5] == 8_000 - 5 * 300  # a pause, as far as such a clock can tell
    assert log.coarse == 1


def test_events_that_only_a_clock_of_whole_seconds_times_are_counted():
    log = TextLog(clock=StatedTime(), pattern=re.compile(r"frame (?P<index>\d+)"))
    log.feed("2026-11-30 22:15:01 frame 0\n2026-11-30 22:15:01 frame 1\n")
    assert log.coarse == 2
