"""Damage: it costs the chunk that it hits, it is counted, and nothing ever raises."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from log_records import emit, read, write

from mgtop.session.chunks import HEADER, MAGIC, pack
from mgtop.session.reader import LogReader
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import FrameEmit, Record

CHUNKS: list[list[Record]] = [[emit(n * 3 + i) for i in range(3)] for n in range(30)]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[int]]:
    folder = tmp_path_factory.mktemp("whole")
    ends = write(folder, *CHUNKS)
    return (folder / LOG_NAME).read_bytes(), ends


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def flat(chunks: list[list[Record]]) -> list[Record]:
    return [record for records in chunks for record in records]


def test_cut_off_at_every_byte_of_the_last_4_kib(
    log: tuple[bytes, list[int]], folder: Path
) -> None:
    data, ends = log
    for size in range(max(0, len(data) - 4096), len(data)):
        (folder / LOG_NAME).write_bytes(data[:size])
        records, reader = read(folder)
        whole = sum(end <= size for end in ends)
        assert records == flat(CHUNKS[:whole])
        assert reader.malformed_chunks == 0
        assert reader.pending_bytes == size - ([0, *ends][whole])


def test_cut_off_and_written_on_at_every_byte_of_a_chunk(
    log: tuple[bytes, list[int]], folder: Path
) -> None:
    """As after a crash of the machine: the half chunk stays, and whole ones follow it."""
    data, ends = log
    later = pack([emit(1000)])[0] + pack([emit(1001)])[0]
    for size in range(ends[3], ends[4]):
        (folder / LOG_NAME).write_bytes(data[:size] + later)
        records, reader = read(folder)
        assert records == [*flat(CHUNKS[:4]), emit(1000), emit(1001)]
        assert reader.malformed_chunks == (size > ends[3])


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), most=st.integers(50, 8000))
@settings(max_examples=300, deadline=None)
def test_a_flipped_bit_costs_at_most_its_chunk(
    log: tuple[bytes, list[int]], folder: Path, at: float, bit: int, most: int
) -> None:
    data, ends = log
    place = int(at * len(data))
    damaged = bytearray(data)
    damaged[place] ^= 1 << bit
    (folder / LOG_NAME).write_bytes(damaged)
    hit = sum(end <= place for end in ends)
    records, reader = read(folder, most)
    assert records == flat(CHUNKS[:hit] + CHUNKS[hit + 1 :])
    # In the last chunk a longer length cannot be told from a chunk that is being written.
    assert reader.malformed_chunks == 1 or (hit == len(ends) - 1 and reader.pending_bytes)


@pytest.mark.parametrize("chunk", [0, 7, 28, 29])
def test_every_bit_of_a_header(log: tuple[bytes, list[int]], folder: Path, chunk: int) -> None:
    data, ends = log
    begin = [0, *ends][chunk]
    for bit in range(HEADER.size * 8):
        damaged = bytearray(data)
        damaged[begin + bit // 8] ^= 1 << bit % 8
        (folder / LOG_NAME).write_bytes(damaged)
        assert read(folder)[0] == flat(CHUNKS[:chunk] + CHUNKS[chunk + 1 :])


@given(st.lists(st.binary(max_size=300), min_size=31, max_size=31), st.integers(20, 5000))
@settings(max_examples=100, deadline=None)
def test_garbage_between_chunks_is_passed_over(
    log: tuple[bytes, list[int]], folder: Path, garbage: list[bytes], most: int
) -> None:
    data, ends = log
    parts = [data[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    mixed = b"".join(g + part for g, part in zip(garbage, [*parts, b""], strict=True))
    (folder / LOG_NAME).write_bytes(mixed)
    records, reader = read(folder, most)
    assert records == flat(CHUNKS)
    places = sum(bool(g) for g in garbage[:-1])
    assert places <= reader.malformed_chunks <= places + bool(garbage[-1])


@given(st.binary(max_size=2000), st.integers(1, 3000))
@example(MAGIC * 100, 50)
@example(HEADER.pack(MAGIC, 0, 0) * 50, 4000)
@example(HEADER.pack(MAGIC, 0xFFFFFFFF, 0) * 50, 4000)
@settings(max_examples=200, deadline=None)
def test_no_bytes_ever_raise_or_hold_up(folder: Path, data: bytes, most: int) -> None:
    (folder / LOG_NAME).write_bytes(data)
    reader = LogReader(folder, most)
    for _ in range(len(data) + 2):
        reader.poll()
        if reader.at_end:
            break
    assert reader.at_end


def test_zeros_after_a_crash_of_the_machine(log: tuple[bytes, list[int]], folder: Path) -> None:
    data, ends = log
    later = pack([emit(1000)])[0]
    (folder / LOG_NAME).write_bytes(data[: ends[9]] + bytes(100_000) + later)
    records, reader = read(folder, 5000)
    assert records == [*flat(CHUNKS[:10]), emit(1000)]
    assert reader.malformed_chunks == 1


def test_damage_at_the_end_is_over_once_a_whole_chunk_follows(
    log: tuple[bytes, list[int]], folder: Path
) -> None:
    """Live: the length of the last chunk is too large, and the reader polls meanwhile."""
    data, ends = log
    damaged = bytearray(data)
    damaged[ends[-2] + 5] ^= 0x10
    (folder / LOG_NAME).write_bytes(damaged)
    reader = LogReader(folder)
    assert reader.poll() == flat(CHUNKS[:-1])
    assert reader.poll() == []
    assert reader.malformed_chunks == 0
    later = pack([emit(1000)])[0]
    with (folder / LOG_NAME).open("ab") as file:
        file.write(later[:30])
        file.flush()
        assert reader.poll() == []
        file.write(later[30:])
    assert reader.poll() == [emit(1000)]
    assert reader.malformed_chunks == 1


def test_a_log_made_to_be_slow_is_not(folder: Path) -> None:
    """Beginnings that each claim megabytes: every claim is checked, but not without end."""
    claims = HEADER.pack(MAGIC, 2 << 20, 1) * (4 << 20 >> 4)
    (folder / LOG_NAME).write_bytes(claims + pack([emit(0)])[0])
    reader = LogReader(folder)
    began = time.monotonic()
    for _ in range(3):
        reader.poll()
    assert time.monotonic() - began < 5  # unbounded, one poll takes minutes


def test_a_magic_in_damaged_data_does_not_hide_what_follows(folder: Path) -> None:
    odd = int.from_bytes(MAGIC + (1 << 20).to_bytes(4, "big"), "big")
    chunks = [pack([emit(0, t_ns=odd)])[0], pack([emit(1)])[0], pack([emit(2)])[0]]
    damaged = bytearray(chunks[0])
    damaged[1] ^= 1
    (folder / LOG_NAME).write_bytes(bytes(damaged) + chunks[1] + chunks[2])
    records, reader = read(folder)
    assert records == [emit(1), emit(2)]
    assert reader.malformed_chunks == 1
    assert all(isinstance(record, FrameEmit) for record in records)
