"""Each sink with the real library: the programs of ``benchmarks/sinks``, where it is installed.

``python -m benchmarks.sinks --python PATH`` runs them in an environment that has more of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from sink_programs import CASES, run

NEEDS = {
    "opencv": ("cv2",),
    "pyav": ("av",),
    "imageio_ffmpeg": ("imageio", "imageio_ffmpeg"),
    "imageio_gif": ("imageio", "PIL"),
    "imageio_pyav": ("imageio", "av"),
    "moviepy_writer": ("moviepy",),
    "ffmpeg_pipe": ("imageio_ffmpeg",),
    "torchvision_video": ("torchvision",),
    "torchcodec_encoder": ("torchcodec",),
    "diffusers_export": ("diffusers", "imageio_ffmpeg"),
    "aiortc_sender": ("aiortc",),
    "websockets_asyncio": ("websockets",),
    "websockets_sync": ("websockets",),
    "starlette_websocket": ("starlette", "uvicorn", "websockets"),
    "flask_socketio_emit": ("flask_socketio",),
    "pygame_display": ("pygame",),
}


def test_every_case_is_here():
    assert {path.stem for path in CASES.glob("case_*.py")} == {f"case_{name}" for name in NEEDS}


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_each_frame_counts_once(name: str, tmp_path: Path):
    missing = [module for module in NEEDS[name] if find_spec(module) is None]
    if missing:
        pytest.skip(
            f"{', '.join(missing)} is not installed; python -m benchmarks.sinks takes others"
        )
    told = run(tmp_path, str(CASES / f"case_{name}.py"))
    assert told.frames == told.said["expected"]
    assert told.sinks
