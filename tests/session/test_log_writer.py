"""Appending: one write a chunk, all of it or nothing."""

from __future__ import annotations

import os
import resource
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import pytest
from log_records import emit, line, read, start

from mgtop.session import chunks
from mgtop.session.columns import unfold
from mgtop.session.writer import LOG_NAME, LogWriter, SessionWriteError
from mgtop.wire.records import TargetStart


def test_the_bytes_of_a_chunk_are_as_documented(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    size = writer.append([emit(0), emit(1)])
    writer.close()
    data = (tmp_path / LOG_NAME).read_bytes()
    assert len(data) == size
    assert data[:4] == b"\xc1LOG"
    length, crc = struct.unpack(">II", data[4:12])
    payload = data[12:]
    assert (len(payload), zlib.crc32(payload)) == (length, crc)
    assert payload[:1] == b"\x01"
    order, kinds, times, columns = msgspec.msgpack.decode(zlib.decompress(payload[1:], -15))
    assert (order, kinds, times) == (b"\0\0", [[6, 18]], [0, 62_500_000])
    assert len(columns) == 16
    assert columns[0] == [0, 1]
    plain = msgspec.msgpack.decode(unfold(payload))
    assert [record[:3] for record in plain] == [[6, 0, 0], [6, 62_500_000, 1]]


def test_one_append_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = LogWriter(tmp_path)
    sizes: list[int] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        sizes.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    expected = [writer.append([emit(n) for n in range(count)]) for count in (1, 500)]
    writer.close()
    assert sizes == expected


def test_no_records_no_chunk(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    assert writer.append([]) == 0
    writer.close()
    assert (tmp_path / LOG_NAME).read_bytes() == b""


def test_a_second_writer_goes_on_at_the_end(tmp_path: Path) -> None:
    for n in range(3):
        writer = LogWriter(tmp_path)
        writer.append([emit(n)])
        writer.close()
    assert read(tmp_path)[0] == [emit(0), emit(1), emit(2)]


def test_only_the_owner_may_read_the_log(tmp_path: Path) -> None:
    LogWriter(tmp_path).close()
    assert (tmp_path / LOG_NAME).stat().st_mode & 0o777 == 0o600


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    writer.close()
    writer.close()


def test_too_many_records_for_one_chunk_make_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MAX_PAYLOAD", 2000)
    records = [emit(n) for n in range(300)]
    writer = LogWriter(tmp_path)
    size = writer.append(records)
    writer.close()
    assert size == (tmp_path / LOG_NAME).stat().st_size
    assert (tmp_path / LOG_NAME).read_bytes().count(chunks.MAGIC) > 5
    assert read(tmp_path)[0] == records


def test_one_record_that_no_chunk_can_hold_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MAX_PAYLOAD", 2000)
    writer = LogWriter(tmp_path)
    writer.append([emit(0)])
    with pytest.raises(SessionWriteError, match=r"session\.log: a OutputLine of .* too large"):
        writer.append([emit(1), line("x" * 3000)])
    writer.append([emit(2)])
    writer.close()
    assert read(tmp_path)[0] == [emit(0), emit(2)]


def test_names_that_are_not_utf8_do_not_stop_the_recording(tmp_path: Path) -> None:
    odd = os.fsdecode(b"clip-\xff.mp4")
    writer = LogWriter(tmp_path)
    writer.append([start(name=odd), TargetStart(t_ns=1, pid=2, proc=3, command=["play", odd])])
    writer.close()
    first, second = read(tmp_path)[0]
    assert first == start(name="clip-?.mp4")
    assert isinstance(second, TargetStart)
    assert second.command == ["play", "clip-?.mp4"]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SessionWriteError) as caught:
        LogWriter(tmp_path / "gone")
    assert (
        str(caught.value) == f"cannot write {tmp_path}/gone/session.log: No such file or directory"
    )


def test_a_full_disk_is_one_sentence_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).symlink_to("/dev/full")
    writer = LogWriter(tmp_path)
    with pytest.raises(SessionWriteError) as caught:
        writer.append([emit(0)])
    writer.close()
    assert str(caught.value) == (
        f"cannot write {tmp_path}/session.log: No space left on device; "
        "free some space, or choose another folder"
    )


LIMITED = """
import resource, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
from log_records import emit
from mgtop.session.writer import LogWriter, SessionWriteError
writer = LogWriter(Path(sys.argv[1]))
whole = writer.append([emit(n) for n in range(50)])
resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 60, whole + 60))
try:
    writer.append([emit(n) for n in range(50, 100)])
except SessionWriteError as error:
    print(error)
print(writer.path.stat().st_size - whole)
print(writer.append([emit(100)]) > 0)
writer.close()
"""


def test_a_short_write_is_cut_back_and_a_smaller_chunk_still_fits(tmp_path: Path) -> None:
    """The kernel itself cuts the write short, at a limit on the file's size."""
    here = Path(__file__).parent
    code = LIMITED.format(root=str(here.parent.parent), here=str(here))
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    sentence, left_over, fitted = done.stdout.splitlines()
    assert sentence == (
        f"cannot write {tmp_path}/session.log: File too large; "
        "free some space, or choose another folder"
    )
    assert (left_over, fitted) == ("0", "True")
    records, reader = read(tmp_path)
    assert records == [emit(n) for n in range(50)] + [emit(100)]
    assert reader.malformed_chunks == 0


WRITING = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
from log_records import emit
from mgtop.session.writer import LogWriter
writer = LogWriter(Path(sys.argv[1]))
n = 0
while True:
    writer.append([emit(n)])
    n += 1
    print(n, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_had_appended(tmp_path: Path) -> None:
    here = Path(__file__).parent
    code = WRITING.format(root=str(here.parent.parent), here=str(here))
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    appended = int([word for word in said if word.endswith("\n")][-1])
    records, reader = read(tmp_path)
    assert len(records) >= appended >= 200
    assert records == [emit(n) for n in range(len(records))]
    assert reader.malformed_chunks == 0


def test_this_machine_does_not_limit_files() -> None:
    """Else the tests above would test something else."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY,)
