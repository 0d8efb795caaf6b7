"""Whether a message is a picture: by its first bytes, else by its size."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAST_RAW = 4096
"""Binary messages that are no known kind of file count as a frame from this size on."""
LEAST_TEXT = 1024
_PARTS = (b"ftyp", b"styp", b"moof", b"moov", b"mdat", b"sidx", b"emsg", b"free", b"prft")
_STREAMS = (b"\x1aE\xdf\xa3", b"OggS", b"ID3", b"fLaC", b"\xff\xfb", b"\xff\xf1", b"\xff\xf9")
_TEXTS = ("/9j/", "iVBORw0KGgo", "UklGR", "R0lGOD")
"""How JPEG, PNG, WebP and GIF begin in base64."""


def is_picture(data: Any) -> bool:
    """Whether a binary message is one frame.

    Pieces of an encoded stream (fragmented MP4, WebM, Ogg, MP3, AAC, WAVE) are none: how many
    frames they hold cannot be seen.
    """
    size = data.nbytes if isinstance(data, memoryview) else len(data)
    head = bytes(data[:16])
    if head[4:8] in _PARTS:
        return head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"avis", b"heic")
    if head.startswith(_STREAMS):
        return False
    if head.startswith(b"RIFF"):
        return head[8:12] == b"WEBP"
    if head.startswith((b"\xff\xd8\xff", b"\x89PNG", b"GIF8")):
        return True
    return size >= LEAST_RAW


def is_picture_text(text: str) -> bool:
    """Whether a text is a picture in base64, as a data address or as it is."""
    return len(text) >= 64 and text.startswith(("data:image/", *_TEXTS))


def holds_picture(value: Any, depth: int = 3) -> bool:
    """Whether a message of nested lists and dictionaries holds a picture."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return is_picture(value)
    if isinstance(value, str):
        return is_picture_text(value)
    if depth > 0:
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            return False
        for place, item in enumerate(value):
            if place >= 16:
                break
            if holds_picture(item, depth - 1):
                return True
    return False


def weight(value: Any, depth: int = 3) -> int:
    """Bytes and characters that a message holds, about."""
    if isinstance(value, memoryview):
        return value.nbytes
    if isinstance(value, (bytes, bytearray, str)):
        return len(value)
    if depth > 0:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return sum(weight(item, depth - 1) for item in value[:16])
    return 0
