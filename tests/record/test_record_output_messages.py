"""Messages about memory in every shape that programs print, their amounts, and their root."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.record.output import OutputTail
from mgtop.record.output_file import Line
from mgtop.record.output_lines import recognise
from mgtop.record.output_messages import MOST_LINES, Messages, root_of
from mgtop.wire.memory_amounts import amounts_in
from mgtop.wire.records import OutputLine

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MS = 1_000_000
ASYNC = """\
torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 10.00 GiB
Requested               : 2.00 GiB
Device limit            : 24.00 GiB
Free (according to CUDA): 11.00 MiB
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB
"""


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        (  # 2018
            ("RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB "
            "total capacity; 8.50 MiB already allocated; 9.28 GiB free; 4.50 MiB cached)"),
            {"requested": 12.5 * MIB, "total": 10.92 * GIB, "allocated": 8.5 * MIB,
             "free": 9.28 * GIB, "reserved": 4.5 * MIB},
        ),
        (  # up to torch 2.0
            ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; "
            "23.65 GiB total capacity; 22.10 GiB already allocated; 11.50 MiB free; 22.40 GiB "
            "reserved in total by PyTorch) If reserved memory is >> allocated memory try"),
            {"requested": 20 * MIB, "total": 23.65 * GIB, "allocated": 22.1 * GIB,
             "free": 11.5 * MIB, "reserved": 22.4 * GIB},
        ),
        (  # 2.1, as it was spelled
            ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacty of 23.65 "
            "GiB of which 1.20 GiB is free."),
            {"requested": 2 * GIB, "total": 23.65 * GIB, "free": 1.2 * GIB},
        ),
        (  # later ones, with everything that they may say
            ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 KiB. GPU 0 "
            "has a total capacity of 79.11 GiB of which 3.00 MiB is free. Process 11 has 5.00 "
            "GiB memory in use. Process 12 has 1.00 GiB memory in use. Including non-PyTorch "
            "memory, this process has 17.00 GiB memory in use. 20.00 GiB allowed; Of the "
            "allocated memory 15.00 GiB is allocated by PyTorch, with 100.00 MiB allocated in "
            "private pools (e.g., CUDA Graphs), and 200.50 MiB is reserved by PyTorch but "
            "unallocated."),
            {"requested": 512 * KIB, "total": 79.11 * GIB, "free": 3 * MIB, "others": 6 * GIB,
             "process": 17 * GIB, "allowed": 20 * GIB, "allocated": 15 * GIB,
             "private_pools": 100 * MIB, "unallocated": 200.5 * MIB},
        ),
        (  # HIP puts its own name into the same text
            ("HIP out of memory. Tried to allocate 512.00 bytes. GPU 0 has a total capacity of "
            "15.98 GiB of which 0 bytes is free."),
            {"requested": 512, "total": 15.98 * GIB, "free": 0},
        ),
        (
            ("MPS backend out of memory (MPS allocated: 8.86 GB, other allocations: 9.04 MB, max "
            "allowed: 9.07 GB). Tried to allocate 256 bytes on shared pool."),
            {"requested": 256, "allocated": 8.86 * GIB, "allowed": 9.07 * GIB},
        ),
        (ASYNC, {"requested": 2 * GIB, "total": 24 * GIB, "allocated": 10 * GIB,
                 "free": 11 * MIB}),
        ("NCCL WARN Failed to CUDA calloc 10485760 bytes", {"requested": 10485760}),
        ("misc/alloc.h:216 NCCL WARN Failed to CUDA calloc async 4 bytes", {"requested": 4}),
        (
            ("RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: can't "
            "allocate memory: you tried to allocate 4096 bytes. Error code 12"),
            {"requested": 4096},
        ),
        ("torch.AcceleratorError: CUDA error: out of memory", {}),
        ("Tried to allocate 17179869184.00 GiB", {}),
        ("99999999999999999999999999 GiB free", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_amounts(text: str, amounts: dict[str, float]) -> None:
    found = amounts_in(text)
    assert set(found) == set(amounts)
    for name, value in amounts.items():
        assert found[name] == pytest.approx(value, abs=1)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "oom"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "oom"),
        ("RuntimeError: HIP error: hipErrorOutOfMemory", "oom"),
        ("rank1: NCCL WARN Cuda failure 'out of memory'", "oom"),
        ("alloc.h:216 NCCL WARN Failed to CUDA calloc 4 bytes", "oom"),
        ("RuntimeError: CUDA driver error: out of memory", "oom"),
        ("cudaErrorMemoryAllocation: the API call failed", "oom"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling", "oom_suspect"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "oom_suspect"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", "oom_suspect"),
        ("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`",
         "oom_suspect"),
        (("[W CUDACachingAllocator.cpp:2863] Warning: expandable_segments not supported on this "
         "platform (function operator())"), None),
        ("[W AllocatorConfig.cpp:28] Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use", None),
        ("[W CUDACachingAllocator.cpp:1425] Warning: memory pressure", "allocator"),
        (("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 245760, "
         "Hardware limit: 232448. Reducing block sizes"), "error"),
        ("[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 MiB", "oom"),
        ("[rank3]: ValueError: bad", "error"),
        (("[E ProcessGroupNCCL.cpp:1] [Rank 0] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, Timeout(ms)=600000)"), "error"),
        ("ProcessGroupNCCL's watchdog got stuck for 480 seconds", "error"),
        ("ncclUnhandledCudaError: NCCL WARN Cuda failure 'unspecified launch failure'", "error"),
        ("Killed", "error"),
        ("run.sh: line 3:  4711 Killed                  python infer.py", "error"),
        ("the killed process", None),
        ("RuntimeError: DefaultCPUAllocator: not enough memory: you tried", "error"),
        ("torch._dynamo hit config.cache_size_limit (8)", "compile"),
        ("TypeError: 'NoneType' object is not subscriptable", "error"),
        ("torch.OutOfMemoryError: Allocation on device ", "oom"),
        ("failed to allocate 15.90G from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "oom"),
        ("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "oom"),
        ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "oom"),
        ("[TRT] [E] Error Code 2: OutOfMemory (no further information)", "oom"),
        ("[TRT] [E] Requested amount of GPU memory (10 bytes) could not be allocated.", "oom"),
        ("错误：显存不足，请降低分辨率", "oom"),
        ("│ OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.   │", "oom"),
        (" 10%|█    | 3/30 [00:01<00:09]torch.OutOfMemoryError: CUDA out of memory.", "oom"),
        ('{"level":"error","msg":"CUDA out of memory. Tried to allocate 2.00 GiB."}', "oom"),
        ("caught CUDA out of memory, trying again", "oom"),
        ("Tip: if you run into CUDA out of memory, use --offload", None),
        ("set max_split_size_mb to avoid CUDA out of memory", None),
        ("INFO: no CUDA out of memory was seen", None),
        ('  warnings.warn("CUDA out of memory")', None),
        ("RuntimeError: CUDA error: CURAND_STATUS_INITIALIZATION_FAILED", "oom_suspect"),
        ("RuntimeError: cudaMallocAsync does not yet support checkPoolLiveAllocations", "error"),
        ("RuntimeError: expandable_segments tensors cannot be shared between processes", "error"),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error",
         "error"),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "error"),
        ("Bus error (core dumped)", "error"),
        ("Out of memory: Killed process 4711 (python) total-vm:1kB", "error"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.", "error"),
        ("torch._dynamo hit config.recompile_limit (8)", "compile"),
        ("Recompiling function forward in /app/model.py:12", "compile"),
    ],
)  # fmt: skip
def test_kinds(line: str, kind: str | None) -> None:
    found = recognise(line)
    assert (found[0] if found else None) == kind


def lines_of(text: str) -> list[Line]:
    lines, at = [], 0
    for line in text.splitlines():
        lines.append(Line(at, line))
        at += len(line.encode()) + 1
    return lines


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_table_is_one_message_however_it_arrives(cut: int) -> None:
    messages, lines = Messages(), lines_of(ASYNC + "then something else\n")
    found = messages.take(lines[:cut], 100 * MS) + messages.take(lines[cut:], 120 * MS)
    (record,) = found
    assert record.kind == "oom"
    assert (record.offset, record.t_ns) == (0, 100 * MS)
    assert record.amounts["requested"] == 2 * GIB
    assert record.amounts["total"] == 24 * GIB
    assert "allowed" not in record.amounts
    assert record.text.startswith("torch.cuda.OutOfMemoryError: Allocation on device 0 would")
    assert "Requested : 2.00 GiB" in record.text


def test_a_message_is_not_held_back_for_ever() -> None:
    messages, lines = Messages(), lines_of(ASYNC)
    assert messages.take(lines[:3], 0) == []
    assert messages.take([], 40 * MS) == []
    (record,) = messages.take([], 60 * MS)
    assert record.amounts == {"allocated": 10 * GIB, "requested": 2 * GIB}
    assert messages.take(lines[:2], 300 * MS) == []
    assert len(messages.take([], 310 * MS, final=True)) == 1


WRAPPED = """\
╭───────────── Traceback (most recent call last) ──────────────╮
OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00
GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20
GiB is free. Process 11 has 5.00 GiB memory in use. Including
non-PyTorch memory, this process has 17.00 GiB memory in use.
Of the allocated memory 15.00 GiB is allocated by PyTorch, and
200.50 MiB is reserved by PyTorch but unallocated.
TypeError: 'NoneType' object is not subscriptable
"""


def test_a_sentence_that_was_broken_to_the_width_of_a_console() -> None:
    record, error = Messages().take(lines_of(WRAPPED), 0)
    assert record.amounts == {
        "requested": 2 * GIB, "total": round(23.65 * GIB), "free": round(1.2 * GIB),
        "others": 5 * GIB, "process": 17 * GIB, "allocated": 15 * GIB,
        "unallocated": round(200.5 * MIB),
    }  # fmt: skip
    assert "Process 11 has 5.00 GiB memory in use" in record.text
    assert error.kind == "error"


@pytest.mark.parametrize("prefix", ["[rank0]: ", "│ ", "[1,0]<stderr>:"])
def test_a_table_with_something_before_each_line(prefix: str) -> None:
    text = "".join(prefix + line + "\n" for line in ASYNC.splitlines())
    first, *others = Messages().take(lines_of(text + "bye\n"), 0)
    assert first.amounts["requested"] == 2 * GIB
    assert others == []


def test_a_failed_allocation_of_the_hosts_memory_has_its_amount() -> None:
    text = (
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes"
    )
    (record,) = Messages().take(lines_of(text), 0)
    assert (record.kind, record.amounts) == ("error", {"requested": 4096})


def test_the_root_is_the_earliest_about_memory() -> None:
    text = (
        "2026-11-30 ERROR something small\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        "TypeError: 'NoneType' object is not subscriptable\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n"
        "RuntimeError: everything failed\n"
    )
    found = Messages().take(lines_of(text), 0)
    assert [record.kind for record in found] == ["error", "oom", "error", "oom", "error"]
    root = root_of(found)
    assert root is not None
    assert root.amounts == {"requested": 2 * GIB}
    errors = [record for record in found if record.kind == "error"]
    assert root_of(errors) == errors[0]
    assert root_of([]) is None


def test_a_flood_of_errors_does_not_wash_away_what_is_about_memory() -> None:
    text = "ValueError: again\n" * 500 + "torch.OutOfMemoryError: CUDA out of memory\n"
    found = Messages().take(lines_of(text), 0, final=True)
    assert len(found) == MOST_LINES + 1
    assert found[-1].kind == "oom"


def test_through_a_real_file(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_text("hello\n\x1b[31m" + ASYNC + "\x1b[0mbye\n")
    tail = OutputTail(path)
    records = [r for r in tail.poll(5) if isinstance(r, OutputLine)]
    tail.close()
    assert [(r.kind, r.offset) for r in records] == [("oom", 6)]
    assert records[0].amounts["free"] == 11 * MIB


@given(st.lists(st.text(max_size=80), max_size=30))
def test_any_text_gives_records_or_nothing(texts: list[str]) -> None:
    messages, at = Messages(), 0
    for number, text in enumerate(texts):
        for record in messages.take([Line(at, text)], number * MS):
            assert record.text.isprintable() or "\n" in record.text
            assert all(0 <= value < 1 << 50 for value in record.amounts.values())
        at += len(text.encode("utf-8", "replace")) + 1
