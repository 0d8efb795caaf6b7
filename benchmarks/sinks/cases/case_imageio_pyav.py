"""imageio, version 3, through its PyAV plugin: a clip in one call, and frame by frame."""

import os

import imageio.plugins.pyav
import imageio.v3 as iio
import numpy as np
from driving import FRAMES, cost_us, done, folder, picture

there = folder()
clip = np.stack([picture(i) for i in range(FRAMES)])
iio.imwrite(os.path.join(there, "a.mp4"), clip, plugin="pyav", codec="mpeg4")
with iio.imopen(os.path.join(there, "b.mp4"), "w", plugin="pyav") as file:
    file.init_video_stream("mpeg4", fps=24)
    for i in range(FRAMES):
        file.write_frame(picture(i))
    cost, more = cost_us(imageio.plugins.pyav.PyAVPlugin, "write_frame", file, picture())
done(2 * FRAMES + more, imageio.__version__, cost)
