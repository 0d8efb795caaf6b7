"""Python packages that decide whether a model runs on a GPU, and the names they go by."""

from __future__ import annotations

import re

TORCH = "torch"
DECISIVE = {
    "flash-attn", "xformers", "sageattention", "tensorrt", "torch-tensorrt", "transformer-engine",
    "bitsandbytes", "triton", "torchao", "apex", "deepspeed", "cudnn", "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu11", "onnxruntime-gpu", "vllm", "sglang", "cupy-cuda12x", "cupy-cuda11x",
    "flashinfer-python", "nunchaku", "mamba-ssm", "causal-conv1d", "spas-sage-attn",
    "triton-windows",
}  # fmt: skip
"""Reported where they are asked for without a version, too."""

_SPOKEN = {
    r"flash[\s_-]?attn|flash[\s_-]?attention": "flash-attn",
    r"xformers": "xformers",
    r"sage[\s_-]?attention|sageattn": "sageattention",
    r"torch-?tensorrt": "torch-tensorrt",
    r"tensor-?rt": "tensorrt",
    r"transformer[\s_-]engine": "transformer-engine",
    r"bitsandbytes": "bitsandbytes",
    r"triton": "triton",
    r"torchao": "torchao",
    r"torchvision": "torchvision",
    r"torchaudio": "torchaudio",
    r"diffusers": "diffusers",
    r"transformers": "transformers",
    r"accelerate": "accelerate",
    r"deepspeed": "deepspeed",
    r"cu-?dnn": "cudnn",
    r"numpy": "numpy",
}
PROSE_NAMES = (
    r"(?<![\w/-])(?:" + "|".join(f"(?:{pattern})" for pattern in _SPOKEN) + r")(?![A-Za-z_])"
)
"""A regular expression for the names that prose uses."""


def canonical(name: str) -> str:
    """The distribution that a name means: ``FlashAttention`` is ``flash-attn``."""
    for pattern, known in _SPOKEN.items():
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return known
    return normal(name)


def normal(name: str) -> str:
    """As package indices compare names: ``Flash_Attn`` is ``flash-attn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_torch(name: str) -> bool:
    """Whether a package is PyTorch itself (conda calls it ``pytorch``)."""
    return normal(name) in ("torch", "pytorch")
