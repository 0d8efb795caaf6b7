"""The registers of an x86-64 thread, as the kernel hands them out (``struct user_regs_struct``)."""

from __future__ import annotations

import struct

NAMES = (
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx",
    "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds",
    "es", "fs", "gs",
)  # fmt: skip
SIZE = 8 * len(NAMES)
NO_CALL = (1 << 64) - 1
"""``orig_rax`` of a thread that is in no system call: the kernel has none to restart."""
DIRECTION_FLAG, TRAP_FLAG = 0x400, 0x100
_LAYOUT = struct.Struct(f"<{len(NAMES)}Q")
_INTERRUPTED = {(1 << 64) - number for number in (512, 513, 514, 516)}
"""What a call returns inside the kernel that a stop has interrupted: it will be restarted."""


class Registers(dict[str, int]):
    """Register name → value."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Registers:
        """As the kernel gives them."""
        return cls(zip(NAMES, _LAYOUT.unpack(data), strict=True))

    def to_bytes(self) -> bytes:
        """As the kernel takes them."""
        return _LAYOUT.pack(*(self[name] for name in NAMES))

    @property
    def in_call(self) -> int | None:
        """The system call that the thread sleeps in, interrupted; None: it is in none."""
        waits = self["orig_rax"] < 1 << 32 and self["rax"] in _INTERRUPTED
        return self["orig_rax"] if waits else None

    def calling(self, **changes: int) -> Registers:
        """These, changed so that the thread runs something else: in no call, flags as the ABI."""
        changed = Registers(self)
        changed.update(rax=0, orig_rax=NO_CALL, **changes)
        changed["eflags"] &= ~(DIRECTION_FLAG | TRAP_FLAG)
        return changed
