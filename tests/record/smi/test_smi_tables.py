"""What nvidia-smi writes: all three tables, with and without units, times and values."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.record.smi.records import cannot_tell_target, smi_records
from mgtop.record.smi.tables import NotATable, read_table
from mgtop.wire.records import (
    GpuDevice,
    GpuMemory,
    GpuProcess,
    GpuState,
    GpuUtilisation,
    Record,
    SourceState,
)

SECOND = 1_000_000_000
MIB = 1 << 20

QUERY = """\
timestamp, index, uuid, name, driver_version, utilization.gpu [%], utilization.memory [%], \
memory.used [MiB], memory.total [MiB], power.draw [W], temperature.gpu, clocks.sm [MHz], \
clocks_event_reasons.active
2026/11/30 22:15:00.500, 0, GPU-aa, NVIDIA H200, 580.1, 35 %, 12 %, 1234 MiB, 143771 MiB, \
312.45 W, 45, 1980 MHz, 0x0000000000000004
2026/11/30 22:15:00.600, 0, GPU-aa, NVIDIA H200, 580.1, 0 %, 0 %, 1300 MiB, 143771 MiB, \
[N/A], 46, 1980 MHz, 0x0000000000000000
"""
NOUNITS = """\
timestamp, uuid, utilization.gpu [%], memory.used [MiB]
2026/11/30 22:15:01.000, GPU-bb, 99, 10
2026/11/30 22:15:01.000, GPU-aa, [Not Supported], 20
"""
APPS = """\
timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]
2026/11/30 22:15:00.000, GPU-aa, 4711, /opt/venv/bin/python3, 900 MiB
2026/11/30 22:15:00.000, GPU-aa, 99, /usr/lib/xorg/Xorg, 50 MiB
2026/11/30 22:15:01.000, GPU-aa, 4711, /opt/venv/bin/python3, [N/A]
"""
DMON = """\
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz     MB
 20261130   22:15:00      0     70     35      -      3      1      0      0   9501   1500    812
 20261130   22:15:01      0    150     40      -     97     60      0      0   9501   1905   9000
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz     MB
 20261130   22:15:02      0      -     41      -     98     61      0      0   9501   1905   9100
"""
DMON_BARE = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
# Idx      W      C      C      %      %      %      %    MHz    MHz
    0     70     35      -      3      1      0      0   9501   1500
    1     71     36      -      4      1      0      0   9501   1500
    0     72     37      -      5      1      0      0   9501   1500
    1     73     38      -      6      1      0      0   9501   1500
"""


