"""A whole log becomes the records of a session."""

from __future__ import annotations

import io
from datetime import datetime

from mgtop.config.structs import AnalysisSettings
from mgtop.record.textlog_session import LogContents, read_log, session_records
from mgtop.wire.records import FrameEmit, Loss, RequestReceived, SessionEnd, SessionStart, StreamEnd

LOG = """\
[req a] T+0 request_received w=1280 h=720 steps=8 fps=16
[req a] T+100 first_frame_emit
[req a] T+190 frame_emit idx=2 dt=45
[req a] T+145 frame_emit idx=1 dt=45
[req a] T+200 stream_end frames=3
[req b] T+0 request_received w=1280 h=720 steps=16 fps=16
[req b] T+90 first_frame_emit
"""


def read(text: str, encoding: str = "utf-8") -> LogContents:
    return read_log(io.BytesIO(text.encode(encoding)))


def test_events_come_into_the_order_of_time_with_sequence_numbers_to_match():
    log = read(LOG)
    assert [event.t_ns for event in log.events] == sorted(event.t_ns for event in log.events)
    assert [event.seq for event in log.events] == list(range(len(log.events)))
    emits = [event for event in log.events if isinstance(event, FrameEmit)]
    assert [emit.index for emit in emits] == [0, 1, 2, 0]
    assert log.end_ns == 290_000_000


def test_an_end_and_the_next_request_at_the_same_time_keep_the_files_order():
    kinds = [type(event) for event in read(LOG).events if event.t_ns == 200_000_000]
    assert kinds == [StreamEnd, RequestReceived]


def test_parameters_are_those_on_which_all_requests_agree():
    assert read(LOG).params == {"w": 1280, "h": 720, "fps": 16}
    assert read(LOG.replace("steps=16", "steps=8")).params["steps"] == 8
    assert read("[req a] T+0 first_frame_emit\n").params == {}
    assert read(LOG + "[req c] T+9 first_frame_emit\n").params["fps"] == 16


def test_encodings_that_say_so():
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert read(LOG, encoding).events == read(LOG).events


def test_bytes_that_are_no_text_are_ignored_lines():
    log = read_log(io.BytesIO(b"\xff\xfe\x00 garbage \x80\n"[2:] + LOG.encode()))
    assert (log.understood, log.ignored) == (7, 1)


def test_a_session_begins_and_ends_and_counts_what_was_malformed():
    log = read(LOG + "[req a] nonsense\n")
    records = list(session_records(log, "name", {"fps": 16}, AnalysisSettings(target_fps=16.0)))
    start, end = records[0], records[-1]
    assert isinstance(start, SessionStart)
    assert (start.t_ns, start.wall_ns, start.name, start.params) == (0, 0, "name", {"fps": 16})
    assert start.settings["target_fps"] == 16.0
    assert start.environment == {}
    assert isinstance(end, SessionEnd)
    assert (end.reason, end.t_ns) == ("imported", log.end_ns)
    assert [record for record in records if isinstance(record, Loss)] == [Loss(log.end_ns, 0, 0, 1)]


def test_a_clean_log_has_no_loss():
    records = session_records(read(LOG), "name", {}, AnalysisSettings())
    assert not any(isinstance(record, Loss) for record in records)


def test_requests_stand_where_their_lines_say_that_they_were() -> None:
    text = (
        "2026-11-30 22:15:00,000 INFO [req a] T+0 request_received\n"
        "2026-11-30 22:15:01,000 INFO [req a] T+1000 first_frame_emit\n"
        "2026-11-30T22:15:31.500 INFO [req b] T+0 request_received\n"
        "not a line of ours\n"
        "2026-11-30 22:15:32 INFO [req b] T+500 first_frame_emit\n"
    )
    log = read(text)
    times = [event.t_ns for event in log.events]
    assert times == [0, 1_000_000_000, 31_500_000_000, 32_000_000_000]
    assert log.begin_wall_ns is not None
    begin = datetime.fromtimestamp(log.begin_wall_ns / 1e9)
    assert begin.isoformat() == "2026-11-30T22:15:00"


def test_a_first_line_from_the_middle_of_a_request_begins_the_session_earlier() -> None:
    text = "2026-11-30 22:15:09 [req a] T+9000 frame_emit idx=5\n"
    log = read(text)
    assert [event.t_ns for event in log.events] == [0, 9_000_000_000]
    assert log.begin_wall_ns is not None
    assert datetime.fromtimestamp(log.begin_wall_ns / 1e9).second == 0


def test_what_only_looks_like_a_time_of_day() -> None:
    log = read("2026-99-30 22:15:09 [req a] T+0 request_received\n")
    assert log.begin_wall_ns is None
    assert len(log.events) == 1


def test_times_of_day_of_other_zones_and_shapes() -> None:
    def begin(line: str) -> int | None:
        return read(f"{line} [req a] T+0 request_received\n").begin_wall_ns

    utc = begin("2026-11-30T22:15:00.123456789Z stdout F")
    assert utc == 1_796_076_900_123_456_789
    assert begin("2026-11-30 23:15:00.5 +0100") == utc // 10**9 * 10**9 + 500_000_000
    assert begin("[2026/11/30 22:15:00]") == begin("2026-11-30T22:15:00,000")
    assert begin("2026-11-30 22:15:00+99:00") is None
    assert begin("22:15:00") is None


def test_lines_about_memory_stand_where_they_were_written() -> None:
    text = (
        "2026-11-30 22:15:00,000 INFO [req a] T+0 request_received\n"
        "2026-11-30 22:15:02,000 INFO [req a] T+2000 first_frame_emit\n"
        "2026-11-30 22:15:03,500 WARNING next line\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        "AttributeError: 'NoneType' object has no attribute 'shape'\n"
    )
    log = read(text)
    oom, error = log.output
    assert (oom.kind, oom.t_ns, oom.amounts) == ("oom", 3_500_000_000, {"requested": 2 << 30})
    assert text.encode()[oom.offset :].startswith(b"torch.OutOfMemoryError")
    assert error.kind == "error"
    assert log.end_ns == 3_500_000_000
    records = list(session_records(log, "name", {}, AnalysisSettings()))
    assert oom in records


def test_a_carriage_return_ends_a_line_and_bytes_that_are_no_text_do_not_matter() -> None:
    raw = b"\xff\xfe\xfa 10%\r 20%\r[req a] T+0 request_received\r\n[req a] T+9 first_frame_emit"
    log = read_log(io.BytesIO(b"." + raw))
    assert log.understood == 2
