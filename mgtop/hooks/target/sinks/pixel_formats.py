"""How many bytes a raw frame has, by ffmpeg's names of pixel formats."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_PACKED = {
    "rgb24": 3, "bgr24": 3, "gbrp": 3, "rgba": 4, "bgra": 4, "argb": 4, "abgr": 4, "gbrap": 4,
    "rgb0": 4, "bgr0": 4, "0rgb": 4, "0bgr": 4, "gray": 1, "gray8": 1, "pal8": 1, "ya8": 2,
    "rgb565le": 2, "rgb565be": 2, "rgb565": 2, "bgr565le": 2, "rgb555le": 2, "rgb48le": 6,
    "rgb48be": 6, "rgb48": 6, "bgr48le": 6, "bgr48": 6, "rgba64le": 8, "rgba64": 8, "bgra64le": 8,
    "gray10le": 2, "gray12le": 2, "gray16le": 2, "gray16be": 2, "gray16": 2, "grayf32le": 4,
    "gbrp10le": 6, "gbrp12le": 6, "gbrp16le": 6, "gbrpf32le": 12, "gbrapf32le": 16, "x2rgb10le": 4,
    "rgbf32le": 12, "rgbaf32le": 16,
    "yuv444p": 3, "yuvj444p": 3, "yuva444p": 4, "yuv444p10le": 6, "yuv444p12le": 6,
    "yuv444p16le": 6, "yuyv422": 2, "uyvy422": 2, "yvyu422": 2,
}  # fmt: skip
"""Bytes for each pixel, where every pixel has all its samples."""

_PLANAR = {
    "yuv420p": (1, 2, 2, 0), "yuvj420p": (1, 2, 2, 0), "nv12": (1, 2, 2, 0), "nv21": (1, 2, 2, 0),
    "yuva420p": (1, 2, 2, 1), "yuv422p": (1, 2, 1, 0), "yuvj422p": (1, 2, 1, 0),
    "nv16": (1, 2, 1, 0), "yuva422p": (1, 2, 1, 1), "yuv410p": (1, 4, 4, 0),
    "yuv411p": (1, 4, 1, 0), "yuv420p10le": (2, 2, 2, 0), "yuv420p12le": (2, 2, 2, 0),
    "p010le": (2, 2, 2, 0), "p016le": (2, 2, 2, 0), "yuv422p10le": (2, 2, 1, 0),
    "p210le": (2, 2, 1, 0),
}  # fmt: skip
"""Bytes of a sample; by what colour is thinner across and down; full planes beside brightness."""


def frame_bytes(width: int, height: int, pixel_format: str) -> Optional[int]:
    """The size of one raw frame; None for a format that is not known."""
    packed = _PACKED.get(pixel_format)
    if packed is not None:
        return width * height * packed
    planar = _PLANAR.get(pixel_format)
    if planar is None:
        return None
    sample, across, down, more = planar
    colour = -(-width // across) * -(-height // down)
    return sample * (width * height * (1 + more) + 2 * colour)
