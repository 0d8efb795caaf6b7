"""``pyproject.toml``, ``setup.py`` and ``setup.cfg``. Parsed, never run."""

from __future__ import annotations

import ast
import configparser
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from mgtop.preflight.check.pins import requirement_of
from mgtop.preflight.check.stated import Stated, Strength
from mgtop.preflight.check.versions import is_floor, specifiers, written

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def pyproject_toml(text: str, file: str) -> Iterator[Stated]:
    """``requires-python``, dependencies, extras, build requirements, and poetry's tables."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = _Lines(text)
    project = _table(data, "project")
    if isinstance(requires := project.get("requires-python"), str):
        line, quote = lines.find("requires-python", requires)
        yield from _python(requires, quote, file, line)
    yield from _entries(project.get("dependencies"), lines, file)
    for extra, entries in _table(project, "optional-dependencies").items():
        yield from _entries(entries, lines, file, "optional", f"extra {extra}")
    for group, entries in _table(data, "dependency-groups").items():
        yield from _entries(entries, lines, file, "optional", f"group {group}")
    yield from _poetry(_table(_table(data, "tool"), "poetry"), lines, file)


def _poetry(poetry: dict[str, Any], lines: _Lines, file: str) -> Iterator[Stated]:
    for name, value in _table(poetry, "dependencies").items():
        optional = isinstance(value, dict) and value.get("optional") is True
        spec = value.get("version", "") if isinstance(value, dict) else value
        if not isinstance(spec, str):
            continue
        line, quote = lines.find(name, spec)
        if name == "python":
            yield from _python(spec, quote, file, line)
            continue
        strength: Strength | None = "optional" if optional else None
        found = requirement_of(
            f"{name}{written(specifiers(spec))}",
            quote=quote,
            file=file,
            line=line,
            strength=strength,
        )
        if found is not None:
            yield found


def _python(spec: str, quote: str, file: str, line: int) -> Iterator[Stated]:
    bounds = specifiers(spec)
    if bounds:
        strength: Strength = "minimum" if is_floor(bounds) else "required"
        yield Stated(
            kind="python", quote=quote, file=file, line=line, strength=strength, any_of=(bounds,)
        )


def _entries(
    entries: object, lines: _Lines, file: str, strength: Strength | None = None, scope: str = ""
) -> Iterator[Stated]:
    if not isinstance(entries, list):
        return
    for entry in entries:
        if isinstance(entry, str):
            line, quote = lines.find(entry)
            found = requirement_of(
                entry, quote=quote, file=file, line=line, strength=strength, scope=scope
            )
            if found is not None:
                yield found


def _table(data: object, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


class _Lines:
    """Finds the line that holds some words; each time the next one, for entries that repeat."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._used: dict[tuple[str, ...], int] = {}

    def find(self, *words: str) -> tuple[int, str]:
        """Number and text of the line."""
        start = self._used.get(words, 0)
        for at in range(start, len(self._lines)):
            line = self._lines[at]
            if all(word in line.replace("\\", "") for word in words):
                self._used[words] = at + 1
                return at + 1, " ".join(line.split()).rstrip(",")
        return 1, " ".join(words)


def setup_py(text: str, file: str) -> Iterator[Stated]:
    """Arguments of ``setup(…)`` that are written out, or assigned to a name in the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    source = text.splitlines()
    names = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def entries(node: ast.AST | None) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.Name):
            node = names.get(node.id)
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                yield from entries(element)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from entries(node.left)
            yield from entries(node.right)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno

    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and _called(node.func) == "setup"):
            continue
        for keyword in node.keywords:
            if keyword.arg == "python_requires":
                for spec, line in entries(keyword.value):
                    yield from _python(spec, " ".join(source[line - 1].split()), file, line)
            elif keyword.arg == "install_requires":
                yield from _found(entries(keyword.value), source, file, None, "")
            elif keyword.arg == "extras_require" and isinstance(keyword.value, ast.Dict):
                for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                    extra = str(key.value) if isinstance(key, ast.Constant) else "?"
                    yield from _found(entries(value), source, file, "optional", f"extra {extra}")


def _found(
    entries: Iterator[tuple[str, int]],
    source: list[str],
    file: str,
    strength: Strength | None,
    scope: str,
) -> Iterator[Stated]:
    for entry, line in entries:
        quote = " ".join(source[line - 1].split()).rstrip(",")
        found = requirement_of(
            entry, quote=quote, file=file, line=line, strength=strength, scope=scope
        )
        if found is not None:
            yield found


def _called(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def setup_cfg(text: str, file: str) -> Iterator[Stated]:
    """``[options]`` and its extras."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    lines = _Lines(text)
    spec = parser.get("options", "python_requires", fallback="")
    if spec:
        line, quote = lines.find("python_requires", spec)
        yield from _python(spec, quote, file, line)
    for entry in parser.get("options", "install_requires", fallback="").splitlines():
        yield from _entries([entry.strip()] if entry.strip() else [], lines, file)
    if parser.has_section("options.extras_require"):
        for extra, value in parser.items("options.extras_require"):
            for entry in filter(None, map(str.strip, value.splitlines())):
                yield from _entries([entry], lines, file, "optional", f"extra {extra}")
