"""MoviePy: a clip whose frames are made while it is written."""

import os

import moviepy
from driving import FRAMES, done, folder, picture
from moviepy.video.io import ffmpeg_writer

try:
    from moviepy import VideoClip  # 2
except ImportError:
    from moviepy.editor import VideoClip  # 1

made = VideoClip(lambda t: picture(int(t * 24)), duration=FRAMES / 24)
made.write_videofile(os.path.join(folder(), "clip.mp4"), fps=24, logger=None)
assert ffmpeg_writer.FFMPEG_VideoWriter
done(FRAMES, moviepy.__version__)
