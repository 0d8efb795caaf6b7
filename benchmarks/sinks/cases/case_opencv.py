"""OpenCV: one writer, frames of its own size and some that it leaves out."""

import os

import cv2
from driving import FRAMES, HEIGHT, WIDTH, cost_us, done, folder, picture

writer = cv2.VideoWriter(
    os.path.join(folder(), "clip.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 24, (WIDTH, HEIGHT)
)
assert writer.isOpened()
for i in range(FRAMES):
    writer.write(picture(i))
writer.write(picture()[:-2])  # too low
writer.write(picture()[:, :, 0].copy())  # grey
cost, more = cost_us(cv2.VideoWriter, "write", writer, picture())
writer.release()
writer.write(picture())  # released
done(FRAMES + more, cv2.__version__, cost)
