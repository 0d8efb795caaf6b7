"""The amounts that a message about memory states, in bytes.

Every shape that torch has printed since 2018 is read: the allocator's own message in its four
generations, that of ``cudaMallocAsync`` (a table), of HIP and MPS, NCCL's, and that of the
allocator of the host. Units with and without the ``i`` mean powers of 1024, as torch counts.
"""

from __future__ import annotations

import re

MOST_BYTES = 1 << 50
"""More is nonsense: a limit that is not set is printed as 17179869184.00 GiB."""

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = r"(\d{1,18}(?:\.\d{1,6})?)\s*([KMGT]?)i?B(?:ytes)?\b"


def _sizes(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("SIZE", _SIZE), re.IGNORECASE)


_AMOUNTS = {
    "requested": _sizes(r"(?:tried to allocate|Requested\s*:|CUDA (?:m|c)alloc(?: async)?) SIZE"),
    "total": _sizes(r"(?:total capaci?ty of|Device limit\s*:) SIZE|SIZE total capaci?ty"),
    "free": _sizes(r"(?:of which|Free \(according to CUDA\)\s*:) SIZE|; SIZE free"),
    "allocated": _sizes(
        r"(?:of the allocated memory|Currently allocated\s*:|MPS allocated:) SIZE"
        r"|SIZE already allocated"
    ),
    "reserved": _sizes(r"SIZE (?:reserved in total|cached)"),
    "unallocated": _sizes(r"SIZE is reserved by PyTorch but unallocated"),
    "private_pools": _sizes(r"with SIZE allocated in private pools"),
    "process": _sizes(r"this process has SIZE memory in use"),
    "allowed": _sizes(r"(?:max allowed:|PyTorch limit[^:]*:) SIZE|SIZE allowed;"),
}
_OTHERS = _sizes(r"Process \d+ has SIZE memory in use")


def amounts_in(text: str) -> dict[str, int]:
    """What a message states, by name; what it does not state, or absurdly, is left out.

    Names: requested, total, free, allocated, reserved, unallocated, private_pools, process
    (all of this process), allowed, others (other processes together).
    """
    found = {}
    for name, pattern in _AMOUNTS.items():
        match = pattern.search(text)
        if match is not None:
            size = _bytes(*[group for group in match.groups() if group is not None][:2])
            if size is not None:
                found[name] = size
    others = [_bytes(match[1], match[2]) for match in _OTHERS.finditer(text)]
    known = [size for size in others if size is not None]
    if known:
        found["others"] = sum(known)
    return found


def _bytes(number: str, unit: str) -> int | None:
    size = round(float(number) * _UNITS[unit.lower()])
    return size if size < MOST_BYTES else None
