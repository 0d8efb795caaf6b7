"""What a program prints: lengths at times, and lines that mean something."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.record import output_file
from mgtop.record.output import OutputTail
from mgtop.record.output_lines import recognise
from mgtop.record.output_messages import MOST_LINES
from mgtop.wire.records import OutputAt, OutputLine

SECOND = 1_000_000_000
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (OOM, "oom"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.65 GiB", "oom"),
        ("torch.AcceleratorError: CUDA error: out of memory", "oom"),
        ("RuntimeError: CUDA driver error: out of memory", "oom"),
        ("MPS backend out of memory (MPS allocated: 1 GB)", "oom"),
        ("NCCL WARN Cuda failure 'out of memory'", "oom"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate", "oom"),
        ("torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.", "oom"),
        ("\x1b[31mtorch.OutOfMemoryError\x1b[0m: CUDA out of memory", "oom"),
        ("[W514 CUDACachingAllocator.cpp:1425] Warning: memory", "allocator"),
        ("Recompiling function forward in model.py:12", "compile"),
        ("torch._dynamo hit config.recompile_limit (8)", "compile"),
        ("AUTOTUNE addmm(64x128, 128x64)", "compile"),
        ("Capturing CUDA graphs: 3/8", "compile"),
        ("Loaded checkpoint from ckpt/model.safetensors", "weights_loaded"),
        ("Model weights loaded in 12.3 s", "weights_loaded"),
        ("Loading checkpoint shards: 100%|####| 3/3", "weights_loaded"),
        ("ValueError: bad size", "error"),
        ("2026-11-30 12:00:00 [ERROR] decoder failed", "error"),
        ("KeyboardInterrupt", None),
        ("    raise torch.OutOfMemoryError: out of CUDA memory", None),
        ("    except torch.cuda.OutOfMemoryError:", None),
        ("triton OutOfResources: out of resource: shared memory, Required: 1, limit: 2", None),
        ("the mean error: 0.02", None),
        ("Loading checkpoint shards:  33%|##", None),
        ("step 4: 80 ms, memory 3 GB", None),
        ("", None),
    ],
)
def test_lines(line: str, kind: str | None) -> None:
    found = recognise(line)
    assert (found[0] if found else None) == kind


def test_text_is_short_and_safe_to_print() -> None:
    found = recognise("ValueError: \x07\x1b[2J" + "x" * 1000)
    assert found is not None
    assert found[1].startswith("ValueError: �xxx")
    assert len(found[1]) == 300


def test_offsets_of_lines_are_their_places_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    tail = OutputTail(path)
    assert tail.poll(0) == []
    content = ""
    found: list[OutputLine] = []
    for number, piece in enumerate(
        ["hello\n", "Value", "Error: 1\r 50%|##\r", "é ü\nKeyError: 'a'\nTypeErr", "or: end"]
    ):
        content += piece
        path.write_text(content, encoding="utf-8")
        found += [r for r in tail.poll(number * SECOND) if isinstance(r, OutputLine)]
    found += [r for r in tail.poll(9 * SECOND, final=True) if isinstance(r, OutputLine)]
    tail.close()
    assert [line.text for line in found] == ["ValueError: 1", "KeyError: 'a'", "TypeError: end"]
    raw = content.encode()
    for line in found:
        assert raw[line.offset :].startswith(line.text.encode())


def test_lengths_are_said_ten_times_a_second_at_most(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(b"")
    tail = OutputTail(path)
    said = []
    for step in range(50):  # a second
        with path.open("ab") as file:
            file.write(b"x\n")
        said += tail.poll(step * SECOND // 50)
    said += tail.poll(2 * SECOND, final=True)
    tail.close()
    assert all(isinstance(record, OutputAt) for record in said)
    assert 9 <= len(said) <= 12
    assert said[-1].offset == 100


def test_a_flood_of_errors_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_bytes(b"ValueError: again\n" * 1000)
    tail = OutputTail(path)
    records = tail.poll(SECOND, final=True)
    tail.close()
    assert len([r for r in records if isinstance(r, OutputLine)]) == MOST_LINES


def test_output_faster_than_it_can_be_read_is_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_file, "FARTHEST_BEHIND", 100_000)
    path = tmp_path / "stdout.log"
    path.write_bytes(b"x" * 70 + b"\n")
    tail = OutputTail(path)
    tail.poll(0)
    with path.open("ab") as file:
        file.write(b"y" * 300_000 + b"\nValueError: last\n")
    records = tail.poll(SECOND)
    tail.close()
    assert tail.skipped_bytes > 200_000
    assert [r.text for r in records if isinstance(r, OutputLine)] == ["ValueError: last"]


def test_a_line_without_end_is_not_kept_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    tail = OutputTail(path)
    path.write_bytes(b"z" * 1_000_000)
    for step in range(20):
        tail.poll(step * SECOND)
    with path.open("ab") as file:
        file.write(b"\nKeyError: 1\n")
    found = tail.poll(30 * SECOND)
    tail.close()
    assert [r.offset for r in found if isinstance(r, OutputLine)] == [1_000_001]
