"""Versions, dependencies, and packages that take each other's place."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import NamedTuple

from mgtop import __version__
from mgtop.record.health.finding import Finding, bad, ok

BINDINGS = "nvidia-ml-py"
RIVALS = ("nvidia-ml-py3", "pynvml")
FIRST_HARMLESS_PYNVML = 12
"""From this version on it has no module ``pynvml`` of its own any more."""
FOR_DEMO = (("torch", "torch"), ("av", "av"))
_SPECIFIER = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([0-9][0-9a-zA-Z.]*)")
_NAME = re.compile(r"^[A-Za-z0-9._-]+")


class Requirement(NamedTuple):
    """A package and the versions of it that will do."""

    name: str
    bounds: list[tuple[str, tuple[int, ...]]]
    text: str


def check_software(path: Sequence[str] | None = None) -> Iterator[Finding]:
    """Python, mgtop, its dependencies, the NVML bindings, and what the demo needs.

    Args:
        path: where packages are looked for (None: as Python does).
    """
    installed = Installed(sys.path if path is None else path)
    yield ok(
        "software.python",
        "Python",
        f"{platform.python_version()} ({sys.executable})",
        version=platform.python_version(),
    )
    where = Path(__file__).parents[2]
    yield ok("software.mgtop", "mgtop", f"{__version__} ({where})", version=__version__)
    yield _dependencies(installed)
    yield _bindings(installed)
    yield _demo(installed)


class Installed:
    """The distributions on a path, as Python would find them."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = list(path)
        self._by_name: dict[str, Distribution] = {}
        for found in distributions(path=self.path):
            self._by_name.setdefault(_normal(found.metadata["Name"] or ""), found)

    def get(self, name: str) -> Distribution | None:
        """The one of that name."""
        return self._by_name.get(_normal(name))

    def module(self, name: str) -> ModuleSpec | None:
        """Where a module would be imported from; nothing is imported."""
        return PathFinder.find_spec(name, self.path)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def numbers(version: str) -> tuple[int, ...]:
    """``12.535.108`` → (12, 535, 108); what follows the numbers is left out."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def requirements() -> list[Requirement]:
    """What mgtop needs without any extra; empty where it is not installed as a package."""
    try:
        lines = distribution("mgtop").requires or []
    except PackageNotFoundError:
        return []
    found = []
    for line in lines:
        what, _, marker = line.partition(";")
        if "extra" in marker or ("python_version" in marker and sys.version_info >= (3, 11)):
            continue
        name = _NAME.match(what)
        if name is not None:
            bounds = [(sign, numbers(v)) for sign, v in _SPECIFIER.findall(what)]
            found.append(Requirement(name[0], bounds, what.strip()))
    return found


def fits(version: str, bounds: Sequence[tuple[str, tuple[int, ...]]]) -> bool:
    """Whether a version lies within bounds (``>=``, ``<`` and the like)."""
    have = numbers(version)
    for sign, bound in bounds:
        size = max(len(have), len(bound))
        a, b = have + (0,) * (size - len(have)), bound + (0,) * (size - len(bound))
        good = {">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b, "==": a == b, "!=": a != b}
        if not good.get(sign, True):
            return False
    return True


def _dependencies(installed: Installed) -> Finding:
    wanted = requirements()
    wrong = []
    for one in wanted:
        found = installed.get(one.name)
        if found is None:
            wrong.append((one, "is not installed"))
        elif not fits(found.version, one.bounds):
            wrong.append((one, f"is {found.version}"))
    if not wrong:
        value = f"{len(wanted)} packages, as required" if wanted else "not known (no package)"
        return ok("software.dependencies", "dependencies", value, count=len(wanted))
    texts = " ".join(f"'{one.text}'" for one, _ in wrong)
    return bad(
        "software.dependencies",
        "dependencies",
        f"{len(wrong)} of {len(wanted)} do not fit",
        "; ".join(f"{one.name} {what}, {one.text} is needed" for one, what in wrong),
        f"{sys.executable} -m pip install {texts}",
        packages=[one.name for one, _ in wrong],
    )


def _bindings(installed: Installed) -> Finding:
    """Who provides the module ``pynvml``: three packages on PyPI want to."""
    name, id_ = "NVML bindings", "software.pynvml"
    spec = installed.module("pynvml")
    origin = spec.origin if spec is not None else None
    own = installed.get(BINDINGS)
    reinstall = f"pip uninstall -y {' '.join(RIVALS)}; pip install --force-reinstall {BINDINGS}"
    if spec is None or (own is None and origin is None):
        return bad(
            id_,
            name,
            "not installed",
            "without them no GPU is read",
            f"pip install {BINDINGS}",
            state="missing",
        )
    for rival in RIVALS:
        found = installed.get(rival)
        if found is None:
            continue
        if rival == "pynvml" and numbers(found.version)[:1] >= (FIRST_HARMLESS_PYNVML,):
            return ok(
                id_,
                name,
                f"{BINDINGS} {own.version if own else '?'}; pynvml {found.version} is superfluous",
                version=own.version if own else None,
                origin=origin,
            )
        return bad(
            id_,
            name,
            f"shadowed by {rival} {found.version}",
            f"both provide the module pynvml; the one in use is {origin}",
            reinstall,
            rival=rival,
            origin=origin,
        )
    expected = str(own.locate_file("pynvml.py")) if own is not None else None
    if expected is None or origin is None or Path(origin).resolve() != Path(expected).resolve():
        return bad(
            id_,
            name,
            f"another pynvml comes first: {origin}",
            f"it is not the one of {BINDINGS}",
            f"remove or rename {origin}, or look at PYTHONPATH",
            origin=origin,
        )
    assert own is not None
    return ok(id_, name, f"{BINDINGS} {own.version}", version=own.version, origin=origin)


def _demo(installed: Installed) -> Finding:
    """Found, never imported: torch takes seconds."""
    versions: dict[str, str | None] = {}
    for module, package in FOR_DEMO:
        spec = installed.module(module)
        found = installed.get(package)
        versions[module] = (found.version if found else "?") if spec is not None else None
    lacking = [module for module, version in versions.items() if version is None]
    if not lacking:
        value = ", ".join(f"{module} {version}" for module, version in versions.items())
        return ok("software.demo", "mgtop demo", value, measured=versions)
    return bad(
        "software.demo",
        "mgtop demo",
        f"without {' and '.join(lacking)}",
        "only the demo needs them",
        "pip install 'mgtop[demo]'",
        measured=versions,
    )
