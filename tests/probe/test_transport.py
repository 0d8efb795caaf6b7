"""The FIFO: where it is made, what happens when it is full, and when nobody may use it."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import outlet, transport
from mgtop.probe.transport import CAPACITY, Fifo, Unusable, open_fifo, runtime_folder
from mgtop.wire.records import FrameEmit, Hello, Mark


def silent() -> bool:
    """Whether the probe gave up quietly, and goes on doing so."""
    with probe.request("a") as r, r.span("decode"):
        r.frame()
    probe.mark("x")
    return outlet.current is None


def test_folder_and_fifo_are_the_users_alone(probed: Any) -> None:
    probe.mark("x")
    fifo = probed.pipe.path
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert stat.S_IMODE(fifo.stat().st_mode) == 0o600
    assert stat.S_IMODE(probed.folder.stat().st_mode) == 0o700
    assert not os.get_inheritable(outlet.current._fd)  # type: ignore[union-attr]


def test_the_folder_of_last_resort_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.delenv("MGTOP_RUNTIME", raising=False)
    monkeypatch.setattr(os, "mkdir", lambda path, mode: made.append(f"{path} {mode:o}"))
    monkeypatch.setattr(os, "lstat", lambda path: os.stat_result((0o40700, *[0] * 9)))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert runtime_folder() == "/tmp/mgtop-0"
    assert made == ["/tmp/mgtop-0 700"]


def test_events_reach_the_recorders_fifo(
    probed: Any, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGTOP_FIFO", str(pipe.path))
    probe.mark("x")
    assert [type(event) for event in pipe.read()][-1] is Mark
    assert not probed.folder.exists()


@pytest.mark.parametrize("kind", ["missing", "file", "link"])
def test_a_recorders_fifo_that_is_none_is_not_used(
    kind: str, probed: Any, pipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "given"
    if kind == "file":
        path.write_bytes(b"")
    elif kind == "link":
        path.symlink_to(pipe.path)
    monkeypatch.setenv("MGTOP_FIFO", str(path))
    probe.mark("x")
    assert probed.read(Mark)
    assert pipe.read() == []
    if kind == "file":
        assert path.read_bytes() == b""


class TestUnusableFolders:
    """In each case the probe goes silent, raises nothing, and writes nowhere."""

    @pytest.fixture(autouse=True)
    def _quiet(self, probed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(outlet, "raises", False)

    def test_a_link(self, runtime: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        runtime.symlink_to(tmp_path / "elsewhere")
        assert silent()
        assert not list((tmp_path / "elsewhere").iterdir())

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_folder_of_another_user(self, runtime: Path) -> None:
        runtime.mkdir(mode=0o700)
        os.chown(runtime, 12345, 12345)
        assert silent()
        assert not list(runtime.iterdir())

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
    def test_a_folder_that_others_may_write_to(self, mode: int, runtime: Path) -> None:
        runtime.mkdir()
        runtime.chmod(mode)
        assert silent()
        assert not list(runtime.iterdir())

    def test_a_file(self, runtime: Path) -> None:
        runtime.write_text("here first")
        assert silent()
        assert runtime.read_text() == "here first"

    @pytest.mark.parametrize("path", ["/proc/mgtop", "/nowhere/at/all", "x" * 300, "a\0b"])
    def test_a_place_where_nothing_can_be_made(
        self, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "environ", {**os.environ, "MGTOP_RUNTIME": path})
        assert silent()

    def test_a_folder_in_which_nothing_can_be_made(
        self, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        runtime.mkdir(mode=0o700)
        monkeypatch.setattr(os, "mkfifo", refuse)
        assert silent()

    @pytest.mark.parametrize("kind", ["file", "link", "open to all"])
    def test_something_else_in_the_fifos_place(
        self, kind: str, runtime: Path, tmp_path: Path, pipe: Any
    ) -> None:
        runtime.mkdir(mode=0o700)
        path = runtime / f"{os.getpid()}.fifo"
        if kind == "file":
            path.write_text("here first")
        elif kind == "link":
            path.symlink_to(pipe.path)
        else:
            os.mkfifo(path)
            path.chmod(0o666)
        assert silent()
        assert pipe.read() == []


def test_a_reason_is_given_to_who_asks(runtime: Path) -> None:
    runtime.write_text("")
    with pytest.raises(Unusable, match=f"{runtime} is not a folder"):
        open_fifo()
    runtime.unlink()
    runtime.mkdir(0o700)
    (runtime / f"{os.getpid()}.fifo").write_text("")
    with pytest.raises(Unusable, match="is not a FIFO"):
        open_fifo()


def test_a_fifo_left_by_a_process_of_the_same_pid_is_used(probed: Any) -> None:
    probed.folder.mkdir(mode=0o700)
    os.mkfifo(probed.folder / f"{os.getpid()}.fifo", 0o600)
    probe.mark("x")
    assert probed.read(Mark)


def fill(request: probe.Request, count: int) -> None:
    for _ in range(count):
        request.frame()


def test_without_a_reader_the_newest_are_kept(probed: Any) -> None:
    """Four times what fits: the last thousands are there, whole, and nothing was waited for."""
    r = probe.request("a")
    count = 4 * CAPACITY // 128
    fill(r, count)
    out = outlet.current
    assert out is not None
    probed.pipe.read()
    splitter = probed.pipe.splitter
    assert (splitter.malformed, splitter.skipped_bytes, splitter.pending_bytes) == (0, 0, 0)
    kept = [event for event in probed.pipe.events if isinstance(event, FrameEmit)]
    assert kept[-1].index == count - 1
    assert [f.index for f in kept] == list(range(kept[0].index, count))
    assert len(kept) * 128 > CAPACITY - 2 * transport.DISCARD
    assert out.dropped == 0
    seqs = [event.seq for event in probed.pipe.events]
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    r.end()


@pytest.fixture
def no_collections() -> Iterator[None]:
    """On a busy machine one takes long enough to be an event of its own."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
