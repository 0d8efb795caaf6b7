"""GPU models, series and architectures by name.

Only what the vendors publish: architectures and compute capabilities
(https://developer.nvidia.com/cuda-gpus). A model's memory is never guessed from its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ARCHITECTURES: dict[str, tuple[tuple[int, int], ...]] = {
    "pascal": ((6, 0), (6, 1)),
    "volta": ((7, 0),),
    "turing": ((7, 5),),
    "ampere": ((8, 0), (8, 6), (8, 7)),
    "ada": ((8, 9),),
    "hopper": ((9, 0),),
    "blackwell": ((10, 0), (10, 3), (12, 0), (12, 1)),
}
SERIES = {"10": (6, 1), "16": (7, 5), "20": (7, 5), "30": (8, 6), "40": (8, 9), "50": (12, 0)}
"""GeForce series by the first digits of its models, with its compute capability."""

_CHINESE = {
    "帕斯卡": "pascal",
    "伏特": "volta",
    "图灵": "turing",
    "安培": "ampere",
    "霍珀": "hopper",
}
SEVERAL_SIZES = {
    "a100", "a800", "h100", "h800", "h20", "v100", "p100", "gh200", "gb10", "b300",
    "rtx 2060", "rtx 3050", "rtx 3060", "rtx 3080", "rtx 4060 ti", "rtx 5060 ti", "gtx 1060",
}  # fmt: skip
"""Models that were sold with more than one size of memory."""

MODEL = re.compile(
    r"""(?<![\w-])(?:
        (?:geforce\s+)?(?:rtx|gtx)\s*-?\s*(?:pro\s+)?(?:a?\d{4})(?!\d|x)(?:\s*(?:ti(?:\s+super)?|super|d|ada))?
      | (?:rtx\s+)?a(?:2000|4000|4500|5000|6000)
      | [2345]0[5-9]0(?:\s*ti)?(?!\s*(?:x|×|\*|gb|mib|frames?|steps?|ms|\d))
      | a(?:10g?|16|30|40|100|800)|h(?:20|100|200|800)|b(?:100|200|300)|gb?h?(?:200|300)
      | l(?:4|20|40s?)|v100s?|p(?:40|100)|t4
      | mi\d{3}x?|jetson\s+\w+
    )(?=s?(?!\w))""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
ARCHITECTURE = re.compile(
    r"(?<![a-z])(pascal|volta|turing|ampere|(?<!\d )ada(?:\s+lovelace)?|hopper|blackwell)(?![a-z])"
    r"|(帕斯卡|伏特|图灵|安培|霍珀)",
    re.IGNORECASE | re.ASCII,
)
LETTER_SERIES = re.compile(
    r"(?<![\w-])[ABH](?:-[Ss]eries|(?=\s?/\s?[ABH][- ][Ss]eries))|(?<=[ABH]/)[ABH] [Ss]eries"
)


def plain(model: str) -> str:
    """``GeForce RTX4090`` → ``rtx 4090``; ``4090`` is what everybody calls it by."""
    text = re.sub(r"\s+", " ", model.lower().replace("-", " ")).strip()
    text = text.removeprefix("geforce ")
    text = re.sub(r"^(rtx|gtx) ?(?=[\da])", r"\1 ", text)
    text = re.sub(r"(?<=\d)ti\b", " ti", text)
    if re.fullmatch(r"[2345]0\d0( ti)?", text):
        text = f"rtx {text}"
    return text.removeprefix("rtx ") if re.match(r"rtx a\d", text) else text


def models_in(text: str) -> list[str]:
    """The models that a text names, each once, as :func:`plain` writes them."""
    return list(dict.fromkeys(plain(found[0]) for found in MODEL.finditer(text)))


def architectures_in(text: str) -> list[str]:
    """The architectures that a text names, each once, in lower case."""
    found = []
    for match in ARCHITECTURE.finditer(text):
        name = match[1].lower().split()[0] if match[1] else _CHINESE[match[2]]
        found.append(name)
    return list(dict.fromkeys(found))


def is_model(device_name: str, model: str) -> bool:
    """Whether a device's own name is that model's: ``NVIDIA H200`` is ``h200``."""
    device = re.sub(r"[-_]", " ", device_name.lower())
    device = re.sub(r"\b(nvidia|geforce|tesla|quadro)\b", " ", device)
    words, wanted = device.split(), model.split()
    if "rtx" in words and wanted[:1] != ["rtx"] and re.match(r"a\d", model):
        wanted = ["rtx", *wanted]
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted:
            rest = words[at + len(wanted) : at + len(wanted) + 1]
            return rest not in (["ti"], ["super"], ["d"], ["ada"])
    return False


def architecture_of(capability: Sequence[int]) -> str | None:
    """The architecture of a compute capability."""
    for name, capabilities in ARCHITECTURES.items():
        if tuple(capability[:2]) in capabilities:
            return name
    return None


def series_of(device_name: str) -> str | None:
    """``NVIDIA GeForce RTX 4090`` → ``40``."""
    match = re.search(r"(?:RTX|GTX)\s+([1-5][06])\d0\b", device_name)
    return match[1] if match else None
