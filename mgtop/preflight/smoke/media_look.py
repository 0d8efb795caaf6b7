"""Opens one image or video and says what is in it, as one line of JSON.

    python media_look.py FILE

Run as a script by whichever interpreter has a library for it: mgtop's own, or the program's.
Standard library and what happens to be installed there (Pillow, PyAV, OpenCV, imageio, the
ffmpeg program); Python 3.8 and later. PNG, BMP and PPM are read without any.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST_FRAMES = 240
VIDEOS = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".ts", ".m4v")
_PATIENCE_S = 60


def look(path: str) -> dict[str, Any]:
    """Library, width, height, frames and the least and greatest value of any pixel of any frame.

    ``spread`` is the largest difference within one frame. Where nothing opens it, ``error``
    tells what each library said.
    """
    errors: list[str] = []
    is_video = path.lower().endswith(VIDEOS)
    readers = [_av, _cv2, _imageio, _ffmpeg]
    readers = readers if is_video else [_pillow, _plain, *readers]
    for reader in readers:
        try:
            found = reader(path)
        except ImportError:
            continue
        except Exception as error:
            text = " ".join(str(error).split())[:120]
            errors.append(f"{reader.__name__.strip('_')}: {text}")
            continue
        if found:
            return found
    return {"error": "; ".join(errors) or "no library here can open it"}


def _found(library: str, frames: Iterable[tuple[int, int, int, int]]) -> dict[str, Any]:
    """The answer from (width, height, least, greatest) of each frame."""
    count, width, height, low, high, spread = 0, 0, 0, 255, 0, 0
    for width, height, least, greatest in frames:  # noqa: B007 (the last ones are told)
        count += 1
        low, high = min(low, least), max(high, greatest)
        spread = max(spread, greatest - least)
        if count >= MOST_FRAMES:
            break
    if not count:
        raise ValueError("it holds no frame")
    return {
        "library": library, "width": width, "height": height, "frames": count, "low": low,
        "high": high, "spread": spread,
    }  # fmt: skip


def _pillow(path: str) -> dict[str, Any]:
    from PIL import Image  # type: ignore[import-not-found,unused-ignore]

    def frames() -> Iterable[tuple[int, int, int, int]]:
        with Image.open(path) as image:
            image.load()
            rgb = image.convert("RGB")
            bounds = rgb.getextrema()
            yield (
                rgb.size[0],
                rgb.size[1],
                int(min(low for low, _ in bounds)),
                int(max(high for _, high in bounds)),
            )

    found = _found("Pillow", frames())
    with Image.open(path) as image:
        bands = image.convert("RGB").getextrema()
    found["spread"] = int(max(high - low for low, high in bands))
    return found


def _av(path: str) -> dict[str, Any]:
    import av  # type: ignore[import-not-found,unused-ignore]

    def frames() -> Iterable[tuple[int, int, int, int]]:
        with av.open(path) as container:
            for frame in container.decode(video=0):
                gray = frame.reformat(format="gray")
                plane = gray.planes[0]
                data = bytes(plane)
                rows = [
                    data[at * plane.line_size : at * plane.line_size + gray.width]
                    for at in range(gray.height)
                ]
                yield frame.width, frame.height, min(map(min, rows)), max(map(max, rows))

    return _found("PyAV", frames())


def _cv2(path: str) -> dict[str, Any]:
    import cv2  # type: ignore[import-not-found,unused-ignore]

    if not path.lower().endswith(VIDEOS):
        image = cv2.imread(path)
        if image is None:
            raise ValueError("it cannot be read")
        return _found("OpenCV", [_of_array(image)])

    def frames() -> Iterable[tuple[int, int, int, int]]:
        capture = cv2.VideoCapture(path)
        while True:
            good, image = capture.read()
            if not good:
                return
            yield _of_array(image)

    return _found("OpenCV", frames())


def _imageio(path: str) -> dict[str, Any]:
    import imageio  # type: ignore[import-not-found,unused-ignore]

    with imageio.get_reader(path) as reader:
        return _found("imageio", (_of_array(image) for image in reader))


def _of_array(image: Any) -> tuple[int, int, int, int]:
    return int(image.shape[1]), int(image.shape[0]), int(image.min()), int(image.max())


def _ffmpeg(path: str) -> dict[str, Any]:
    if not (shutil.which("ffmpeg") and shutil.which("ffprobe")):
        raise ImportError("no ffmpeg")
    size = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height",
         "-of", "csv=p=0:s=x", path],
        capture_output=True, timeout=_PATIENCE_S, check=True,
    ).stdout.split()  # fmt: skip
    width, height = (int(part) for part in size[0].split(b"x")[:2])
    data = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-frames:v", "16", "-f", "rawvideo",
         "-pix_fmt", "gray", "-"],
        capture_output=True, timeout=_PATIENCE_S, check=True,
    ).stdout  # fmt: skip
    area = width * height
    pictures = [data[at : at + area] for at in range(0, len(data) - area + 1, area)]
    return _found("ffmpeg", ((width, height, min(one), max(one)) for one in pictures))


# ----------------------------------------------------------------- without any library


def _plain(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        data = file.read(1 << 28)
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(data)
    if data[:2] == b"BM":
        return _bmp(data)
    if data[:2] in (b"P5", b"P6"):
        return _ppm(data)
    raise ImportError("another format")


def _png(data: bytes) -> dict[str, Any]:
    """PNG (ISO/IEC 15948): 8 or 16 bits a channel, not interlaced; others are left to libraries."""
    at, packed, width, height, channels, size = 8, [], 0, 0, 0, 0
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if len(body) < length:
            raise ValueError("it is cut off")
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        if zlib.crc32(kind + body) != checksum:
            raise ValueError("a checksum is wrong")
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            channels = {0: 1, 2: 3, 4: 2, 6: 4}.get(colour, 0)
            size = depth // 8
            if interlace or depth not in (8, 16) or not channels:
                raise ImportError("a kind of PNG that needs a library")
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
        at += 12 + length
    else:
        raise ValueError("it is cut off")
    rows = _png_rows(zlib.decompress(b"".join(packed)), width, height, channels * size)
    step = channels * size
    used = channels - 1 if channels in (2, 4) else channels  # transparency is no picture
    low = min(min(row[place::step]) for row in rows for place in range(0, used * size, size))
    high = max(max(row[place::step]) for row in rows for place in range(0, used * size, size))
    spread = max(
        max(max(row[place::step]) for row in rows) - min(min(row[place::step]) for row in rows)
        for place in range(0, used * size, size)
    )
    return {
        "library": "zlib", "width": width, "height": height, "frames": 1, "low": low,
        "high": high, "spread": spread,
    }  # fmt: skip


def _png_rows(data: bytes, width: int, height: int, step: int) -> list[bytearray]:
    stride = width * step
    if len(data) < height * (stride + 1):
        raise ValueError("it is cut off")
    rows: list[bytearray] = []
    before = bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        kind = data[start]
        row = bytearray(data[start + 1 : start + 1 + stride])
        for at in range(stride) if kind else ():
            left = row[at - step] if at >= step else 0
            up = before[at]
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) // 2
            else:
                corner = before[at - step] if at >= step else 0
                guess = left + up - corner
                away = abs(guess - left), abs(guess - up), abs(guess - corner)
                add = (left, up, corner)[away.index(min(away))]
            row[at] = (row[at] + add) & 255
        rows.append(row)
        before = row
    return rows


def _bmp(data: bytes) -> dict[str, Any]:
    (start,) = struct.unpack("<I", data[10:14])
    width, height, _, bits, packing = struct.unpack("<iiHHI", data[18:34])
    if packing not in (0, 3) or bits not in (24, 32):
        raise ImportError("a kind of BMP that needs a library")
    stride = (width * bits // 8 + 3) // 4 * 4
    rows = [data[start + n * stride : start + n * stride + width * 3] for n in range(abs(height))]
    if len(rows[-1]) < width * 3:
        raise ValueError("it is cut off")
    return _found("own", [(width, abs(height), min(map(min, rows)), max(map(max, rows)))])


def _ppm(data: bytes) -> dict[str, Any]:
    parts = data.split(None, 4)
    width, height = int(parts[1]), int(parts[2])
    size = width * height * (3 if parts[0] == b"P6" else 1)
    pixels = data[len(data) - size :] if len(data) > size else b""
    if not pixels:
        raise ValueError("it is cut off")
    return _found("own", [(width, height, min(pixels), max(pixels))])


if __name__ == "__main__":
    os.environ.setdefault("OPENCV_LOG_LEVEL", "ERROR")
    print(json.dumps(look(sys.argv[1])))
