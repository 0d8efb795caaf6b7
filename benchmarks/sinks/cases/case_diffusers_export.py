"""diffusers: export_to_video (through imageio, that through ffmpeg), a GIF, and encode_video."""

import os

import diffusers
import torch
from diffusers.utils import export_to_gif, export_to_video
from driving import FRAMES, HEIGHT, WIDTH, done, folder, picture
from PIL import Image

there = folder()
clip = [picture(i) for i in range(FRAMES)]
export_to_video([frame / 255.0 for frame in clip], os.path.join(there, "a.mp4"), fps=16)
export_to_gif([Image.fromarray(frame) for frame in clip], os.path.join(there, "a.gif"))
expected = 2 * FRAMES
try:
    from diffusers.pipelines.ltx2.export_utils import encode_video
except ImportError:
    pass
else:
    frames = torch.zeros((FRAMES, HEIGHT, WIDTH, 3), dtype=torch.uint8)
    path = os.path.join(there, "b.mp4")
    encode_video(frames, fps=24, audio=None, audio_sample_rate=None, output_path=path)
    encode_video(iter([frames, frames]), 24, None, None, path, video_chunks_number=2)
    expected += 3 * FRAMES
done(expected, diffusers.__version__)
