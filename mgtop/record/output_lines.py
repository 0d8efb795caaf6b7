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
    r"(?:cuda|hip|mps|xpu|npu|musa|driver|nccl|gpu)\b.{0,40}out of memory",
    r"\bOutOfMemoryError\s*:",
    r"would exceed allowed memory",  # the cudaMallocAsync backend
    r"\b(?:cuda|hip)ErrorMemoryAllocation\b",
    r"\bhipErrorOutOfMemory\b",
    r"\bCUDA_ERROR_OUT_OF_MEMORY\b",  # the driver's own name: numba, TensorFlow
    r"\bRESOURCE_EXHAUSTED: Out of memory\b",  # JAX
    r"\bError Code \d+: OutOfMemory\b|\bamount of GPU memory .{0,40}could not be allocated",
    r"显存不足",
    r"\b(?:CU|HIP|ROC)(?:BLAS|DNN|SOLVER|SPARSE|RAND|FFT)_STATUS_ALLOC(?:ATION)?_FAILED",
    r"Failed to (?:CUDA|HIP) (?:m|c)alloc",
)
_NO_OOM = re.compile(
    r"\b(?:if|in case|avoid|prevent|against|fix|no|without|may|might|could)"
    r"\b[^.:]*out of memory",
    re.IGNORECASE,
)
"""Advice, and what did not happen: it only speaks of running out of memory."""
_OOM_SUSPECT = (
    # What libraries say when a first allocation of theirs fails; also where a driver is broken.
    r"\bCUBLAS_STATUS_NOT_INITIALIZED\b",
    r"\bCUDNN_STATUS_(?:INTERNAL_ERROR|NOT_INITIALIZED)\b",
    r"\bCUSOLVER_STATUS_(?:INTERNAL_ERROR|NOT_INITIALIZED)\b",
    r"\bcusolver error:.{0,60}when calling `cusolver\w*Create",
    r"\bCURAND_STATUS_(?:INITIALIZATION_FAILED|INTERNAL_ERROR)\b",
    r"\bFailed to create CURAND? generator\b",
)
_NO_ALLOCATOR = r"is deprecated|not supported on this platform"
"""Remarks on settings: they come from the allocator's source file, but allocate nothing."""
_ALLOCATOR = (
    rf"CUDACachingAllocator\.cpp(?!.*(?:{_NO_ALLOCATOR}))",
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
    r"^(?:\[rank\d+\]:\s*)?(?:[\w.]+\.)?\w*(?:Error|Exception|OutOfResources)(?::|$)",
    r"(?:^|[\s\[(|])(?:ERROR|CRITICAL|FATAL)(?:$|[\s\])|:])",
    r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
    r"Watchdog caught collective operation timeout",
    r"\bwatchdog got stuck\b",
    r"\bNCCL WARN Cuda failure\b",
    r"^(?:\S+: line \d+: +\d+ )?(?:Killed|Bus error|Segmentation fault)\b",  # a shell
    r"\bOut of memory: Killed process\b|\boom.kill event\b",  # the kernel; a batch system
    r"\bstd::bad_alloc\b",
)

_QUOTED = re.compile(r"\s+(?:warnings\.)?warn\w*\(|\s+raise\s")
"""The source line that Python prints below a warning."""

KINDS = {
    kind: re.compile("|".join(patterns), flags)
    for kind, patterns, flags in (
        ("oom", _OOM, re.IGNORECASE),
        ("oom_suspect", _OOM_SUSPECT, re.IGNORECASE),
        ("allocator", _ALLOCATOR, 0),
        ("compile", _COMPILE, re.IGNORECASE),
        ("weights_loaded", _LOADED, re.IGNORECASE),
        ("error", _ERROR, 0),
    )
}
"""Kind → what a line of it contains; the first that fits counts.

``oom_suspect``: a library's error that running out of memory hides behind as a rule."""


def recognise(line: str) -> tuple[str, str] | None:
    """Kind and tidy text of a line, or None where it says nothing that mgtop knows."""
    line = plain(line)
    if line.startswith(("    ", "\t")) or _QUOTED.match(line):
        return None
    for kind, pattern in KINDS.items():
        if pattern.search(line) and not (kind == "oom" and _NO_OOM.search(line)):
            return kind, clean(line.strip()[:LONGEST_TEXT])
    return None


def plain(line: str) -> str:
    """A line without the escape sequences of terminals."""
    return _ESCAPES.sub("", line) if "\x1b" in line else line
