"""Reading: every record once and in order, however the log grows and the polls fall."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_records import APPENDS, emit, line, read, write

from mgtop.session.chunks import HEADER, MAGIC, pack
from mgtop.session.reader import LogReader, read_all
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import Record


def raw_chunk(payload: bytes) -> bytes:
    import zlib

    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


@given(appends=APPENDS, most_bytes=st.integers(1, 600), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_appends_and_any_polls_give_the_same_records(
    tmp_path_factory: pytest.TempPathFactory,
    appends: list[list[Record]],
    most_bytes: int,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("log")
    write(folder, *appends)
    whole = (folder / LOG_NAME).read_bytes()
    wanted = [record for records in appends for record in records]

    grown = tmp_path_factory.mktemp("grown")
    reader = LogReader(grown, most_bytes)
    got = reader.poll()
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=12).map(sorted))
    done = 0
    for cut in [*cuts, len(whole)]:
        with (grown / LOG_NAME).open("ab") as file:
            file.write(whole[done:cut])
        done = cut
        for _ in range(data.draw(st.integers(0, 3))):
            got += reader.poll()
    got += reader.poll()
    while not reader.at_end:
        got += reader.poll()
    assert got == wanted
    assert (reader.malformed_chunks, reader.unknown_records, reader.pending_bytes) == (0, 0, 0)


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    assert reader.poll() == []
    assert (reader.at_end, reader.error) == (True, "No such file or directory")
    write(tmp_path, [emit(0)])
    assert reader.poll() == [emit(0)]
    assert reader.error is None
    assert reader.poll() == []


def test_a_chunk_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    (chunk,) = pack([emit(0)])
    reader = LogReader(tmp_path)
    for byte in chunk[:-1]:
        with (tmp_path / LOG_NAME).open("ab") as file:
            file.write(bytes([byte]))
        assert reader.poll() == []
        assert reader.at_end
    assert reader.pending_bytes == len(chunk) - 1
    with (tmp_path / LOG_NAME).open("ab") as file:
        file.write(chunk[-1:])
    assert reader.poll() == [emit(0)]
    assert (reader.pending_bytes, reader.malformed_chunks) == (0, 0)


def test_a_magic_inside_a_number_is_no_beginning(tmp_path: Path) -> None:
    """Times hold any bytes. The chunk is incomplete at first, and the false magic is in it."""
    odd = emit(0, t_ns=int.from_bytes(MAGIC + b"\x00\x00\x00\x01", "big"))
    chunk, after = pack([odd])[0], pack([emit(1)])[0]
    assert chunk.count(MAGIC) == 2
    for cut in range(1, len(chunk)):
        (tmp_path / LOG_NAME).write_bytes(chunk[:cut])
        reader = LogReader(tmp_path)
        assert reader.poll() == []
        (tmp_path / LOG_NAME).write_bytes(chunk + after)
        assert reader.poll() == [odd, emit(1)]
        assert reader.malformed_chunks == 0


def test_what_was_cut_back_and_written_anew_is_read_right(tmp_path: Path) -> None:
    """A writer on a full disk cuts its half chunk off; a reader may have seen the half."""
    first, half, last = (pack([emit(n)])[0] for n in range(3))
    (tmp_path / LOG_NAME).write_bytes(first + half[: len(half) // 2])
    reader = LogReader(tmp_path)
    assert reader.poll() == [emit(0)]
    os.truncate(tmp_path / LOG_NAME, len(first))
    with (tmp_path / LOG_NAME).open("ab") as file:
        file.write(last)
    assert reader.poll() == [emit(2)]
    assert reader.malformed_chunks == 0


def test_a_log_cut_below_what_was_read_goes_on_after_the_cut(tmp_path: Path) -> None:
    write(tmp_path, [emit(0)], [emit(1)], [emit(2)])
    reader = LogReader(tmp_path)
    assert len(reader.poll()) == 3
    os.truncate(tmp_path / LOG_NAME, 10)
    assert reader.poll() == []
    write(tmp_path, [emit(3)])
    assert reader.poll() == [emit(3)]
    assert reader.malformed_chunks == 1


def test_another_log_in_its_place_is_not_mixed_in(tmp_path: Path) -> None:
    write(tmp_path, [emit(0)])
    reader = LogReader(tmp_path)
    reader.poll()
    os.rename(tmp_path / LOG_NAME, tmp_path / "old.log")
    write(tmp_path, [emit(5)], [emit(6)])
    assert reader.poll() == []
    assert reader.replaced
    assert reader.at_end


def test_one_poll_reads_no_more_than_it_was_told(tmp_path: Path) -> None:
    write(tmp_path, *([emit(n)] for n in range(1000)))
    reader = LogReader(tmp_path, most_bytes=4096)
    sizes = []
    while not reader.at_end:
        sizes.append(len(reader.poll()))
    assert sum(sizes) == 1000
    assert max(sizes) < 120


def test_a_chunk_larger_than_a_poll_is_read_in_one(tmp_path: Path) -> None:
    numbers = random.Random(0)
    big = [emit(numbers.getrandbits(30)) for _ in range(3000)]
    write(tmp_path, [emit(7)], big, [emit(8)])
    assert (tmp_path / LOG_NAME).stat().st_size > 20_000
    reader = LogReader(tmp_path, most_bytes=1000)
    assert reader.poll() == [emit(7)]
    assert reader.poll() == big
    assert not reader.at_end
    assert reader.poll() == [emit(8)]


def test_from_near_the_end(tmp_path: Path) -> None:
    write(tmp_path, *([emit(n)] for n in range(100)))
    records = LogReader(tmp_path, from_end=300).poll()
    assert 1 <= len(records) <= 300 // len(pack([emit(99)])[0])
    assert records == [emit(n) for n in range(100 - len(records), 100)]


def test_all_records_in_order(tmp_path: Path) -> None:
    write(tmp_path, [emit(0), emit(1)], [emit(2)])
    assert list(read_all(tmp_path)) == [emit(0), emit(1), emit(2)]
    assert list(read_all(tmp_path / "nowhere")) == []


def test_records_of_a_newer_version_are_skipped_and_counted(tmp_path: Path) -> None:
    payload = msgspec.msgpack.encode([emit(0), [4000, 1, "new"], emit(1), [4001, 2], "text"])
    (tmp_path / LOG_NAME).write_bytes(raw_chunk(payload))
    records, reader = read(tmp_path)
    assert records == [emit(0), emit(1)]
    assert (reader.unknown_records, reader.malformed_chunks) == (3, 0)


def test_a_known_record_with_fields_of_a_newer_version_is_kept(tmp_path: Path) -> None:
    longer = [*msgspec.to_builtins(emit(3)), "a field of the future", 42]
    (tmp_path / LOG_NAME).write_bytes(raw_chunk(msgspec.msgpack.encode([longer])))
    records, reader = read(tmp_path)
    assert records == [emit(3)]
    assert reader.unknown_records == 0


def test_a_record_of_an_older_version_lacks_the_last_fields(tmp_path: Path) -> None:
    shorter = msgspec.to_builtins(emit(3))[:9]
    (tmp_path / LOG_NAME).write_bytes(raw_chunk(msgspec.msgpack.encode([shorter])))
    assert read(tmp_path)[0] == [msgspec.structs.replace(emit(3), cpu_ns=None)]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc0",
        b"\x81\x01\x02",
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 300_000 + b"\xc0",
        b"\x92\x01",
    ],
    ids=["empty", "nil", "map", "four thousand million", "deep", "short"],
)
def test_a_chunk_that_holds_no_records_costs_only_itself(tmp_path: Path, payload: bytes) -> None:
    around = pack([emit(0)])[0], pack([emit(1)])[0]
    (tmp_path / LOG_NAME).write_bytes(around[0] + raw_chunk(payload) + around[1])
    records, reader = read(tmp_path)
    assert records == [emit(0), emit(1)]
    assert reader.malformed_chunks == 1


def test_a_text_that_is_not_utf8_costs_only_its_record(tmp_path: Path) -> None:
    payload = bytearray(msgspec.msgpack.encode([emit(0), line("ab"), emit(1)]))
    at = payload.index(b"ab")
    payload[at : at + 2] = b"\xff\xfe"
    (tmp_path / LOG_NAME).write_bytes(raw_chunk(bytes(payload)))
    records, reader = read(tmp_path)
    assert records == [emit(0), emit(1)]
    assert reader.unknown_records == 1


def test_what_is_no_file_is_no_log(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).mkdir()
    reader = LogReader(tmp_path)
    assert reader.poll() == []
    assert reader.error == "Is a directory"
    pipe = tmp_path / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / LOG_NAME)
    assert LogReader(pipe).poll() == []


def test_reading_while_another_process_writes(tmp_path: Path) -> None:
    """The writer is a fork that appends as fast as it can; no record is lost or doubled."""
    import multiprocessing

    process = multiprocessing.get_context("spawn").Process(target=_write_many, args=(tmp_path,))
    process.start()
    reader = LogReader(tmp_path, most_bytes=3000)
    got: list[Record] = []
    while process.is_alive() or not reader.at_end:
        got += reader.poll()
    process.join()
    while not reader.at_end:
        got += reader.poll()
    got += reader.poll()
    assert process.exitcode == 0
    assert got == [emit(n) for n in range(6000)]
    assert reader.malformed_chunks == 0


def _write_many(folder: Path) -> None:
    writer = LogWriter(folder)
    for n in range(0, 6000, 6):
        writer.append([emit(n + i) for i in range(6)])
    writer.close()
