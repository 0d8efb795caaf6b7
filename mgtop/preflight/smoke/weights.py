"""First criterion: a sign that weights were loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mgtop.preflight.smoke.open_files import is_weights
from mgtop.preflight.smoke.output_lines import OutputLine
from mgtop.preflight.smoke.result import Criterion
from mgtop.preflight.smoke.seen import Seen
from mgtop.wire.records import AnyRecord, GpuProcess, Load, TorchMemory

_LOADING = re.compile(
    r"\b(?:load(?:ing|ed)?|restor(?:ing|ed))\b.{0,120}\.(?:safetensors|pth?|ckpt|bin|gguf|onnx|engine)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(r"\b(?:error|fail(?:ed|ure)?|cannot|could not|unable|missing)\b", re.IGNORECASE)
_MIB = 1 << 20
_ROSE_MIB = 64
"""Less than that on a GPU may be a context or a buffer."""


def weights_loaded(
    records: Sequence[AnyRecord],
    lines: Sequence[OutputLine],
    seen: Sequence[Seen],
    open_files: Mapping[str, str],
) -> Criterion:
    """Whether a sign was seen; the evidence names all kinds that were, the surest first.

    A file that the program opened and then failed to load is no sign, nor is a line of a
    failure.
    """
    failed = {one.path: one.text for one in seen if one.what == "load_failed"}
    loaded = {one.path for one in seen if one.what == "loaded"}
    broken = set(failed) - loaded
    signs = [
        *_loaded_signs(records, seen),
        *_file_signs(seen, open_files, broken, loaded),
        *_line_signs(lines),
        *_memory_signs(records),
    ]
    if signs:
        return Criterion(passed=True, evidence="; ".join(dict.fromkeys(signs)))
    if failed:
        path, text = next(iter(failed.items()))
        what = f"{path}: " if path else ""
        return Criterion(passed=False, evidence=f"loading failed: {what}{text}")
    return Criterion(
        passed=False,
        evidence="no weights file was opened, no load was reported, no line of the output tells "
        "of loaded weights, and no GPU memory rose",
    )


def _loaded_signs(records: Sequence[AnyRecord], seen: Sequence[Seen]) -> list[str]:
    signs = []
    if any(isinstance(record, Load) and record.done for record in records):
        signs.append("the program reported load_done")
    first = {one.path: one for one in reversed(seen) if one.what == "loaded"}  # each file once
    for one in [one for one in seen if one.what == "loaded" and first[one.path] is one][:2]:
        size = f" ({_shown(one.bytes)})" if one.bytes else ""
        took = (one.end_ns - one.begin_ns) / 1e6
        signs.append(f"{one.path or 'weights'}{size} was loaded in {took:,.0f} ms")
    return signs


def _file_signs(
    seen: Sequence[Seen], open_files: Mapping[str, str], broken: set[str], loaded: set[str]
) -> list[str]:
    signs = []
    for path, how in open_files.items():
        if path not in broken | loaded:
            signs.append(f"{path} was {how}")
    opened = {
        one.path: one.bytes
        for one in seen
        if one.what == "opened" and one.bytes and is_weights(one.path)
    }
    for path, size in opened.items():
        if path not in broken | loaded | set(open_files):
            signs.append(f"{path} ({_shown(size)}) was opened for reading")
    return signs[:2]


def _line_signs(lines: Sequence[OutputLine]) -> list[str]:
    for line in lines:
        if line.text.startswith(("    ", "\t")) or _FAILS.search(line.text):
            continue  # a source line of a traceback, or a failure to load
        if line.kind == "weights_loaded" or (line.kind is None and _LOADING.search(line.text)):
            return [f"the output says “{line.text[:120]}”"]
    return []


def _memory_signs(records: Sequence[AnyRecord]) -> list[str]:
    allocated = max(
        (record.allocated_bytes for record in records if isinstance(record, TorchMemory)),
        default=0,
    )
    if allocated >= _ROSE_MIB * _MIB:
        return [f"torch had {_shown(allocated)} allocated on the GPU"]
    used = [
        record.used_bytes
        for record in records
        if isinstance(record, GpuProcess) and record.relation == "target" and record.used_bytes
    ]
    if used and max(used) - min(used) >= _ROSE_MIB * _MIB:
        return [f"its GPU memory rose by {_shown(max(used) - min(used))}"]
    return []


def _shown(size: int | None) -> str:
    if size is None:
        return "size not known"
    return f"{size / _MIB:,.1f} MiB" if size >= _MIB else f"{size:,} bytes"
