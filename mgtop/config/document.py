"""A YAML file as plain data that knows the line of every key.

Scalars are read as in YAML 1.2: ``yes`` and ``on`` are text, ``1e-4`` is a number, and numbers
with leading zeros are text. Where the configuration wants text, a number is kept as written.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgtop.config.errors import ConfigError
from mgtop.config.files import read_file

if TYPE_CHECKING:
    import yaml

MOST_BYTES = 256 << 10
MOST_VALUES = 20_000
DEEPEST = 32

TAG = "tag:yaml.org,2002:"
SCALARS = (
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("int", re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$"), "-+0123456789"),
    (
        "float",
        re.compile(r"^[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
        "-+.0123456789",
    ),
)
_WANTS_TEXT = re.compile(
    r"^(?:entries\.[\w-]+\.)?"  # in a profile
    r"(?:name|baseline|python|conda|cwd|(?:smoke\.)?command\[\d+\]|smoke\.output|env\..*|edit\..*)$"
)
_HINTS = (
    ("cannot start any token", "indent with spaces, not with tabs", "\\t"),
    ("cannot start any token", "a text that begins so needs quotes", ""),
    ("mapping values are not allowed", "a text with ': ' in it needs quotes", ""),
    ("another document", "there may be one '---' at most, at the top", ""),
)


class Document:
    """A YAML file: ``data``, and for every key (dotted) its line, from 1."""

    def __init__(self, path: Path, data: dict[str, Any], lines: dict[str, int]) -> None:
        self.path, self.data, self.lines = path, data, lines

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file.

        Raises:
            ConfigError: it cannot be read, or is not a YAML mapping within the limits.
        """
        name = str(path)
        data, lines = parse(_text(path), name)
        if data is None:
            raise ConfigError("is empty", name)
        if not isinstance(data, dict):
            raise ConfigError("must be a mapping (key: value)", name, 1)
        return cls(path, data, lines)


def parse(text: str, name: str, key: str = "") -> tuple[Any, dict[str, int]]:
    """YAML text as plain data, and the lines of its keys; ``key`` is where it will stand.

    Raises:
        ConfigError: with ``name`` and the line.
    """
    import yaml

    try:
        node = yaml.compose(text, Loader=loader())
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, name) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"is not valid YAML: character U+{code:04X} is not allowed"
        raise ConfigError(message, name, line) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", name) from None
    builder = _Builder(name)
    return builder.build(node, key, 0) if node is not None else None, builder.lines


def scalar(text: str, name: str, key: str) -> Any:
    """What a bare word means where ``key`` stands: text, a number, true, false or nothing.

    Raises:
        ConfigError: a number that is too large.
    """
    import yaml

    resolver: Any = loader()("")
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False))
    return _plain(tag, text, name, None, key)


def _text(path: Path) -> str:
    name = str(path)
    try:
        raw = read_file(path, MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", name) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(raw) > MOST_BYTES and error.start > MOST_BYTES - 4:
            text = ""  # a character was cut in two: the size is what is wrong
        else:
            line = raw.count(b"\n", 0, error.start) + 1
            raise ConfigError("is not UTF-8 text", name, line) from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"is larger than {MOST_BYTES >> 10} KiB; is it the right file?", name)
    return text


@functools.cache
def loader() -> type[yaml.SafeLoader]:
    """PyYAML's safe loader with the scalars of YAML 1.2, dates and merge keys left as text."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own way

    for kind, pattern, first in SCALARS:
        Loader.add_implicit_resolver(TAG + kind, pattern, list(first))
    return Loader


def _not_yaml(error: yaml.MarkedYAMLError, name: str) -> ConfigError:
    problem = error.problem or error.context or "it cannot be parsed"
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    for part, hint, also in _HINTS:
        if part in problem and also in problem:
            return ConfigError(f"is not valid YAML: {problem} ({hint})", name, line)
    if error.context_mark and error.context and error.context_mark.line + 1 != line:
        problem = f"{problem} ({error.context}, from line {error.context_mark.line + 1} on)"
    return ConfigError(f"is not valid YAML: {problem}", name, line)


class _Builder:
    """Makes plain data of YAML nodes; counts them, so that aliases cannot multiply."""

    def __init__(self, name: str) -> None:
        import yaml

        self._yaml = yaml
        self._name = name
        self._values = 0
        self.lines: dict[str, int] = {}

    def build(self, node: yaml.Node, key: str, depth: int) -> Any:
        self._values += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(key, line)
        if self._values > MOST_VALUES:
            raise ConfigError("has too many values (aliases that multiply?)", self._name, line)
        if depth > DEEPEST:
            raise ConfigError("is nested too deeply", self._name, line)
        tag = node.tag.removeprefix(TAG)
        if isinstance(node, self._yaml.MappingNode) and tag == "map":
            return self._mapping(node, key, depth)
        if isinstance(node, self._yaml.SequenceNode) and tag == "seq":
            return [self.build(item, f"{key}[{n}]", depth + 1) for n, item in enumerate(node.value)]
        if isinstance(node, self._yaml.ScalarNode):
            return _plain(node.tag, node.value, self._name, line, key)
        raise _tagged(node.tag, self._name, line, key)

    def _mapping(self, node: yaml.Node, key: str, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, self._yaml.ScalarNode):
                message = "a key must be a word (a '{' that is meant as text needs quotes)"
                raise ConfigError(message, self._name, line, key or None)
            name = str(key_node.value)
            inner = f"{key}.{name}" if key else name
            if name in data:
                message = f"is given twice (first in line {self.lines[inner]})"
                raise ConfigError(message, self._name, line, inner)
            if name == "<<":
                message = "merge keys (<<) are not known here; use baseline:"
                raise ConfigError(message, self._name, line, key or None)
            self.lines[inner] = line
            data[name] = self.build(value_node, inner, depth + 1)
        return data


def _plain(tag: str, text: str, name: str, line: int | None, key: str) -> Any:
    """The value of a scalar."""
    kind = tag.removeprefix(TAG)
    if kind == "str" or (kind in ("int", "float") and _WANTS_TEXT.match(key)):
        return text
    if kind == "bool":
        return text.lower() == "true"
    if kind == "null":
        return None
    try:
        if kind == "float":
            return float(text)
        if kind == "int":
            number = int(text, 0) if len(text) < 80 else 1 << 64
            if -(1 << 63) <= number < 1 << 64:
                return number
            raise ConfigError("is too large for a number; text needs quotes", name, line, key)
    except ValueError:  # a tag was written that the value does not fit: !!int x
        raise ConfigError(f"{text!r} is not a number", name, line, key or None) from None
    raise _tagged(tag, name, line, key)


def _tagged(tag: str, name: str, line: int | None, key: str) -> ConfigError:
    written = tag.replace(TAG, "!!")
    return ConfigError(f"the YAML tag {written} is not allowed", name, line, key or None)
