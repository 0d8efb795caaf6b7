"""Addresses of exported functions, read from the images that a process has mapped.

The dynamic section of the image in memory is followed rather than a file's section table: so
it works for stripped files, for files that were replaced since, and in any container.
Layouts: System V ABI, chapters 4 and 5; the GNU hash table as ``glibc`` reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from mgtop.record.inject.memory import Mapping, Memory

X86_64 = 62
AARCH64 = 183
_DYN, _LOAD, _DYNAMIC = 3, 1, 2
_NULL, _HASH, _STRTAB, _SYMTAB, _GNU_HASH = 0, 4, 5, 6, 0x6FFFFEF5
_LONGEST_CHAIN = 1 << 16


class NotElf(Exception):
    """There is no usable image at that address."""


class Image:
    """A program or library as it stands in memory.

    Args:
        memory: of the process.
        base: where its first page is mapped.

    Raises:
        NotElf: it is no 64-bit little-endian image with a dynamic section.
        OSError: it cannot be read.
    """

    def __init__(self, memory: Memory, base: int) -> None:
        self._memory, self._base = memory, base
        header = memory.read(base, 64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            raise NotElf
        kind, self.machine = struct.unpack_from("<HH", header, 16)
        (place,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        table = memory.read(base + place, size * count)
        parts = [struct.unpack_from("<IIQQQQQQ", table, at * size) for at in range(count)]
        loaded = [part[3] for part in parts if part[0] == _LOAD]
        dynamic = [part for part in parts if part[0] == _DYNAMIC]
        if not loaded or not dynamic:
            raise NotElf
        self._bias = base - (min(loaded) & ~0xFFF) if kind == _DYN else 0
        self._tables = self._read_dynamic(self._bias + dynamic[0][3], dynamic[0][6])

    def _read_dynamic(self, address: int, size: int) -> dict[int, int]:
        data = self._memory.read(address, size)
        tables: dict[int, int] = {}
        for tag, value in struct.iter_unpack("<QQ", data[: len(data) & ~15]):
            if tag == _NULL:
                break
            tables[tag] = value
        for tag in (_HASH, _STRTAB, _SYMTAB, _GNU_HASH):
            # Some loaders write addresses into the section, others leave offsets.
            if tag in tables and tables[tag] < self._base:
                tables[tag] += self._bias
        if _STRTAB not in tables or _SYMTAB not in tables:
            raise NotElf
        return tables

    def find(self, names: Iterable[str]) -> dict[str, int]:
        """Addresses of those of ``names`` that the image defines."""
        found = {}
        for name in names:
            address = self._find(name.encode())
            if address is not None:
                found[name] = address
        return found

    def _find(self, name: bytes) -> int | None:
        if _GNU_HASH in self._tables:
            candidates: Iterable[int] = self._by_gnu_hash(name)
        elif _HASH in self._tables:
            candidates = range(self._words(self._tables[_HASH] + 4, 1)[0])
        else:
            return None
        for number in candidates:
            place, _info, _other, section, value = self._symbol(number)
            if section and value and self._text(place, len(name) + 1) == name + b"\0":
                return self._bias + value
        return None

    def _by_gnu_hash(self, name: bytes) -> Iterable[int]:
        table = self._tables[_GNU_HASH]
        buckets, first, bloom, _shift = self._words(table, 4)
        if not buckets:
            return
        wanted = _gnu_hash(name)
        places = table + 16 + 8 * bloom
        number = self._words(places + 4 * (wanted % buckets), 1)[0]
        chain = places + 4 * buckets
        for _ in range(_LONGEST_CHAIN if number >= first else 0):
            value = self._words(chain + 4 * (number - first), 1)[0]
            if value | 1 == wanted | 1:
                yield number
            if value & 1:
                return
            number += 1

    def _symbol(self, number: int) -> tuple[int, int, int, int, int]:
        data = self._memory.read(self._tables[_SYMTAB] + 24 * number, 24)
        place, info, other, section, value, _size = struct.unpack("<IBBHQQ", data)
        return place, info, other, section, value

    def _text(self, place: int, size: int) -> bytes:
        return self._memory.read(self._tables[_STRTAB] + place, size)

    def _words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self._memory.read(address, 4 * count))


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def images(maps: Iterable[Mapping]) -> dict[str, int]:
    """Path → address of the first page, of every file that is mapped from its beginning."""
    found: dict[str, int] = {}
    for mapping in maps:
        if mapping.offset == 0 and mapping.path.startswith("/") and mapping.modes[0] == "r":
            found.setdefault(mapping.path, mapping.begin)
    return found
