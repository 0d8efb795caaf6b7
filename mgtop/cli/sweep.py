"""``mgtop sweep``: rounds that differ in one parameter, or a matrix of two."""

from __future__ import annotations

from pathlib import Path

import click

from mgtop.cli.options import Number, as_json, with_schema

_EXAMPLES = """\b
Examples:
  mgtop sweep steps24.yaml --vary steps=8,16,24
  mgtop sweep steps24.yaml --vary "schedule=[1,2],[1,2,3]" --repeats 5
  mgtop sweep model.yaml --vary resolution=960x544,1280x720 --vary steps=8,16 --headless
  mgtop sweep model.yaml --vary steps=8,16 --on ray://head:10001 --json

\b
resolution sets the parameters width and height. A gate drops a setting from the choice; where
no setting meets all gates, the exit code is 1."""


@click.command(
    "sweep",
    epilog=_EXAMPLES,
    short_help="Run rounds that differ in one parameter, or a matrix of two.",
)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--vary",
    "vary",
    metavar="NAME=V1,V2,...",
    multiple=True,
    required=True,
    help="A parameter and its values; twice for a matrix.",
)
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N",
    help="Rounds of each setting.",
)  # fmt: skip
@click.option("--on", "on", metavar="ray[://ADDRESS]", help="Run the rounds on a Ray cluster.")
@click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a configuration key."
)
@click.option(
    "--gate", "gates", metavar="EXPR", multiple=True,
    help="Condition on each round's report, as 'interval_ms.p95 < 80'.",
)  # fmt: skip
@click.option(
    "--headless", is_flag=True,
    help="Without a screen; the sweep folder's path is the last line of stdout.",
)  # fmt: skip
@click.option(
    "--seconds", type=Number(min=0, min_open=True), metavar="N",
    help="Stop each round after N seconds.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Folder for the sweep and its sessions (default: in the user's state folder).",
)  # fmt: skip
@as_json
@with_schema
def command(
    config: str,
    vary: tuple[str, ...],
    repeats: int,
    on: str | None,
    overrides: tuple[str, ...],
    gates: tuple[str, ...],
    headless: bool,
    seconds: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run rounds that differ in one parameter, or a matrix of two.

    CONFIG is the baseline: a configuration file, or a folder with an mgtop.yaml. Every setting
    is run several times; the table shows middle values, whether the frame time grows in
    proportion, and which setting to take. A sweep that was stopped or killed goes on where it
    was left when the same command is given again.
    """
    from mgtop.cli.conduct_rounds import conduct_rounds, config_file
    from mgtop.rounds.state import Order

    order = Order(
        kind="sweep",
        config=str(config_file(config)),
        overrides=list(overrides),
        vary=list(vary),
        repeats=repeats,
        seconds=seconds,
        gates=list(gates),
        on=on,
        out=str(out.resolve()) if out is not None else None,
    )
    return conduct_rounds(order, headless=headless or as_json, as_json=as_json)
