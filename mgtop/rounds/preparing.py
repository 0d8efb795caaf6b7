"""From what was asked for to what will be run; everything that can be refused is refused here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config import RunConfig
from mgtop.config.command import filled, problem_in
from mgtop.config.differences import from_baseline
from mgtop.config.errors import ConfigError
from mgtop.config.load import load_config, located
from mgtop.record.from_config import plan_from
from mgtop.report.gates import GateError, parse_gate
from mgtop.rounds.one_round import Job
from mgtop.rounds.schedule import Setting, settings_of
from mgtop.rounds.state import Order
from mgtop.rounds.variables import Variable, applied, checked, label, read_variable
from mgtop.session.secrets import mask

MOST_ROUNDS = 1_000
MOST_VARIABLES = 2


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """An order that can be carried out.

    Attributes:
        order: what was asked for, with its fingerprint.
        config: the configuration, which is the baseline of all rounds.
        path: its file.
        name: of the sweep: the configuration's.
        variables: what varies; of a fallback, what can give way, in the order of the file.
        gates: those of the command line and of the configuration.
        said: what the user should know before it begins.
    """

    order: Order
    config: RunConfig
    path: Path
    name: str
    variables: list[Variable]
    gates: list[str]
    said: list[str]

    def job(
        self, setting: Mapping[str, Any], repeat: int, repeats: int, out: Path | None = None
    ) -> Job:
        """The round of a setting."""
        return Job(
            config=with_setting(self.config, setting),
            path=str(self.path),
            setting=dict(setting),
            repeat=repeat,
            repeats=repeats,
            seconds=self.order.seconds,
            out=str(out) if out is not None else self.order.out,
            gates=self.gates,
        )


def prepare(order: Order) -> Prepared:
    """Check everything that can be checked before the first round.

    Raises:
        ConfigError: the configuration, a variable or a gate is wrong.
    """
    path = Path(order.config)
    config = load_config(path, order.overrides)
    where = str(path)
    try:
        gates = _gates(config, order, where)
        if order.kind == "sweep":
            variables = _varied(order, config)
        else:
            if not config.fallback:
                raise ConfigError(
                    "says what can give way, as in {steps: [24, 16, 12]}; there is none",
                    where,
                    key="fallback",
                )
            variables = [
                checked(Variable(name=name, values=values), config.params, f"{where}: fallback")
                for name, values in config.fallback.items()
            ]
        settings = settings_of(variables) if order.kind == "sweep" else _notches(variables)
        _check_settings(config, settings, where)
        plan = plan_from(with_setting(config, settings[0]), path) if settings else None
    except ConfigError as error:
        if error.path != where:  # of the command line
            raise
        raise located(error, path, order.overrides) from None
    if len(settings) * order.repeats > MOST_ROUNDS:
        raise ConfigError(
            f"{len(settings)} settings, {order.repeats} times each, are more than "
            f"{MOST_ROUNDS:,} rounds",
            "--vary",
        )
    told = msgspec.structs.replace(
        order,
        fingerprint=_fingerprint(order, config, gates),
        overrides=[str(word) for word in _masked(order.overrides)],
    )
    return Prepared(
        order=told,
        config=config,
        path=path,
        name=config.name or (plan.name if plan is not None else path.stem),
        variables=variables,
        gates=gates,
        said=_said(config, path, variables, order),
    )


def with_setting(config: RunConfig, setting: Setting) -> RunConfig:
    """The configuration with the varied parameters put over its own."""
    return msgspec.structs.replace(config, params=applied(config.params, setting))


def _varied(order: Order, config: RunConfig) -> list[Variable]:
    if not order.vary:
        raise ConfigError("say what varies, as in --vary steps=4,8,16", "--vary")
    variables = [read_variable(text, config.params) for text in order.vary]
    if len(variables) > MOST_VARIABLES:
        raise ConfigError(
            f"{len(variables)} variables are too many: one, or two for a matrix", "--vary"
        )
    names = [variable.name for variable in variables]
    if len(set(names)) < len(names):
        raise ConfigError("is varied twice; give all its values at once", "--vary", key=names[0])
    if "resolution" in names and {"width", "height"} & set(names):
        raise ConfigError("sets width and height itself", "--vary", key="resolution")
    return variables


def _notches(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    return [{variable.name: value} for variable in variables for value in variable.values]


def _gates(config: RunConfig, order: Order, where: str) -> list[str]:
    for text, key in [
        *((text, f"gate[{n}]") for n, text in enumerate(config.gate)),
        *((text, "") for text in order.gates),
    ]:
        try:
            parse_gate(text)
        except GateError as error:
            raise ConfigError(str(error), where if key else "--gate", key=key or None) from None
    return [*config.gate, *order.gates]


def _check_settings(config: RunConfig, settings: Sequence[Setting], where: str) -> None:
    """Every setting must fill the command; and must change it, or a file that it reads."""
    for setting in settings:
        candidate = with_setting(config, setting)
        for key, text in filled(candidate):
            if problem := problem_in(text, candidate.params):
                raise ConfigError(f"with {label(setting)}: {problem}", where, key=key)
    used = _used(config)
    for setting in settings[:1]:
        for name in setting:
            parts = (
                {"width", "height"}
                if name == "resolution" and name not in config.params
                else {name}
            )
            if not parts & used:
                words = " or ".join(f"{{{part}}}" for part in sorted(parts, reverse=True))
                raise ConfigError(
                    f"{words} stands neither in command nor in edit, "
                    "so all rounds would be the same",
                    where,
                    key=f"params.{'width' if len(parts) > 1 else name}",
                )


def _used(config: RunConfig) -> set[str]:
    """Parameters that reach the program."""
    texts = [text for key, text in filled(config) if key.startswith("command")]
    found = {name for name in config.params if any(f"{{{name}}}" in text for text in texts)}
    for changes in config.edit.values():
        found |= set(changes.values())
    return found


def _fingerprint(order: Order, config: RunConfig, gates: Sequence[str]) -> str:
    """Equal for the same rounds, whenever they are asked for."""
    decides = {
        "kind": order.kind,
        "config": msgspec.to_builtins(msgspec.structs.replace(config, gate=[])),
        "path": order.config,
        "vary": order.vary,
        "repeats": order.repeats,
        "seconds": order.seconds,
        "gates": list(gates),
        "on": order.on,
    }  # not where they lie: a folder may be moved, and the rounds in it go on
    return hashlib.sha256(msgspec.json.encode(decides, order="sorted")).hexdigest()[:32]


def _masked(overrides: Sequence[str]) -> list[str]:
    masked = []
    for text in overrides:
        key, equals, value = text.partition("=")
        masked.append(f"{key}{equals}{mask({key.rpartition('.')[2]: value}).popitem()[1]}")
    return masked


def _said(config: RunConfig, path: Path, variables: Sequence[Variable], order: Order) -> list[str]:
    said = []
    found = from_baseline(config, path) or {}
    own = {f"params.{variable.name}" for variable in variables}
    beside = [key for key in found if key not in own]
    if beside:
        said.append(
            f"{path.name} differs from its baseline {config.baseline} in {', '.join(beside)}: "
            "in this sweep it is the baseline itself"
        )
    if order.kind == "sweep" and order.repeats < 3:
        said.append(
            f"with {order.repeats} of each setting nothing can be said about convergence: "
            "three repeats are the least"
        )
    return said
