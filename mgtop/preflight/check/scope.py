"""What a requirement is said of: training, a model size, a resolution, an option, a command."""

from __future__ import annotations

import re

from mgtop.preflight.check.stated import TRAINING

_FLAGS = re.IGNORECASE | re.ASCII
_TRAINING = re.compile(
    r"\bwe\s+pre-?train\w*|(?<!pre-)(?<!pre)\b(?:training|(?:efficient|prompt|instruction"
    r"|parameter)[\s-]tuning|train(?![-\s]test)|trained\s+(?:on|with|using)|fine-?tun\w*"
    r"|finetun\w*"
    r"|distill(?:ation|ing)|lora(?!\s+weights?))\b|训练|微调|调优|精调|(?<!预)训",
    _FLAGS,
)
_PRETRAINED = re.compile(r"(?<!we )\bpre-?train\w*|预训练", _FLAGS)
_INFERENCE = re.compile(r"\binference\b|\bsampling\b|\bdemo\b|推理", _FLAGS)
_TRAINING_FILE = re.compile(r"(?:^|[/_-])(?:fine-?tun\w*|train(?:ing)?)(?:[/_.-]|$)", _FLAGS)
_THINGS = re.compile(
    r"\b\d{1,3}(?:\.\d+)?B\b(?!\s*/)|\b(?:2160|1440|1080|960|720|704|540|480|360)p\b"
    r"|(?<![\d.])\d{3,4}\s*[x×*]\s*\d{3,4}\b|\b\d{2,4}\s*frames\b|(?<![\w-])--[a-z][\w-]*"
    r"|\b(?:fp8|fp4|nvfp4|int8|int4|bf16|fp16|fp32|tensorrt|streaming|offload(?:ing)?)\b"
    r"|\b(?:blackwell|hopper|ampere|ada|turing)\b|\b(?:macos|mac\s*os|windows)\b",
    _FLAGS,
)
_LONGEST = 160


def is_training(text: str, headings: tuple[str, ...], file: str = "") -> bool:
    """Whether a sentence under its headings speaks of training rather than of inference."""
    if _TRAINING_FILE.search(file):
        return True
    own = _PRETRAINED.sub(" ", text)
    if _TRAINING.search(own):
        return not _INFERENCE.search(own)
    if _INFERENCE.search(own):
        return False
    for heading in reversed(headings[1:] or headings):
        plain = _PRETRAINED.sub(" ", heading)
        if _INFERENCE.search(plain):
            return False
        if _TRAINING.search(plain):
            return True
    return False


def scope_of(
    segment: str, clause: str, headings: tuple[str, ...], command: str = "", file: str = ""
) -> str:
    """What a requirement is said of, in the words of the file; empty where of everything.

    Args:
        segment: the words around it.
        clause: the whole sentence; looked at where the segment names nothing.
        headings: above it.
        command: the command that "this command" means.
        file: where it stands; a page on training speaks of nothing else.
    """
    parts = [TRAINING] if is_training(clause, headings, file) else []
    things = _things(segment) or _things(clause)
    parts += things
    if re.search(r"\bthis\s+command\b|该命令|此命令|上述命令", clause, _FLAGS) and command:
        parts.append(f"command: {command}")
    elif not things and headings:
        parts += _things(headings[-1])
    return ", ".join(parts)[:_LONGEST]


def _things(text: str) -> list[str]:
    return list(dict.fromkeys(" ".join(match[0].split()) for match in _THINGS.finditer(text)))
