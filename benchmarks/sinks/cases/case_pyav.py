"""PyAV: frames into an encoder that holds them back, and flushing; audio beside them."""

import os

import av
import numpy as np
from driving import FRAMES, HEIGHT, WIDTH, cost_us, done, folder, picture

container = av.open(os.path.join(folder(), "clip.mp4"), "w")
stream = container.add_stream("mpeg4", rate=24)
stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
sound = container.add_stream("aac", rate=48000)


def frame(i=0):
    """One frame for the encoder."""
    return av.VideoFrame.from_ndarray(picture(i), format="rgb24")


for i in range(FRAMES):
    for packet in stream.encode(frame(i)):
        packet.stream = stream  # what other people's programs do
        container.mux(packet)
samples = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
samples.sample_rate = 48000
container.mux(sound.encode(samples))
cost, more = cost_us(av.video.stream.VideoStream, "encode", stream, frame(), result=[])
container.mux(stream.encode())
container.mux(sound.encode())
container.close()
done(FRAMES + more, av.__version__, cost)
