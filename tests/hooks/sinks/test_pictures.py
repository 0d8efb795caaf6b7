"""Which messages are pictures."""

from __future__ import annotations

import base64

import pytest

from mgtop.hooks.target.sinks.pictures import (
    LEAST_RAW,
    holds_picture,
    is_picture,
    is_picture_text,
    weight,
)

JPEG = b"\xff\xd8\xff\xe0" + bytes(500)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(500)
WEBP = b"RIFF\x00\x02\x00\x00WEBPVP8 " + bytes(500)


@pytest.mark.parametrize(
    "data",
    [
        JPEG,
        PNG,
        WEBP,
        b"GIF89a" + bytes(99),
        b"\x00\x00\x00\x1cftypavif" + bytes(99),
        bytes(LEAST_RAW),
        bytearray(JPEG),
        memoryview(JPEG),
        memoryview(bytes(4 * LEAST_RAW)).cast("I"),
    ],
)
def test_pictures(data: bytes):
    assert is_picture(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"ok",
        bytes(LEAST_RAW - 1),
        b"\x00\x00\x00\x18ftypiso5" + bytes(9999),
        b"\x00\x00\x02\x18moof" + bytes(9999),
        b"\x00\x00\x02\x18mdat" + bytes(9999),
        b"\x1aE\xdf\xa3" + bytes(9999),
        b"OggS" + bytes(9999),
        b"RIFF\x00\x02\x00\x00WAVEfmt " + bytes(9999),
        b"ID3" + bytes(9999),
    ],
)
def test_no_pictures(data: bytes):
    assert not is_picture(data)


def test_pictures_as_text():
    for data in (JPEG, PNG, WEBP):
        text = base64.b64encode(data).decode()
        assert is_picture_text(text)
        assert is_picture_text("data:image/jpeg;base64," + text)
    assert not is_picture_text("frame 7 of 9" * 99)
    assert not is_picture_text("")


def test_pictures_in_messages():
    text = base64.b64encode(JPEG).decode()
    assert holds_picture({"index": 3, "data": text})
    assert holds_picture([{"frames": [JPEG]}])
    assert not holds_picture({"message": "frame 3 is ready", "n": 3, "list": list(range(99_999))})
    assert not holds_picture([[[[JPEG]]]])
    assert weight(({"a": "x" * 10, "b": [b"yy", memoryview(b"zzz")]}, 7)) == 15
    itself: list[object] = []
    itself.append(itself)
    assert not holds_picture(itself)
    assert weight(itself) == 0
