"""imageio, version 2's writer through ffmpeg's pipe, and mimwrite: one call a frame."""

import os

import imageio.core.format
import imageio.v2
from driving import FRAMES, cost_us, done, folder, picture

there = folder()
with imageio.v2.get_writer(os.path.join(there, "a.mp4"), fps=24, macro_block_size=1) as writer:
    for i in range(FRAMES):
        writer.append_data(picture(i))
    cost, more = cost_us(imageio.core.format.Format.Writer, "append_data", writer, picture())
clip = [picture(i) for i in range(FRAMES)]
imageio.v2.mimwrite(os.path.join(there, "b.mp4"), clip, fps=24, macro_block_size=1)
imageio.v2.imwrite(os.path.join(there, "still.png"), picture())  # a still is no frame
done(2 * FRAMES + more, imageio.__version__, cost)
