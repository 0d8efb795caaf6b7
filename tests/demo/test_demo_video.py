"""Input and output: the clip, the prefetch queue, and the file that is written."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import av
import pytest
import torch
from watched import frames_in

from mgtop.demo import clip as clips
from mgtop.demo.clip import FRAMES, HEIGHT, NAME, WIDTH, endless, find_clip, picture_from
from mgtop.demo.errors import DemoError
from mgtop.demo.prefetch import Prefetch
from mgtop.demo.sink import Sink


@pytest.fixture(scope="module")
def clip() -> Path:
    return find_clip(Path("/nowhere"))


def test_the_clip_is_made_once_and_moves(clip: Path):
    made = clip.stat()
    assert clip.name == NAME
    assert frames_in(clip) == FRAMES
    assert find_clip(Path("/nowhere")) == clip
    assert clip.stat().st_mtime_ns == made.st_mtime_ns
    assert [path.name for path in clip.parent.iterdir()] == [NAME]
    frames = endless(clip)
    first, second = picture_from(next(frames)), picture_from(next(frames))
    frames.close()
    assert first.shape == (HEIGHT, WIDTH, 3)
    assert first.float().std() > 20
    assert (first.int() - second.int()).abs().float().mean() > 0.2


def test_after_the_last_frame_comes_the_first(clip: Path):
    frames = endless(clip)
    pictures = [picture_from(next(frames)) for _ in range(FRAMES + 1)]
    frames.close()
    assert torch.equal(pictures[0], pictures[FRAMES])
    assert not torch.equal(pictures[0], pictures[1])


def test_without_a_cache_the_clip_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(clips, "FRAMES", 3)
    assert find_clip(tmp_path / "other") == tmp_path / "other" / NAME
    with pytest.raises(DemoError, match="cannot write its input clip"):
        find_clip(tmp_path / "file" / "x")


def test_a_clip_that_is_none_is_named(tmp_path: Path):
    broken = tmp_path / "clip.mp4"
    broken.write_bytes(b"no video" * 100)
    with pytest.raises(DemoError, match=r"clip\.mp4 cannot be read"):
        next(endless(broken))
    with pytest.raises(DemoError, match="cannot be read"), _prefetch(broken) as prefetch:
        prefetch.take(1)


def _prefetch(clip: Path, told: list[int] | None = None) -> Prefetch:
    def tell(_name: str, depth: int, _capacity: int) -> None:
        if told is not None:
            told.append(depth)

    return Prefetch(clip, 8, lambda _index: nullcontext(), tell)


def _fill(prefetch: Prefetch, told: list[int]) -> None:
    end = time.monotonic() + 10
    while not told or told[-1] < prefetch.capacity:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_pictures_come_in_order_and_the_queue_is_told(clip: Path):
    told: list[int] = []
    frames = endless(clip)
    with _prefetch(clip, told) as prefetch:
        taken = prefetch.take(5)
        _fill(prefetch, told)
        taken += prefetch.take(5)
    assert all(torch.equal(one, picture_from(next(frames))) for one in taken)
    frames.close()
    assert max(told) == 8
    assert min(told) >= 0
    assert all(abs(late - early) == 1 for early, late in pairwise(told))


def test_a_pause_starves_whoever_takes(clip: Path):
    told: list[int] = []
    prefetch = _prefetch(clip, told)
    prefetch.pause_before(6)
    with prefetch:
        prefetch.take(6)
        begin = time.monotonic()
        prefetch.starve(120, 2)
        took_ms = (time.monotonic() - begin) * 1e3
        assert 118 <= took_ms < 400
        prefetch.take(4)
    assert 0 in told[1:]


def test_nobody_waits_for_ever_at_a_pause_that_is_forgotten(clip: Path):
    prefetch = _prefetch(clip)
    prefetch.pause_before(2)
    with prefetch:
        assert len(prefetch.take(4)) == 4


def test_closing_ends_the_thread_in_a_pause(clip: Path):
    before = threading.active_count()
    prefetch = _prefetch(clip)
    prefetch.pause_before(0)
    with prefetch:
        pass
    assert threading.active_count() == before


def _pictures(count: int, width: int = 96, height: int = 64) -> torch.Tensor:
    return torch.randint(0, 255, (count, height, width, 3), dtype=torch.uint8)


def test_what_was_written_can_be_played_before_the_end(tmp_path: Path):
    path = tmp_path / "out.ts"
    with Sink(path, 96, 64, 12.5) as sink:
        for emit, count in enumerate((1, 4, 4), 1):
            sink.encode(_pictures(count))
            sink.write()
            assert frames_in(path) == 1 + 4 * (emit - 1)
    assert frames_in(path) == 9
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height) == (96, 64)
        assert float(stream.guessed_rate or 0) == pytest.approx(12.5)


def test_a_slow_output_takes_its_time_and_loses_nothing(tmp_path: Path):
    path = tmp_path / "out.ts"
    with Sink(path, 96, 64, 24) as sink:
        sink.encode(_pictures(4))
        begin = time.monotonic()
        sink.write_slowly(150)
        took_ms = (time.monotonic() - begin) * 1e3
        assert frames_in(path) == 4
        sink.encode(_pictures(4))
        sink.write()
    assert 145 <= took_ms < 300
    assert frames_in(path) == 8


def _write_some(path: Path) -> None:
    with Sink(path, 96, 64, 24) as sink:
        sink.encode(_pictures(2))
        sink.write()


def test_a_full_disk_is_an_error():
    with pytest.raises(OSError, match="No space left"):
        _write_some(Path("/dev/full"))
