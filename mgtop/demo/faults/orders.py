"""Reading ``--fault NAME:key=value,…``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches

from mgtop.demo.errors import DemoError
from mgtop.demo.faults.kinds import COMMON_KEYS, KINDS, Kind

PERIOD_S = 3.0
"""Without ``every`` and ``at``: about one strike in so many seconds, twenty a minute."""

MOST_MS = 60_000.0


@dataclass(frozen=True)
class Order:
    """A fault, and when it is to strike.

    Exactly one of ``at``, ``every_emits`` and ``every_s`` is set.

    Args:
        name: of the fault.
        at: numbers of emits, counted from 0 over the run.
        every_emits: strike at each emit whose number is a multiple of it, but 0.
        every_s: strike at random times, on average so many seconds apart.
        ms: how long a strike is to last; None: some two usual intervals.
        mib: how much a leak keeps at a time; None: its own default.
        seed: of the random times; None: the run's.
    """

    name: str
    at: tuple[int, ...] = ()
    every_emits: int | None = None
    every_s: float | None = None
    ms: float | None = None
    mib: float | None = None
    seed: int | None = None

    @property
    def kind(self) -> Kind:
        """What is known about the fault."""
        return KINDS[self.name]


def parse_order(text: str) -> Order:
    """Read one order, such as ``stall``, ``gc:every=20,ms=150`` or ``cpu:at=40+80``.

    Raises:
        DemoError: there is no such fault or key, or a value does not fit.
    """
    name, colon, rest = text.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        near = get_close_matches(name, KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KINDS)}."
        raise DemoError(f"--fault {text}: there is no fault {name!r}; {hint}")
    allowed = kind.keys + COMMON_KEYS
    values: dict[str, str] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = part.partition("=")
        if key not in allowed:
            raise DemoError(
                f"--fault {text}: {name} has no key {key!r}; it takes {', '.join(allowed)}."
            )
        if not equals or not value:
            raise DemoError(f"--fault {text}: {key} needs a value, as in {key}={_EXAMPLES[key]}.")
        if key in values:
            raise DemoError(f"--fault {text}: {key} is given twice.")
        values[key] = value
    if "at" in values and "every" in values:
        raise DemoError(f"--fault {text}: give either at or every, not both.")
    try:
        return _order(name, values)
    except ValueError as error:
        key = str(error)
        raise DemoError(
            f"--fault {text}: {key}={values[key]} does not fit; {_FITS[key]}, "
            f"as in {key}={_EXAMPLES[key]}."
        ) from None


_EXAMPLES = {"every": "20 or every=3s", "at": "40+80", "seed": "7", "ms": "150", "mib": "16"}
_FITS = {
    "every": "it is a number of emits (1 or more), or of seconds (0.1 or more) with an s",
    "at": "it is numbers of emits from 0 on, joined by +",
    "seed": "it is a whole number from 0 on",
    "ms": f"it is a number above 0 and up to {MOST_MS:.0f}",
    "mib": "it is a number above 0 and up to 65536",
}


def _order(name: str, values: dict[str, str]) -> Order:
    """Build the order; a ``ValueError`` names the key whose value does not fit."""
    every_emits: int | None = None
    every_s: float | None = None
    at = (
        tuple(sorted({_whole("at", part) for part in values["at"].split("+")}))
        if "at" in values
        else ()
    )
    every = values.get("every")
    if every is None:
        if not at:
            every_emits, every_s = (1, None) if name == "leak" else (None, PERIOD_S)
    elif every.endswith("s"):
        every_s = _number("every", every[:-1], least=0.1, most=86_400.0)
    else:
        every_emits = _whole("every", every, least=1)
    return Order(
        name=name,
        at=at,
        every_emits=every_emits,
        every_s=every_s,
        ms=_number("ms", values["ms"], most=MOST_MS) if "ms" in values else None,
        mib=_number("mib", values["mib"], most=65_536.0) if "mib" in values else None,
        seed=_whole("seed", values["seed"]) if "seed" in values else None,
    )


def _whole(key: str, text: str, least: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19) or int(text) < least:
        raise ValueError(key)
    return int(text)


def _number(key: str, text: str, *, least: float = 0.0, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(key) from None
    if not math.isfinite(value) or not least <= value <= most or value == 0:
        raise ValueError(key)
    return value
