"""YAML → :class:`RunConfig`, with errors that name file, line and key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mgtop.config.structs import RunConfig

if TYPE_CHECKING:
    import yaml

MOST_BYTES = 1 << 20
MOST_NODES = 20_000
DEFAULT_FILE = "mgtop.yaml"


class ConfigError(Exception):
    """The configuration is wrong; ``str()`` is one sentence with file, line and key.

    Attributes:
        path: the file, or ``--set`` for an override.
        line: from 1; None where there is none.
        key: the offending key, dotted; None where the file as a whole is wrong.
    """

    def __init__(
        self, message: str, path: str, line: int | None = None, key: str | None = None
    ) -> None:
        self.message, self.path, self.line, self.key = message, path, line, key
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {key}: {message}" if key else f"{where}: {message}")


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a configuration, its baseline under it, and ``KEY=VALUE`` overrides over it.

    A folder means the ``mgtop.yaml`` in it.

    Raises:
        ConfigError: with what is wrong, and where.
    """
    path = Path(path)
    if path.is_dir():
        path = path / DEFAULT_FILE
    document = _Document.read(path)
    data, origin = _with_baseline(document, path, [path.resolve()])
    for override in overrides:
        _set(data, override)
    return _convert(data, origin, overrides)


def build_config(data: Mapping[str, Any], overrides: Sequence[str] = ()) -> RunConfig:
    """A configuration from plain data instead of a file, with ``KEY=VALUE`` overrides over it.

    Raises:
        ConfigError: with what is wrong.
    """
    data = dict(data)
    for override in overrides:
        _set(data, override)
    return _convert(data, {"": ("command line", None)}, overrides)


def differences(base: RunConfig, config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Dotted keys in which two configurations differ, with both values.

    ``name`` and ``baseline`` do not count: every round has its own.
    """
    before = dict(_flatten(msgspec.to_builtins(base)))
    after = dict(_flatten(msgspec.to_builtins(config)))
    keys = [key for key in {**before, **after} if key not in ("name", "baseline")]
    return {
        key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)
    }


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flatten(item, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


class _Document:
    """A YAML file as plain data, with the line of every key."""

    def __init__(self, path: Path, data: dict[str, Any], lines: dict[str, int]) -> None:
        self.path, self.data, self.lines = path, data, lines

    @classmethod
    def read(cls, path: Path) -> _Document:
        import yaml

        name = str(path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", name) from None
        if len(raw) > MOST_BYTES:
            raise ConfigError(f"is larger than {MOST_BYTES >> 10} KiB; is it the right file?", name)
        try:
            node = yaml.compose(raw.decode("utf-8"), Loader=yaml.SafeLoader)
        except UnicodeDecodeError:
            raise ConfigError("is not UTF-8 text", name) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else None
            raise ConfigError(f"is not valid YAML: {error.problem or error}", name, line) from None
        except (yaml.YAMLError, RecursionError) as error:
            raise ConfigError(f"is not valid YAML: {error}", name) from None
        if node is None:
            raise ConfigError("is empty", name)
        builder = _Builder(name)
        data = builder.build(node, "")
        if not isinstance(data, dict):
            raise ConfigError("must be a mapping (key: value)", name, 1)
        return cls(path, data, builder.lines)


class _Builder:
    """Makes plain data of YAML nodes; counts them, so that aliases cannot blow up."""

    def __init__(self, name: str) -> None:
        import yaml

        self._yaml = yaml
        self._constructor = yaml.SafeLoader("")
        self._name = name
        self._nodes = 0
        self.lines: dict[str, int] = {}

    def build(self, node: yaml.Node, key: str) -> Any:
        self._nodes += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(key, line)
        if self._nodes > MOST_NODES:
            raise ConfigError("has too many values (aliases that multiply?)", self._name, line)
        if isinstance(node, self._yaml.MappingNode):
            return self._mapping(node, key)
        if isinstance(node, self._yaml.SequenceNode):
            return [self.build(item, f"{key}[{n}]") for n, item in enumerate(node.value)]
        try:
            return self._constructor.construct_object(node)
        except (self._yaml.YAMLError, ValueError) as error:
            problem = getattr(error, "problem", None) or str(error)
            raise ConfigError(problem, self._name, line, key or None) from None

    def _mapping(self, node: yaml.MappingNode, key: str) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            name = self._constructor.construct_object(key_node)
            line = key_node.start_mark.line + 1
            if not isinstance(name, (str, int, float, bool)):
                raise ConfigError("keys must be plain words", self._name, line, key or None)
            name = str(name)
            inner = f"{key}.{name}" if key else name
            if name in data:
                raise ConfigError("is given twice", self._name, line, inner)
            self.lines[inner] = line
            data[name] = self.build(value_node, inner)
        return data


def _with_baseline(
    document: _Document, path: Path, chain: list[Path]
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """The data with its baseline's under it, and where each key came from."""
    here = {key: (str(document.path), line) for key, line in document.lines.items()}
    base_name = document.data.get("baseline")
    if not isinstance(base_name, str):
        return dict(document.data), here
    base_path = path.parent / base_name
    line = document.lines["baseline"]
    if base_path.resolve() in chain:
        raise ConfigError("leads back to this file", str(path), line, "baseline")
    if not base_path.is_file():
        raise ConfigError(f"{base_path} does not exist", str(path), line, "baseline")
    base, origin = _with_baseline(
        _Document.read(base_path), base_path, [*chain, base_path.resolve()]
    )
    return _merge(base, document.data), origin | here


MERGED = ("params", "env", "edit")
"""Mappings of single values: a round gives only those that differ."""


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if key in MERGED and isinstance(below, dict) and isinstance(value, dict):
            merged[key] = {**below, **value}
        else:
            merged[key] = value
    return merged


def _set(data: dict[str, Any], override: str) -> None:
    import yaml

    key, equals, text = override.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError(f"{override!r} is not KEY=VALUE", "--set")
    try:
        value = yaml.safe_load(text) if text else ""
    except yaml.YAMLError:
        value = text
    at = data
    for part in parts[:-1]:
        inner = at.get(part)
        if inner is None:
            inner = at[part] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"{part} holds a value, not keys", "--set", key=key)
        at = inner
    at[parts[-1]] = value


