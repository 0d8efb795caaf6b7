"""A generator of blocks of four frames, with a prefetch thread, a queue and its own allocations."""

import queue
import threading

import torch
from pace import Pace, arguments, measure

from mgtop import probe

BLOCK = 4
device, seconds, out = arguments()
pace = Pace(device)
ready: "queue.Queue[torch.Tensor]" = queue.Queue(8)
ended = threading.Event()


def prefetch() -> None:
    while not ended.is_set():
        try:
            ready.put(torch.zeros(3, 360, 640), timeout=0.1)
        except queue.Full:
            continue


threading.Thread(target=prefetch, daemon=True).start()
probe.load_done()
with probe.request(fps=55) as request:
    request.preprocess_done()

    def block() -> int:
        with request.span("h2d"):
            image = ready.get().to(device)
        probe.queue("prefetch", depth=ready.qsize(), capacity=8)
        kept = []
        for _ in range(BLOCK):
            with request.span("forward"):
                y = pace.work()
            kept.append(torch.cat([y.reshape(-1)[:64], image.reshape(-1)[:64].to(y.dtype)]))
        with request.span("vae_decode"):
            torch.stack(kept).cpu()
        request.frame(count=BLOCK)
        return BLOCK

    measure(block, pace, seconds, out)
ended.set()
