"""Whether what a profile names is in the project's files, without importing any of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from mgtop.config.edit import CannotEdit, set_value
from mgtop.hooks.profile import Entry

SOURCES = ("", "src", "server")
"""Folders below a repository that its modules start from."""


def unfit(repository: Path, entry: Entry) -> Iterator[str]:
    """Every function, script, option and YAML key of an entry that the repository does not have."""
    for hook in entry.frames.hooks:
        if problem := missing(repository, hook.target):
            yield f"{hook.target}: {problem}"
    for file, keys in entry.edit.items():
        text = (repository / file).read_text("utf-8")
        for key, name in keys.items():
            try:
                set_value(text, key, entry.params[name] or "given")
            except CannotEdit as error:
                yield f"{file} {error}"
    script = next((word for word in entry.command if word.endswith(".py")), None)
    if script is not None and not (repository / script).is_file():
        yield f"there is no {script}"
    elif script is not None:
        yield from _options(repository, script, entry.command)


def _options(repository: Path, script: str, command: list[str]) -> Iterator[str]:
    """Options that neither the script nor another file beside it or below names."""
    after = command[command.index(script) + 1 :]
    files = [repository / script, *repository.glob("*/*.py")]
    text = "".join(file.read_text("utf-8", "replace") for file in files)
    for word in after:
        name = word.removeprefix("--")
        if word.startswith("--") and name not in text and name.replace("-", "_") not in text:
            yield f"{script} has no {word}"


def missing(repository: Path, target: str) -> str | None:
    """What of a hook's target is not in the source; None: nothing, or another project's module."""
    module, _, path = target.partition(":")
    places = [repository / source / module.replace(".", "/") for source in SOURCES]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        top = module.split(".")[0]
        ours = any(
            (repository / source / top).exists() or (repository / source / f"{top}.py").exists()
            for source in SOURCES
        )
        return f"there is no module {module}" if ours else None
    tree: ast.Module | ast.ClassDef = ast.parse(found.read_text("utf-8", "replace"))
    *leading, name = path.split(".")
    for part in leading:
        inner = _defined(tree, part)
        if not isinstance(inner, ast.ClassDef):
            return f"{module} has no class {part}"
        tree = inner
    if _defined(tree, name) is not None or name == "__call__":
        return None  # a torch module's __call__ is inherited
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    return None if name in names else f"{module} has no {path}"


def _defined(tree: ast.Module | ast.ClassDef, name: str) -> ast.AST | None:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in tree.body:
        if isinstance(node, kinds) and node.name == name:
            return node
    return None