def wall(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000


def of(kind: type[Record], records: list[Record]) -> list[Record]:
    return [record for record in records if type(record) is kind]


def test_query_gpu() -> None:
    table = read_table(QUERY)
    assert (table.kind, len(table.rows), table.malformed) == ("query-gpu", 2, 0)
    records = smi_records([table], wall("2026-11-30 22:15:00"), 2 * SECOND)
    (device,) = of(GpuDevice, records)
    assert isinstance(device, GpuDevice)
    assert (device.uuid, device.name, device.driver) == ("GPU-aa", "NVIDIA H200", "580.1")
    assert device.total_bytes == 143771 * MIB
    memory = of(GpuMemory, records)
    assert [(r.t_ns, r.used_bytes) for r in memory if isinstance(r, GpuMemory)] == [
        (SECOND // 2, 1234 * MIB),
        (SECOND * 6 // 10, 1300 * MIB),
    ]
    use = [r for r in records if isinstance(r, GpuUtilisation)]
    assert [(r.percent, r.memory_percent, r.period_ns) for r in use] == [
        (35, 12, SECOND // 5),  # the driver's figure covers 200 ms, however often it is read
        (0, 0, SECOND // 5),
    ]
    states = [r for r in records if isinstance(r, GpuState)]
    assert (states[0].power_mw, states[0].sm_mhz, states[0].clock_event_reasons) == (
        312450,
        1980,
        4,
    )
    assert states[1].power_mw is None  # not 0


def test_without_units_and_numbers_of_gpus() -> None:
    records = smi_records([read_table(NOUNITS)], None, 0)
    devices = [r for r in records if isinstance(r, GpuDevice)]
    assert [(r.gpu, r.uuid, r.total_bytes) for r in devices] == [
        (0, "GPU-bb", None), (1, "GPU-aa", None),
    ]  # fmt: skip
    use = [r for r in records if isinstance(r, GpuUtilisation)]
    assert [(r.gpu, r.percent, r.memory_percent) for r in use] == [(0, 99, None)]


def test_two_tables_mean_the_same_gpu_by_its_uuid() -> None:
    records = smi_records([read_table(QUERY), read_table(APPS)], None, 0)
    assert len(of(GpuDevice, records)) == 1
    assert {r.gpu for r in records if isinstance(r, (GpuMemory, GpuProcess))} == {0}


def test_compute_apps() -> None:
    records = smi_records([read_table(APPS)], wall("2026-11-30 22:15:00"), 0)
    processes = [r for r in records if isinstance(r, GpuProcess)]
    assert [(r.pid, r.relation, r.how, r.used_bytes) for r in processes] == [
        (4711, "target", "sole_tenant", 900 * MIB),
        (99, "neighbour", "none", 50 * MIB),
        (99, "neighbour", "none", 0),  # missing from the next query: it has left
        (4711, "target", "sole_tenant", None),
    ]


def test_processes_among_which_the_program_cannot_be_told_are_left_out() -> None:
    table = read_table(APPS.replace("/usr/lib/xorg/Xorg", "/usr/bin/python3.10"))
    assert cannot_tell_target(table)
    assert of(GpuProcess, smi_records([table], None, 0)) == []
    assert not cannot_tell_target(read_table(APPS))
    assert not cannot_tell_target(read_table(QUERY))


def test_dmon_with_times() -> None:
    table = read_table(DMON)
    assert (table.kind, len(table.rows), table.malformed) == ("dmon", 3, 0)
    records = smi_records([table], wall("2026-11-30 22:14:58"), 10 * SECOND)
    use = [r for r in records if isinstance(r, GpuUtilisation)]
    assert [(r.t_ns, r.percent, r.period_ns) for r in use] == [
        (2 * SECOND, 3, SECOND), (3 * SECOND, 97, SECOND), (4 * SECOND, 98, SECOND),
    ]  # fmt: skip
    assert [r.used_bytes for r in records if isinstance(r, GpuMemory)][1] == 9000 * MIB
    assert [r.power_mw for r in records if isinstance(r, GpuState)] == [70_000, 150_000, None]
    states = [(r.t_ns, r.state) for r in records if isinstance(r, SourceState)]
    assert states == [
        (0, "absent"), (2 * SECOND, "ok"), (3 * SECOND, "ok"), (4 * SECOND, "ok"),
        (5 * SECOND, "absent"),
    ]  # fmt: skip


def test_dmon_without_times_has_a_row_a_second() -> None:
    records = smi_records([read_table(DMON_BARE)], wall("2026-11-30 22:15:00"), 0)
    use = [r for r in records if isinstance(r, GpuUtilisation)]
    assert [(r.t_ns, r.gpu, r.percent) for r in use] == [
        (0, 0, 3), (0, 1, 4), (SECOND, 0, 5), (SECOND, 1, 6),
    ]  # fmt: skip


def test_dmon_with_commas() -> None:
    table = read_table("#gpu, pwr, gtemp, sm, mem\n#Idx, W, C, %, %\n0, 70, 35, 3, 1\n")
    assert table.rows[0].number("percent") == 3


def test_lines_that_do_not_fit_are_counted_and_repeated_headers_are_none() -> None:
    header, first, *_ = NOUNITS.splitlines()
    table = read_table("\n".join([header, first, header, "cut off, lin", first]))
    assert (len(table.rows), table.malformed) == (2, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("2026/11/30 22:15:00.500, 35 %, 1234 MiB\n", "not with noheader"),
        ("time,frames\n1,2\n", "names no column"),
        ("# frames per second\n1 2\n", "names no column of nvidia-smi dmon"),
    ],
)
def test_what_is_no_table(text: str, said: str) -> None:
    with pytest.raises(NotATable, match=said.replace("not with noheader", "noheader")):
        read_table(text)


def test_rows_before_the_log_are_left_out() -> None:
    records = smi_records([read_table(QUERY)], wall("2026-11-30 22:15:00.550"), SECOND)
    assert len(of(GpuMemory, records)) == 1
    assert smi_records([read_table(QUERY)], wall("2026-11-30 23:00:00"), SECOND) == []
    assert smi_records([], None, SECOND) == []


@given(st.text(max_size=300), st.sampled_from([QUERY, APPS, DMON, DMON_BARE, ""]))
def test_any_text_is_a_table_or_none(text: str, before: str) -> None:
    try:
        table = read_table(before + text)
    except NotATable:
        return
    records = smi_records([table], None, SECOND)
    assert all(record.t_ns >= 0 for record in records)
    times = [record.t_ns for record in records if not isinstance(record, GpuDevice)]
    assert times == sorted(times)


def test_where_nothing_was_written_the_source_is_not_said_to_live() -> None:
    rows = [f"2026/11/30 22:15:{second:02d}.000, 0, {second}" for second in (0, 1, 2, 9, 10)]
    table = read_table("\n".join(["timestamp, index, utilization.gpu [%]", *rows]))
    records = smi_records([table], wall("2026-11-30 22:15:00"), 10 * SECOND)
    states = [(r.t_ns // SECOND, r.state) for r in records if isinstance(r, SourceState)]
    assert states == [(0, "ok"), (1, "ok"), (2, "ok"), (3, "absent"), (9, "ok"), (10, "ok")]


def test_two_tables_that_began_apart_stay_apart_without_the_logs_time() -> None:
    later = APPS.replace("22:15:00", "22:15:07").replace("22:15:01", "22:15:08")
    records = smi_records([read_table(QUERY), read_table(later)], None, 60 * SECOND)
    assert min(r.t_ns for r in records if isinstance(r, GpuMemory)) == 0
    assert min(r.t_ns for r in records if isinstance(r, GpuProcess)) == 6.5 * SECOND


def test_what_was_read_long_after_the_log_is_left_out() -> None:
    rows = [f"2026/11/30 22:{minute:02d}:00.000, 0, 7" for minute in range(60)]
    table = read_table("\n".join(["timestamp, index, utilization.gpu [%]", *rows]))
    records = smi_records([table], wall("2026-11-30 22:15:00"), 61 * SECOND)
    assert [r.t_ns // SECOND for r in records if isinstance(r, GpuUtilisation)] == [0, 60]


def test_a_table_that_names_gpus_and_one_that_numbers_them() -> None:
    both = "timestamp, index, uuid\n2026/11/30 22:15:00.000, 1, GPU-b\n"
    named = "timestamp, uuid, utilization.gpu [%]\n2026/11/30 22:15:00.000, GPU-b, 7\n"
    records = smi_records([read_table(named), read_table(both)], None, SECOND)
    assert [(r.gpu, r.uuid) for r in records if isinstance(r, GpuDevice)] == [(1, "GPU-b")]
