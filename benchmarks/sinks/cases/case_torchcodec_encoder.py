"""torchcodec's VideoEncoder: a clip to a file, and again to memory."""

import os

import torch
import torchcodec
from driving import FRAMES, HEIGHT, WIDTH, done, folder
from torchcodec.encoders import VideoEncoder

clip = torch.zeros((FRAMES, 3, HEIGHT, WIDTH), dtype=torch.uint8)
encoder = VideoEncoder(clip, frame_rate=24)
encoder.to_file(os.path.join(folder(), "clip.mp4"))
encoder.to_tensor(format="mp4")
done(2 * FRAMES, torchcodec.__version__)
