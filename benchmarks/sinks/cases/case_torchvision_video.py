"""torchvision's write_video, bound early as most programs do; it writes through PyAV."""

import os

import torch
from driving import FRAMES, HEIGHT, WIDTH, done, folder

if not hasattr(torch.ops.torchvision, "nms"):  # a build for another release of torch
    operators = torch.library.Library("torchvision", "DEF")
    operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"):
        for kind in ("", "_backward"):
            operators.define(f"{'_' if kind else ''}{name}{kind}(Tensor a) -> Tensor")
import torchvision
from torchvision.io import write_video

clip = torch.zeros((FRAMES, HEIGHT, WIDTH, 3), dtype=torch.uint8)
write_video(os.path.join(folder(), "clip.mp4"), clip, fps=16, video_codec="mpeg4")
done(FRAMES, torchvision.__version__)
