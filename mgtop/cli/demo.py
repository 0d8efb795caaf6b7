"""``mgtop demo``: the bundled generator under the monitor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mgtop.cli.errors import UserError
from mgtop.cli.options import recording_options

HEADLESS_REQUESTS = 3
"""Without a screen and without ``--seconds`` the demo must end by itself."""

_EXAMPLES = """\b
Examples:
  mgtop demo
  mgtop demo --fault gc --block 12
  mgtop demo --fault stall:at=40+80,ms=200 --headless --seconds 30

\b
Faults:
  stall    the generator's thread sleeps          queue    the prefetch queue runs empty
  cpu      resizing takes more CPU work           compile  a function is compiled again
  gc       Python collects garbage                leak     a tensor is kept at every emit
  output   the output takes blocks slowly         vram     the allocator gives back a
  compute  the model takes more steps                      fragmented cache (GPU only)

What leak does is seen in GPU memory only.
A fault alone strikes some twenty times a minute. Keys: every=20 (emits) or every=3s, ms=150,
at=40+80 (emits, from 0 over the run), seed=7; leak: mib=16. What faults really did is in
truth.json in the session, one JSON object a line."""


@click.command(
    "demo",
    epilog=_EXAMPLES,
    short_help="Run the bundled streaming generator under the monitor.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="A fault for it to suffer; may be given several times.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where the model runs.",
)
@click.option("--block", type=int, default=4, show_default=True, help="Frames of an emit.")
@click.option(
    "--requests",
    type=int,
    help=f"Requests to serve; 0: until stopped (default: 0, with --headless alone "
    f"{HEADLESS_REQUESTS}).",
)
@click.option("--frames", type=int, default=240, show_default=True, help="Frames of a request.")
@click.option("--steps", type=int, default=4, show_default=True, help="Sampling steps.")
@click.option("--width", type=int, help="A multiple of 32 (default: 320, on a GPU 640).")
@click.option("--height", type=int, help="A multiple of 32 (default: 192, on a GPU 384).")
@click.option(
    "--fps", type=float, help="Rate of play (default: what this machine makes, less headroom)."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all that is random.")
@click.option(
    "--concurrent", type=int, default=1, show_default=True, help="Requests served at once."
)
@recording_options
def command(
    faults: tuple[str, ...],
    requests: int | None,
    headless: bool,
    seconds: float | None,
    out: Path | None,
    **given: Any,
) -> int:
    """Run the bundled streaming generator under the monitor.

    It is a real one in torch, in small: it decodes a clip, samples, decodes latents, encodes
    and writes, in blocks. Its weights are random, so the pictures mean nothing. Order a fault,
    and see what its late frames are put down to.
    """
    if requests is None:
        requests = HEADLESS_REQUESTS if headless and seconds is None else 0
    params = {
        "requests": requests,
        **{key: value for key, value in given.items() if value is not None},
    }
    _check(params, faults)
    from mgtop.cli.conduct import conduct
    from mgtop.config.load import build_config
    from mgtop.record.from_config import config_yaml, plan_from

    config = build_config(_configuration(params, faults), [])
    path = Path(config.cwd) / "demo"
    plan = plan_from(config, path, seconds=seconds)
    return conduct(plan, headless=headless, out=out, config_yaml=config_yaml(config, path, plan))


def _check(params: dict[str, Any], faults: tuple[str, ...]) -> None:
    """Have the demo's own rules looked at before anything is started."""
    from mgtop.demo.errors import DemoError
    from mgtop.demo.needs import check_packages
    from mgtop.demo.options import parse

    try:
        parse(_arguments(params, faults))
        check_packages()
    except DemoError as error:
        raise UserError(str(error)) from None


def _arguments(params: dict[str, Any], faults: tuple[str, ...]) -> list[str]:
    named = [word for key, value in params.items() for word in (f"--{key}", str(value))]
    return named + [word for fault in faults for word in ("--fault", fault)]


def _configuration(params: dict[str, Any], faults: tuple[str, ...]) -> dict[str, Any]:
    """The run as a configuration whose parameters can be varied: ``mgtop sweep`` takes it too.

    The working directory is where mgtop is installed, so that no file of the user's stands in
    for a module.
    """
    import mgtop

    return {
        "name": "-".join(["demo", *(fault.partition(":")[0] for fault in faults)]),
        "command": [
            sys.executable,
            "-m",
            "mgtop.demo",
            *_arguments({key: f"{{{key}}}" for key in params}, faults),
        ],
        "cwd": str(Path(mgtop.__file__).parents[1]),
        "params": {**params, **({"fault": " ".join(faults)} if faults else {})},
        "frames": {"from": "probe"},  # it tells of all that it does
    }
