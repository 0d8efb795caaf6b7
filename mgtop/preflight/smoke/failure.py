"""Why a program failed, by the earliest line of its output that tells the root of it.

The last traceback seldom does: a step that ran out of memory hands on ``None``, and everything
behind it fails on that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mgtop.preflight.smoke.output_lines import OutputLine
from mgtop.preflight.smoke.result import Failure


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_NO_CUDA = _any(
    r"Torch not compiled with CUDA enabled",
    r"No CUDA GPUs are available",
    r"Found no NVIDIA driver",
    r"NVIDIA driver on your system is too old",
    r"CUDA driver version is insufficient",
    r"no CUDA-capable device",
    r"no kernel image is available",
    r"torch\.cuda\.is_available\(\) is False",
    r"lib(?:cuda|cudart|nvidia-ml)\.so[.\d]*: cannot open shared object",
    r"CUDA unknown error",
    r"CUDA error: (?:invalid device ordinal|system not yet initialized|unknown error)",
    r"\b(?:CUDA|GPU) (?:is )?(?:not available|unavailable|required but)",
    r"(?:needs|requires) (?:an? )?(?:NVIDIA |CUDA )+(?:GPU|device)",
    r"Cannot (?:access|find) (?:the )?(?:CUDA|GPU)",
)
_WEIGHT_FILE = (
    r"\.(?:safetensors|pth?|ckpt|bin|gguf|onnx|engine)\b|checkpoint|weights|"
    r"model_index\.json|config\.json|pretrained"
)
_WEIGHTS_PATH = _any(
    rf"(?:FileNotFoundError|No such file|does not exist|not found|can(?:no|')t find).*"
    rf"(?:{_WEIGHT_FILE})",
    rf"(?:{_WEIGHT_FILE}).*(?:No such file or directory|does not exist|not found|is missing)",
    r"does not appear to have a file named",
    r"is not a local folder and is not a valid model identifier",
    r"Error no file named .* found in directory",
    r"Can(?:'|no)t load (?:the )?(?:model|weights|configuration|tokenizer)",
    r"HFValidationError|RepositoryNotFoundError|EntryNotFoundError|LocalEntryNotFoundError",
    r"GatedRepoError",
    r"SafetensorError|Error while deserializing header|InvalidHeader|HeaderTooLarge|HeaderTooSmall",
    r"PytorchStreamReader failed",
    r"invalid load key|UnpicklingError",
    r"Error\(s\) in loading state_dict",
)
_ERROR_KINDS = ("oom", "oom_suspect", "error")
_TRACEBACK = "Traceback (most recent call last):"
_HARMLESS = _any(
    r"Unable to register cu(?:FFT|DNN|BLAS) factory",
    r"computation_placer",
    r"TF-TRT Warning",
    r"pip's dependency resolver",
    r"\b0 errors?\b",
    r"\bno errors?\b",
)


class Root(NamedTuple):
    """A kind of failure, and the line that tells it."""

    failure: Failure
    text: str


_HOST_MEMORY = _any(
    r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
    r"^\s*(?:numpy\.\S*)?(?:_Array)?MemoryError\b",
    r"\bstd::bad_alloc\b",
)


def root_of(lines: Sequence[OutputLine]) -> Root | None:
    """The earliest root of a failure in an output; None: no line tells of one.

    Running out of memory, a missing GPU and weights that are not there are roots wherever they
    stand before the first other error; of other errors the earliest counts.
    """
    candidates: list[tuple[int, Root]] = []
    for at, line in enumerate(lines):
        kind = _kind(line)
        if kind is not None:
            candidates.append((at, Root(kind, line.text.strip()[:300])))
    for _, root in candidates:
        if root.failure != "other":
            return root
    return candidates[0][1] if candidates else None


def _kind(line: OutputLine) -> Failure | None:
    if line.kind == "oom" or _HOST_MEMORY.search(line.text):
        return "oom"
    is_source = line.text.startswith(("    ", "\t", '  File "'))
    if is_source or _HARMLESS.search(line.text):
        return None
    if _NO_CUDA.search(line.text):
        return "no_cuda"
    if _WEIGHTS_PATH.search(line.text):
        return "weights_path"
    if line.kind == "oom_suspect":
        return "oom"
    return "other" if line.kind == "error" else None


def swallowed(lines: Sequence[OutputLine]) -> OutputLine | None:
    """The first line of an error: what a program that still exits with 0 has swallowed."""
    for at, line in enumerate(lines):
        if _HARMLESS.search(line.text):
            continue
        if line.kind in _ERROR_KINDS:
            return line
        if line.text.strip().endswith(_TRACEBACK):
            return next((later for later in lines[at:] if later.kind in _ERROR_KINDS), line)
    return None