def test_with_a_reader_that_sleeps_the_newest_are_dropped_and_counted(probed: Any) -> None:
    r = probe.request("a")
    probed.pipe.lock()
    fill(r, CAPACITY // 128 + 3000)
    out = outlet.current
    assert out is not None
    first = probed.pipe.read()
    assert first[0].seq == 0
    assert [event.seq for event in first] == list(range(len(first)))
    r.frame()
    (after,) = probed.read(FrameEmit)
    assert after.seq - first[-1].seq - 1 == out.dropped > 0
    out.pulse()
    assert probed.pipe.read()[-1].dropped == out.dropped
    r.end()


def test_a_reader_that_comes_and_goes(probed: Any) -> None:
    """Nothing that a reader was told of is missing beside what was counted."""
    r = probe.request("a")
    for round_ in range(6):
        if round_ % 2:
            probed.pipe.lock()
        fill(r, 5000)
        probed.pipe.read()
        probed.pipe.unlock()
    seqs = [event.seq for event in probed.pipe.events]
    assert seqs == sorted(set(seqs))
    assert probed.pipe.splitter.malformed == 0
    r.end()


def test_messages_of_mixed_sizes_are_discarded_whole(probed: Any) -> None:
    for n in range(3000):
        probe.mark(f"{n} " + "x" * (n * 37 % 3700))
    probed.pipe.read()
    assert probed.pipe.splitter.malformed == 0
    assert probed.pipe.splitter.skipped_bytes == 0
    texts = [event.text for event in probed.pipe.events if isinstance(event, Mark)]
    assert texts[-1].startswith("2999 ")
    assert len(texts) > 300


def test_a_stream_that_another_reader_left_off_balance(probed: Any) -> None:
    """A reader took half a message and died; discarding still loses nothing but that one."""
    r = probe.request("a")
    fill(r, 100)
    os.read(probed.pipe.fd, 1000)
    fill(r, 3 * CAPACITY // 128)
    data = b""
    while True:
        try:
            data += os.read(probed.pipe.fd, 1 << 16)
        except BlockingIOError:
            break
    payloads = probed.pipe.splitter.feed(data)
    assert len(payloads) * 128 > CAPACITY - 2 * transport.DISCARD
    assert probed.pipe.splitter.malformed <= 1
    r.end()


def test_a_daemon_that_closed_all_its_files_is_heard_again(
    probed: Any, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGTOP_FIFO", str(pipe.path))
    probe.mark("before")
    out = outlet.current
    assert out is not None
    os.close(out._fd)
    probe.mark("lost")
    assert out.dropped == 1
    out._next_tick = 0
    probe.mark("lost too, but noticed")
    probe.mark("after")
    marks = [event.text for event in pipe.read() if isinstance(event, Mark)]
    assert marks == ["before", "after"]
    assert sum(isinstance(event, Hello) for event in pipe.events) == 2


def test_a_file_that_took_our_number_is_left_alone(probed: Any, tmp_path: Path) -> None:
    probe.mark("before")
    out = outlet.current
    assert out is not None
    fd = out._fd
    os.close(fd)
    with (tmp_path / "program.txt").open("w+b") as file:
        os.dup2(file.fileno(), fd)
        os.set_blocking(fd, False)
        fifo = out._fifo
        assert not fifo.is_intact()
        assert not fifo.write_when_full(b"x" * 64)
        fifo.close()
        assert os.fstat(fd).st_size == 0, "close() must leave the program's file open"
        os.close(fd)


def test_the_descriptor_is_out_of_the_way(probed: Any) -> None:
    probe.mark("x")
    assert outlet.current is not None
    assert outlet.current._fd >= 500


def test_a_pipe_that_cannot_be_enlarged_still_works(
    probed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transport.fcntl.fcntl

    def refuse(fd: int, operation: int, *rest: int) -> int:
        if operation == 1031:
            raise PermissionError(1, "past the share of pipe memory")
        return real(fd, operation, *rest)

    monkeypatch.setattr(transport.fcntl, "fcntl", refuse)
    r = probe.request("a")
    fill(r, 3000)
    probed.pipe.read()
    kept = [event for event in probed.pipe.events if isinstance(event, FrameEmit)]
    assert kept[-1].index == 2999
    r.end()


def test_the_name_goes_with_the_process(probed: Any) -> None:
    probe.mark("x")
    path = probed.pipe.path
    assert outlet.current is not None
    outlet.current.leave()
    assert not path.exists()


def test_a_given_fifo_is_not_removed(probed: Any, pipe: Any) -> None:
    fifo = Fifo(str(pipe.path), own=False)
    fifo.remove()
    assert pipe.path.exists()
    fifo.close()
