"""A pipeline that knows nothing of mgtop; a configuration names its functions as hooks."""

from pace import Pace


class Pipeline:
    """Four steps, then the decoder."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def step(self, part: int) -> object:
        """Compute a quarter of a frame."""
        return self._pace.work(max(1, self._pace.n * part // 4 - self._pace.n * (part - 1) // 4))

    def decode(self, latent: object) -> object:
        """Bring the frame to the CPU."""
        return latent[0, :64].cpu()  # type: ignore[index]

    def frame(self) -> int:
        """Make one frame; return how many those are."""
        for part in range(1, 5):
            latent = self.step(part)
        self.decode(latent)
        return 1