_PATH = re.compile(r" - at `(?:key in )?`?\$?([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
}


def _convert(
    data: dict[str, Any], origin: Mapping[str, tuple[str, int | None]], overrides: Sequence[str]
) -> RunConfig:
    env = data.get("env")
    if isinstance(env, dict):
        data["env"] = {key: _environment_text(value) for key, value in env.items()}
    try:
        return msgspec.convert(data, RunConfig)
    except msgspec.ValidationError as error:
        raise _explain(str(error), origin, overrides) from None


def _environment_text(value: Any) -> Any:
    """``OMP_NUM_THREADS: 1`` means the text "1"; YAML's true and false are left to the check."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _explain(
    text: str, origin: Mapping[str, tuple[str, int | None]], overrides: Sequence[str]
) -> ConfigError:
    found = _PATH.search(text)
    key = found.group(1).lstrip(".") if found else ""
    problem = text[: found.start()] if found else text
    unknown = _UNKNOWN.search(problem)
    if unknown:
        name = unknown.group(1)
        problem = "is not a known key" + _suggestion(name, key)
        key = f"{key}.{name}" if key else name
    else:
        problem = _plain(problem)
    if any(o.partition("=")[0].strip() == key for o in overrides):
        return ConfigError(problem, "--set", key=key)
    nearest = key
    while nearest not in origin and nearest:
        nearest = re.sub(r"(\.[^.\[]*|\[[^\]]*\]|^[^.\[]*)$", "", nearest)
    path, line = origin.get(nearest) or next(iter(origin.values()))
    return ConfigError(problem, path, line, key or None)


def _suggestion(name: str, parent: str) -> str:
    fields: Any = RunConfig
    for part in filter(None, re.sub(r"\[[^\]]*\]", "", parent).split(".")):
        hint = next((f for f in msgspec.structs.fields(fields) if f.encode_name == part), None)
        kinds = _structs_in(hint.type) if hint is not None else []
        if not kinds:
            return ""
        fields = kinds[0]
    names = [field.encode_name for field in msgspec.structs.fields(fields)]
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (known are {', '.join(names)})"


def _structs_in(hint: Any) -> list[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return [hint]
    return [kind for inner in getattr(hint, "__args__", ()) for kind in _structs_in(inner)]


def _plain(problem: str) -> str:
    """The wording of msgspec, in everyday words."""
    match = re.match(r"Expected `([^`]*)`, got `([^`]*)`$", problem)
    if match:
        wanted, got = (_words(side) for side in match.groups())
        return f"must be {wanted}, but is {got}"
    match = re.match(r"Expected `([^`]*)` ([<>=]+) (.*)$", problem)
    if match:
        return f"must be {_words(match.group(1))} {match.group(2)} {match.group(3)}"
    match = re.match(r"Invalid enum value (.*)$", problem)
    if match:
        return f"{match.group(1)} is not one of the possible values (docs/configuration.md)"
    match = re.match(r"Object missing required field `([^`]*)`$", problem)
    if match:
        return f"must have the key {match.group(1)}"
    return problem[:1].lower() + problem[1:]


def _words(kinds: str) -> str:
    return " or ".join(_TYPES.get(kind.strip(), kind.strip()) for kind in kinds.split("|"))
