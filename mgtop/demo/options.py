"""The command line of the generator."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from mgtop.demo.errors import DemoError
from mgtop.demo.faults.kinds import KINDS
from mgtop.demo.faults.orders import Order, parse_order

CELL = 32
"""Width and height are multiples of it: a token is as many pixels wide and high."""


@dataclass(frozen=True)
class Options:
    """What the generator is to do; ``None`` where it decides itself."""

    device: str
    block: int
    requests: int
    frames: int
    steps: int
    width: int | None
    height: int | None
    fps: float | None
    seed: int
    concurrent: int
    out: Path | None
    truth: Path | None
    faults: tuple[Order, ...]


def _whole(least: int, most: int = 10**9) -> Callable[[str], int]:
    def convert(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
        if not least <= value <= most:
            limit = f"from {least} on" if most == 10**9 else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{text} is not a whole number {limit}")
        return value

    return convert


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0.1 to 1000")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise DemoError(f"{message}; see --help.")


def make_parser() -> argparse.ArgumentParser:
    """The options, with their help."""
    faults = "\n".join(f"  {name:8} {kind.does}" for name, kind in KINDS.items())
    parser = _Parser(
        prog="python -m mgtop.demo",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="A streaming video generator in torch, instrumented with mgtop's probe.\n"
        "The weights are random: what it makes is the clip, blurred and stirred.",
        epilog=f"faults:\n{faults}\n\n"
        "  --fault NAME strikes some twenty times a minute. Keys: every=20 (emits) or every=3s,\n"
        "  ms=150, at=40+80 (emits, from 0 over the run), seed=7; leak: mib=16.\n\n"
        "example: python -m mgtop.demo --block 4 --fault gc:every=40,ms=150 --truth truth.json",
    )
    add = parser.add_argument
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto")
    add("--block", type=_whole(1, 240), default=4, metavar="N",
        help="frames of an emit, the first one has up to 3 fewer (default: 4)")  # fmt: skip
    add("--requests", type=_whole(0), default=3, metavar="N",
        help="requests to serve; 0: until stopped (default: 3)")  # fmt: skip
    add("--frames", type=_whole(1), default=240, metavar="N",
        help="frames of a request, rounded up to whole blocks (default: 240)")  # fmt: skip
    add("--steps", type=_whole(1, 1000), default=4, metavar="N",
        help="sampling steps of a block (default: 4)")  # fmt: skip
    add("--width", type=_whole(CELL, 4096), default=None, metavar="PX",
        help=f"a multiple of {CELL} (default: 320, on a GPU 640)")  # fmt: skip
    add("--height", type=_whole(CELL, 4096), default=None, metavar="PX",
        help=f"a multiple of {CELL} (default: 192, on a GPU 384)")  # fmt: skip
    add("--fps", type=_rate, default=None, metavar="N",
        help="rate at which the video is to be played; frames are made as fast as they can be "
        "(default: what this machine makes, less some headroom)")  # fmt: skip
    add("--seed", type=_whole(0), default=0, metavar="N", help="default: 0")
    add("--concurrent", type=_whole(1, 64), default=1, metavar="N",
        help="requests served at once (default: 1)")  # fmt: skip
    add("--out", type=Path, default=None, metavar="DIR",
        help="folder for the videos; with --requests 0 the newest 8 are kept (default: "
        "in the session under mgtop run, else a new one among the temporary files)")  # fmt: skip
    add("--fault", action="append", default=[], metavar="NAME[:KEY=VALUE,…]",
        help="a fault to suffer, see below; may be given several times")  # fmt: skip
    add("--truth", type=Path, default=None, metavar="FILE",
        help="what faults really did, one JSON object a line (default: truth.json in the "
        "session under mgtop run)")  # fmt: skip
    return parser


def parse(arguments: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        DemoError: an option is unknown, or its value does not fit.
        SystemExit: help was asked for, and given.
    """
    given = make_parser().parse_args(arguments)
    for name in ("width", "height"):
        value = getattr(given, name)
        if value is not None and value % CELL:
            below = value // CELL * CELL
            raise DemoError(
                f"--{name} {value}: it must be a multiple of {CELL}, such as {below} "
                f"or {below + CELL}."
            )
    faults = tuple(parse_order(text) for text in given.fault)
    if len({order.name for order in faults}) < len(faults):
        raise DemoError("--fault: the same fault is ordered twice; give it several at= instead.")
    session = os.environ.get("MGTOP_SESSION")
    if given.truth is None and faults and session:
        given.truth = Path(session) / "truth.json"
    if given.out is None and session:
        given.out = Path(session) / "videos"
    for order in faults:
        if order.name == "queue" and given.concurrent > 1:
            raise DemoError("--fault queue: it needs --concurrent 1.")
        if order.kind.needs_cuda and given.device == "cpu":
            raise DemoError(f"--fault {order.name}: it needs --device cuda.")
    return Options(
        device=given.device,
        block=given.block,
        requests=given.requests,
        frames=given.frames,
        steps=given.steps,
        width=given.width,
        height=given.height,
        fps=given.fps,
        seed=given.seed,
        concurrent=given.concurrent,
        out=given.out,
        truth=given.truth,
        faults=faults,
    )
