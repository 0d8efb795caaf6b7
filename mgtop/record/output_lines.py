"""Lines of a program's output that tell something about its run.

Recognised by their shape alone, a line at a time; source lines inside a traceback (indented)
are skipped, since they only quote what might have been raised.
"""

from __future__ import annotations

import re

from mgtop.record.limits import clean

LONGEST_TEXT = 300

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")

_OOM = (
    r"(?:cuda|hip|mps|driver|nccl|gpu)\b.{0,40}out of memory",
    r"\bOutOfMemoryError\s*:",
    r"would exceed allowed memory",  # the cudaMallocAsync backend
    r"cudaErrorMemoryAllocation",
    r"CU(?:BLAS|DNN|SOLVER|RAND)_STATUS_ALLOC_FAILED",
    r"Failed to CUDA calloc",
)
_ALLOCATOR = (
    r"CUDACachingAllocator\.cpp",
    r"Allocator \(GPU_\d+\w*\) ran out",
    r"\bcudaMalloc\b.{0,40}\b(?:retr|fail)",
)
_COMPILE = (
    r"\brecompil(?:ing|ation|es?d?)\b",
    r"config\.(?:cache_size|recompile)_limit",
    r"\bautotun(?:e|ing)\b",
    r"\bcapturing\b.{0,40}\bgraphs?\b",
)
_LOADED = (
    r"\bloaded\b.{0,80}\b(?:weights|checkpoint|state.?dict|model|pipeline|safetensors)\b",
    r"\b(?:weights|checkpoint|state.?dict|model|pipeline)\b.{0,40}\bloaded\b",
    r"\bloading (?:checkpoint|pipeline|weights|model|safetensors)\b.{0,60}\b100%",
)
_ERROR = (
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception)(?::|$)",
    r"(?:^|[\s\[(|])(?:ERROR|CRITICAL|FATAL)(?:$|[\s\])|:])",
    r"DefaultCPUAllocator: can't allocate",
)

KINDS = {
    kind: re.compile("|".join(patterns), flags)
    for kind, patterns, flags in (
        ("oom", _OOM, re.IGNORECASE),
        ("allocator", _ALLOCATOR, 0),
        ("compile", _COMPILE, re.IGNORECASE),
        ("weights_loaded", _LOADED, re.IGNORECASE),
        ("error", _ERROR, 0),
    )
}
"""Kind → what a line of it contains; the first that fits counts."""


def recognise(line: str) -> tuple[str, str] | None:
    """Kind and tidy text of a line, or None where it says nothing that mgtop knows."""
    if "\x1b" in line:
        line = _ESCAPES.sub("", line)
    if line.startswith(("    ", "\t")):
        return None
    for kind, pattern in KINDS.items():
        if pattern.search(line):
            return kind, clean(line.strip()[:LONGEST_TEXT])
    return None
