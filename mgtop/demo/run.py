"""One run of the generator: load, warm up, serve requests, stop in order."""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import torch

from mgtop import probe
from mgtop.demo.blocks import Blocks
from mgtop.demo.clip import find_clip
from mgtop.demo.errors import DemoError
from mgtop.demo.faults.conductor import Conductor
from mgtop.demo.generator import Generator
from mgtop.demo.options import Options
from mgtop.demo.serving import Faultless, Nobody, Service
from mgtop.demo.sink import SUFFIX
from mgtop.demo.truth import Truth

SIZES = {"cpu": (320, 192), "cuda": (640, 384)}
"""Width and height by device, unless asked otherwise."""

WARM_UP_S = 1.0
WARM_UP_EMITS = 8
"""Before the first request the model runs for so long, and for so many emits at least."""

HEADROOM = 0.85
RATES = (1, 2, 4, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 48, 50, 60, 90, 120, 144, 240)
"""Without ``--fps``: the highest of these that ``HEADROOM`` of the machine's speed reaches."""

KEPT = 8
"""Videos of an endless run that are kept, the newest."""


class Run:
    """A run with its options.

    Args:
        options: what to do.
        say: prints a line for the person who started it.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = say
        self._stop = threading.Event()
        self._numbers = itertools.count(1)
        self._videos: deque[Path] = deque()
        self._failures: list[BaseException] = []

    def stop(self) -> None:
        """End after the blocks that are being made."""
        self._stop.set()

    def __call__(self) -> None:
        """Load, and serve all requests.

        Raises:
            DemoError: it cannot be done as it was asked for.
        """
        options = self._options
        # A second thread for one small model gains little, and waits for cores that are taken.
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        truth = Truth(options.truth)
        try:
            self._conductor = Conductor(options.faults, truth)
            self._out = self._output_folder()
            self._load()
            probe.load_done()
            self._serve_all()
        finally:
            truth.close()
        if self._failures:
            raise self._failures[0]

    def _load(self) -> None:
        options = self._options
        device = _device(options.device)
        width, height = SIZES[device.type]
        self._blocks = Blocks(options.block)
        generator = Generator(
            device,
            self._blocks,
            options.width or width,
            options.height or height,
            options.steps,
            options.seed,
        )
        self._shape = generator.shape
        self._say(
            f"weights: {generator.parameters / 1e6:.1f} million, RANDOM (nothing was trained, the "
            f"pictures mean nothing) on {device.type}"
        )
        clip = find_clip(self._out)
        self._service = Service(generator, clip, self._blocks, self._stop.is_set)
        self._conductor.prepare(generator, self._service.capacity, self._blocks.size, options.seed)
        per_block_s = self._warm_up()
        if self._stop.is_set():
            return
        self._fps = options.fps or _rate_below(HEADROOM * self._blocks.size / per_block_s)
        # What is loaded stays: the garbage collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        self._conductor.settle()
        self._say(
            f"loaded: {self._shape.width}x{self._shape.height}, {options.steps} steps, blocks of "
            f"{self._blocks.size} (the first {self._blocks.first}); about "
            f"{self._blocks.size / per_block_s:.0f} frames/s here, to be played at {self._fps:g}"
        )

    def _warm_up(self) -> float:
        """Make frames for nobody; return the seconds that a block takes."""
        options = self._options
        emits = WARM_UP_EMITS
        begin = time.monotonic()
        took: list[int] = []
        while not self._stop.is_set():
            _, times = self._service.serve(
                Nobody(),
                Faultless(),
                Path(os.devnull),
                fps=24.0,
                emits=emits,
                seed=options.seed,
                queue=_tell_nobody,
            )
            took += [later - earlier for earlier, later in itertools.pairwise(times[2:])]
            if time.monotonic() - begin >= WARM_UP_S:
                break
        usual_ns = statistics.median(took or [1_000_000_000])
        self._conductor.note(int(usual_ns), [])
        return usual_ns / 1e9

    def _serve_all(self) -> None:
        threads = [
            threading.Thread(target=self._serve_some, name=f"generator-{number}")
            for number in range(1, self._options.concurrent)
        ]
        for thread in threads:
            thread.start()
        self._serve_some()
        for thread in threads:
            thread.join()

    def _serve_some(self) -> None:
        """Serve one request after the other, until there is none left."""
        try:
            while not self._stop.is_set():
                number = next(self._numbers)
                if 0 < self._options.requests < number:
                    return
                self._serve(number)
        except BaseException as failure:
            self._failures.append(failure)
            self.stop()

    def _serve(self, number: int) -> None:
        options = self._options
        emits = self._blocks.emits_for(options.frames)
        name = f"demo-{number}"
        path = self._out / f"request-{number:04d}{SUFFIX}"
        self._make_room(path)
        begin_ns = time.monotonic_ns()
        with probe.request(
            name,
            width=self._shape.width,
            height=self._shape.height,
            steps=options.steps,
            fps=self._fps,
            block=self._blocks.size,
            seed=options.seed,
        ) as request:
            try:
                frames, times = self._service.serve(
                    request,
                    self._conductor.watch(name, self._blocks, emits),
                    path,
                    fps=self._fps,
                    emits=emits,
                    seed=options.seed * 1_000_003 + number,
                )
            except OSError as error:
                raise DemoError(
                    f"The video cannot be written: {path}: {error.strerror or error}."
                ) from None
            request.end(frames=frames)
        if times:
            first_ms = (times[0] - begin_ns) / 1e6
            rate = (frames - self._blocks.first) / max(1e-9, (times[-1] - times[0]) / 1e9)
            self._say(
                f"request {name}: first frame after {first_ms:.0f} ms, {frames} frames, "
                f"{rate:.1f} frames/s -> {path}"
            )

    def _make_room(self, path: Path) -> None:
        """In an endless run, remove the oldest of our videos."""
        if not self._options.requests:
            self._videos.append(path)
            while len(self._videos) > KEPT:
                self._videos.popleft().unlink(missing_ok=True)

    def _output_folder(self) -> Path:
        out = self._options.out
        try:
            if out is None:
                return Path(tempfile.mkdtemp(prefix="mgtop-demo-"))
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DemoError(f"--out {out}: it cannot be made ({error.strerror}).") from None
        return out


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise DemoError(
            "--device cuda: this torch sees no GPU (a build without CUDA, or no driver); "
            "use --device cpu."
        )
    if name == "cuda" or (name == "auto" and torch.cuda.is_available()):
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _rate_below(fps: float) -> float:
    return float(max((rate for rate in RATES if rate <= fps), default=RATES[0]))


def _tell_nobody(name: str, depth: int, capacity: int) -> None:
    pass
