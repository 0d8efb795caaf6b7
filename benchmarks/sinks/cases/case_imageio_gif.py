"""imageio: animated GIFs, frame by frame and in one call."""

import os

import imageio.plugins.pillow
import imageio.v2
import imageio.v3
from driving import FRAMES, cost_us, done, folder, picture

there = folder()
with imageio.v2.get_writer(os.path.join(there, "a.gif"), mode="I") as writer:
    for i in range(FRAMES):
        writer.append_data(picture(i))
    cost, more = cost_us(imageio.plugins.pillow.PillowPlugin, "write", writer.instance, picture())
clip = [picture(i) for i in range(FRAMES)]
imageio.v2.mimsave(os.path.join(there, "b.gif"), clip)
imageio.v3.imwrite(os.path.join(there, "c.gif"), clip)
imageio.v3.imwrite(os.path.join(there, "still.png"), picture())
done(3 * FRAMES + more, imageio.__version__, cost)
