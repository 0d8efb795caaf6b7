"""A generator of single frames that uses the probe: request, spans, frames."""

from pace import Pace, arguments, measure

from mgtop import probe

device, seconds, out = arguments()
pace = Pace(device)
probe.load_done()
with probe.request(fps=55) as request:
    request.preprocess_done()

    def frame() -> int:
        with request.span("forward"):
            y = pace.work()
        with request.span("vae_decode"):
            y[0, :64].cpu()
        request.frame()
        return 1

    measure(frame, pace, seconds, out)
