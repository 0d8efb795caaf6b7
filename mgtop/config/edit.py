"""Changing single values of somebody else's YAML file, and not a character besides."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mgtop.config.document import loader
from mgtop.config.dump import to_flow

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, SequenceNode

MOST_PATHS = 5_000
"""Keys looked through for one that may have been meant."""

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)+")
"""Anchor and tag before a value."""
_ALIAS = re.compile(r"[\s:,\[-]*(\*[^\s,\[\]{}]+)")


class CannotEdit(Exception):
    """The value cannot be set; ``str()`` says why, in words that follow the file's name."""


def set_value(text: str, key: str, value: Any) -> str:
    """A YAML text with one value replaced; comments, order and layout stay.

    Args:
        text: one YAML document. Tags and merge keys of its own are left alone.
        key: dotted path to a value that is there, as ``model.sample_steps``; items of lists by
            number, from 0. A key with dots in its name is found, too.
        value: plain data.

    Raises:
        CannotEdit: no YAML, no such key, or a value that stands elsewhere (alias, merge key).
    """
    root = _compose(text)
    _, node, _ = _find(root, key)
    if isinstance(node, _yaml().nodes.MappingNode) and node.value and not isinstance(value, dict):
        inside = next((path for path in _paths(root) if path.startswith(f"{key}.")), None)
        example = f", as {inside}" if inside else ""
        raise CannotEdit(f"has several values under {key}: name one of them{example}")
    return _set(text, key, value)


def _set(text: str, key: str, value: Any) -> str:
    nodes = _yaml().nodes
    parent, node, after = _find(_compose(text), key)
    start, end = node.start_mark.index, _end(node)
    if start < after:  # the node is an alias's: it stands where the anchor is
        alias = _ALIAS.match(text, after)
        if alias is None:
            raise CannotEdit(f"has {key} in a form that cannot be edited")
        start, end = alias.span(1)
    elif _same_length(node, value):  # item by item, for the sake of their comments
        for n, item in enumerate(value):
            text = _set(text, f"{key}[{n}]", item)
        return text
    elif properties := _PROPERTIES.match(text, start, end):
        start = properties.end()
    old = text[start:end]
    new = to_flow(value, quotes=old[0] if old[:1] in ("'", '"') else None)
    column = start - (text.rfind("\n", 0, start) + 1)
    block = isinstance(node, nodes.SequenceNode) and not node.flow_style and old.startswith("-")
    if block and isinstance(value, list) and value:
        margin = "\n" + " " * column
        new = margin.join(f"- {to_flow(item)}" for item in value)
    elif not old or (block and isinstance(parent, nodes.MappingNode)):
        new = f" {new}"  # after a colon, or further in than the key
    new += old[len(old.rstrip("\r\n")) :]  # block text ends with its lines
    changed = f"{text[:start]}{new}{text[end:]}"
    _check(changed, key, value)
    return changed


def _same_length(node: Node, value: Any) -> bool:
    if not isinstance(node, _yaml().nodes.SequenceNode) or not isinstance(value, list):
        return False
    return 0 < len(value) == len(node.value)


def _find(root: Node | None, key: str) -> tuple[Node | None, Node, int]:
    """The node at a path, its parent, and where the key (or the item before) ends."""
    nodes = _yaml().nodes
    parent, node, after, rest = None, root, 0, key
    while rest and node is not None:
        if node.start_mark.index < after:
            raise CannotEdit(f"has {key} behind an alias; edit the place that it refers to")
        step = None
        if isinstance(node, nodes.MappingNode):
            step = _in_mapping(node, rest)
        elif isinstance(node, nodes.SequenceNode):
            step = _in_list(node, rest)
        if step is None:
            raise CannotEdit(_missing(root, key))
        parent, (node, after, rest) = node, step
    if node is None or not key:
        raise CannotEdit(_missing(root, key))
    return parent, node, after


def _in_mapping(node: MappingNode, rest: str) -> tuple[Node, int, str] | None:
    """The value of the longest key that ``rest`` begins with; the last one of that name."""
    found = None
    for key_node, value_node in node.value:
        name = key_node.value if isinstance(key_node, _yaml().nodes.ScalarNode) else None
        if name and (rest == name or rest.startswith((f"{name}.", f"{name}["))):
            left = rest[len(name) :].removeprefix(".")
            if found is None or len(left) <= len(found[2]):
                found = value_node, key_node.end_mark.index, left
    return found


def _in_list(node: SequenceNode, rest: str) -> tuple[Node, int, str] | None:
    match = re.match(r"\[?(\d{1,6})\]?(?:\.|(?=\[)|$)", rest)
    if match is None or int(match.group(1)) >= len(node.value):
        return None
    place = int(match.group(1))
    after = _end(node.value[place - 1]) if place else node.start_mark.index
    return node.value[place], after, rest[match.end() :]


def _missing(root: Node | None, key: str) -> str:
    paths = dict.fromkeys(_paths(root))
    last = key.rpartition(".")[2]
    close = [path for path in paths if path.rpartition(".")[2] == last]
    close = close or difflib.get_close_matches(key, paths, 1)
    close = close or [path for path in paths if len(last) > 2 and last in path]
    if close:
        return f"has no {key} (did you mean {close[0]!r}?)"
    tops = [path for path in paths if "." not in path][:12]
    return f"has no {key} (it has {', '.join(tops) or 'no keys'})"


def _paths(root: Node | None) -> Iterator[str]:
    nodes = _yaml().nodes
    left = [("", root)]
    for _ in range(MOST_PATHS):
        if not left:
            return
        path, node = left.pop(0)
        inner: list[tuple[str, Node]] = []
        if isinstance(node, nodes.MappingNode):
            inner = [(str(k.value), v) for k, v in node.value if isinstance(k, nodes.ScalarNode)]
        elif isinstance(node, nodes.SequenceNode):
            inner = [(str(n), v) for n, v in enumerate(node.value)]
        if path:
            yield path
        left += [(f"{path}.{name}" if path else name, value) for name, value in inner]


def _end(node: Node) -> int:
    """Where a value ends; PyYAML ends block collections where the next token begins."""
    nodes = _yaml().nodes
    while isinstance(node, nodes.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (node, last)
        if value.start_mark.index < key.start_mark.index:
            raise CannotEdit("has an alias there, which cannot be edited")
        node = value
    end: int = node.end_mark.index
    return end


def _check(text: str, key: str, value: Any) -> None:
    """Read the changed text back: what is at the key must be what was asked for."""
    wanted = _plain(_compose(to_flow(value)))
    try:
        _, node, _ = _find(_compose(text), key)
    except CannotEdit:
        node = None
    if node is None or _plain(node) != wanted:
        raise CannotEdit(f"has {key} in a form that cannot be edited")


def _plain(node: Node | None) -> Any:
    nodes = _yaml().nodes
    if isinstance(node, nodes.MappingNode):
        return {str(key.value): _plain(value) for key, value in node.value}
    if isinstance(node, nodes.SequenceNode):
        return [_plain(item) for item in node.value]
    return None if node is None else node.value


def _compose(text: str) -> Node | None:
    yaml = _yaml()
    try:
        node: Node | None = yaml.compose(text, Loader=loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        where = f" (line {mark.line + 1})" if mark else ""
        raise CannotEdit(f"is not YAML that can be edited: {problem}{where}") from None
    except RecursionError:
        raise CannotEdit("is nested too deeply") from None
    return node


def _yaml() -> Any:
    import yaml

    return yaml
