"""``mgtop fallback``: one notch at a time from the baseline, until the tails are gone."""

from __future__ import annotations

from pathlib import Path

import click

from mgtop.cli.options import Number, as_json, with_schema

_EXAMPLES = """\b
Examples:
  mgtop fallback steps24.yaml
  mgtop fallback steps24.yaml --headless --seconds 60

\b
The configuration names what can give way, the present value first:
  fallback: {steps: [24, 16, 12], resolution: ["1280x720", "960x544"], concurrency: [2, 1]}"""


@click.command(
    "fallback",
    epilog=_EXAMPLES,
    short_help="Step down one notch at a time until the tails are gone.",
)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N",
    help="Most rounds of a notch; it is repeated only while it cannot be told.",
)  # fmt: skip
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a configuration key."
)
@click.option(
    "--headless", is_flag=True,
    help="Without a screen; the folder's path is the last line of stdout.",
)  # fmt: skip
@click.option(
    "--seconds", type=Number(min=0, min_open=True), metavar="N",
    help="Stop each round after N seconds.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Folder for the rounds and their sessions (default: in the user's state folder).",
)  # fmt: skip
@as_json
@with_schema
def command(
    config: str,
    repeats: int,
    overrides: tuple[str, ...],
    headless: bool,
    seconds: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Step down one notch at a time until the tails are gone.

    Each notch starts from the baseline, never from the notch before: steps first, then
    resolution, then concurrency; with a sign of memory trouble resolution, then concurrency,
    then the state cache, and never steps. The exit code is 1 where the late frames are still
    there after all of them; stages and memory then stand on one time axis, with what came
    before the late frames.
    """
    from mgtop.cli.conduct_rounds import conduct_rounds, config_file
    from mgtop.rounds.state import Order

    order = Order(
        kind="fallback",
        config=str(config_file(config)),
        overrides=list(overrides),
        repeats=repeats,
        seconds=seconds,
        out=str(out.resolve()) if out is not None else None,
    )
    return conduct_rounds(order, headless=headless or as_json, as_json=as_json)
