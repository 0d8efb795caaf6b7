"""The log on its way to the screen, while it is written."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from benchmarks.synthetic import Options, Session
from mgtop.analysis.model import Model
from mgtop.session.lock import SessionLock
from mgtop.session.marks import append_mark, read_marks
from mgtop.session.reader import read_all as session_records
from mgtop.session.writer import LogWriter
from mgtop.view import feed as view_feed
from mgtop.view.feed import LOT, NEAR_NS, RECENT_NS, Feed
from mgtop.wire.records import AnyRecord

S = 1_000_000_000
START = 1_000 * S


class Recording:
    """A session that grows as told; the clock stands at its end."""

    def __init__(self, folder: Path, options: Options | None = None) -> None:
        self.now_ns = START
        self.session = Session(options or Options(), START, 1_796_000_000 * S)
        self.writer = LogWriter(folder)

    def go_on(self, seconds: float) -> None:
        self.now_ns += round(seconds * S)
        self.writer.append(self.session.until(self.now_ns))

    def end(self) -> None:
        self.writer.append(self.session.end(self.now_ns))


def read_all(feed: Feed) -> int:
    count = feed.poll()
    while not feed.caught_up:
        count += feed.poll()
    return count


def test_a_growing_session(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with SessionLock(tmp_path):
        feed = Feed(tmp_path, clock=lambda: recording.now_ns)
        assert read_all(feed) == 0
        recording.go_on(5)
        assert read_all(feed) > 100
        assert feed.live
        assert feed.now_ns() == START + 5 * S
        frames = feed.model.summary().requests[0].frames
        recording.go_on(5)
        assert read_all(feed) > 100
        assert feed.model.summary().requests[0].frames > frames
        recording.end()
        read_all(feed)
    assert not feed.live
    assert not feed.recorder_lost
    assert feed.model.view(recording.now_ns, START, START + 10 * S, 10).state == "ended"


def test_a_recorder_that_dies_is_noticed(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with SessionLock(tmp_path):
        feed = Feed(tmp_path, clock=lambda: recording.now_ns)
        recording.go_on(2)
        read_all(feed)
    assert not feed.recorder_lost
    recording.now_ns += 2 * S  # looked at once a second
    feed.poll()
    feed.poll()
    assert feed.recorder_lost
    assert not feed.live


def test_a_recorded_session_stands_at_its_end(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.go_on(10)
    recording.end()
    feed = Feed(tmp_path, clock=lambda: recording.now_ns + 1_000 * S)
    read_all(feed)
    assert not feed.live
    assert feed.now_ns() == recording.now_ns


def test_marks_reach_the_model(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.go_on(4)
    feed = Feed(tmp_path, clock=lambda: recording.now_ns)
    read_all(feed)
    append_mark(tmp_path, START + 3 * S, "scene change")
    assert feed.poll() == 1
    view = feed.model.view(recording.now_ns, START, START + 5 * S, 5)
    assert view.marks_ns == [START + 3 * S]


@pytest.mark.parametrize("first_bytes", [1 << 20, 2_000])
def test_the_last_half_minute_is_read_from_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_bytes: int
) -> None:
    monkeypatch.setattr("mgtop.view.feed.RECENT_BYTES", first_bytes)
    recording = Recording(tmp_path)
    written: list[AnyRecord] = []
    for _ in range(100):
        recording.now_ns += S
        records = recording.session.until(recording.now_ns)
        written += records
        recording.writer.append(records)
    feed = Feed(tmp_path, clock=lambda: recording.now_ns)
    read_all(feed)
    newest = max(record.t_ns for record in written)
    assert feed.recent() == [record for record in written if record.t_ns >= newest - RECENT_NS]
    assert len(feed.recent()) < len(written) / 2


def test_without_a_log_nothing_is_recent(tmp_path: Path) -> None:
    assert Feed(tmp_path).recent() == []


def test_a_long_log_is_read_piece_by_piece(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for _ in range(120):
        recording.go_on(1)
    feed = Feed(tmp_path, clock=lambda: recording.now_ns)
    assert feed.poll(budget_ns=-1) > 0
    assert not feed.caught_up
    assert feed.now_ns() < recording.now_ns


def test_a_piece_ends_with_its_time_however_much_a_chunk_holds(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with SessionLock(tmp_path):
        feed = Feed(tmp_path, clock=lambda: recording.now_ns)
        recording.go_on(2)
        read_all(feed)
        recording.go_on(20)  # one chunk, as compacted logs have them
        assert feed.poll(budget_ns=0) == LOT
        assert not feed.caught_up
        assert not feed.keeps_up
        assert feed.now_ns() < recording.now_ns
        assert read_all(feed) > 1_000
        recording.go_on(0.9 * NEAR_NS / S)
        assert feed.poll(budget_ns=0) == LOT
        assert not feed.caught_up
        assert feed.keeps_up  # it was there just now
        assert feed.now_ns() == recording.now_ns


def test_ages_count_from_now_and_not_from_the_edge_of_the_window(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.go_on(10)
    feed = Feed(tmp_path, clock=lambda: recording.now_ns)
    read_all(feed)
    series = feed.model.view(recording.now_ns, START, START + 17 * S, 17).series
    for key in ("cpu_system", "gpu:0", "vram:0"):
        assert series[key].age_ns is not None
        assert series[key].age_ns < S
        assert not series[key].stale


def test_the_end_of_a_long_log_is_no_more_than_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_feed, "LONG_BYTES", 20_000)
    monkeypatch.setattr(view_feed, "END_RECORDS", 1_000)
    recording = Recording(tmp_path)
    for _ in range(60):
        recording.go_on(1)
    recording.end()
    feed = Feed(tmp_path, clock=lambda: recording.now_ns)
    while not feed.caught_up:
        feed.poll(0)
    assert feed.share_read is not None
    assert 500 < feed.records < 3_000
    assert feed.damaged == 0
    assert feed.model.about.last_ns == recording.now_ns


@pytest.mark.parametrize("live", [True, False])
def test_a_long_log_is_shown_from_its_end_and_then_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    monkeypatch.setattr(view_feed, "LONG_BYTES", 50_000)
    monkeypatch.setattr(view_feed, "READ_BYTES", 8_000)
    monkeypatch.setattr(view_feed, "END_BYTES", 20_000)
    recording = Recording(tmp_path)
    for _ in range(120):
        recording.go_on(0.5)
    append_mark(tmp_path, START + 3 * S, "early")
    if not live:
        recording.end()
    with SessionLock(tmp_path) if live else contextlib.nullcontext():
        feed = Feed(tmp_path, clock=lambda: recording.now_ns)
        while not feed.caught_up:
            feed.poll(0)
        assert feed.share_read is not None
        assert feed.share_read < 1
        assert feed.damaged == 0
        early = feed.model
        assert early.about.start_ns == START  # times are those of the session from the beginning
        assert early.summary().session.name == "synthetic"
        frames = early.traffic.requests[-1].frames
        assert frames > 20
        if live:
            recording.go_on(2)
            feed.poll(0)
            assert feed.model is early
            assert early.traffic.requests[-1].frames > frames
        while feed.share_read is not None:
            feed.poll()
        read_all(feed)
        assert feed.model is not early
        plain = Feed(tmp_path, clock=lambda: recording.now_ns)
        while plain.share_read is not None or not plain.caught_up:
            plain.poll()
        whole = Model()
        for record in session_records(tmp_path):
            whole.feed(record)
        for mark in read_marks(tmp_path):
            whole.feed(mark)
        if not live:
            whole.finish()
        assert feed.model.summary() == whole.summary() == plain.model.summary()
        if live:
            before = feed.model.traffic.requests[-1].frames
            recording.go_on(2)
            read_all(feed)
            assert feed.model.traffic.requests[-1].frames > before
