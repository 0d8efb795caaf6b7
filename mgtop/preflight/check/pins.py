"""One line of a requirements file (PEP 508) → a requirement."""

from __future__ import annotations

import re

from mgtop.preflight.check.packages import DECISIVE, is_torch, normal
from mgtop.preflight.check.stated import Bound, Condition, Stated, Strength
from mgtop.preflight.check.version_words import tag_version
from mgtop.preflight.check.versions import is_floor, specifiers

_LINE = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*"
    r"(?:@\s*(?P<url>\S+)|\(?(?P<spec>(?:===?|~=|!=|>=|<=|>|<)[^;#)]*)\)?)?\s*(?:;\s*(?P<marker>[^#]*))?$"
)
_MARKER_SYSTEM = re.compile(r"(?:sys_platform|platform_system|os_name)\s*(==|!=)\s*['\"](\w+)['\"]")
_MARKER_PYTHON = re.compile(
    r"python_(?:full_)?version\s*(===?|~=|!=|>=|<=|>|<)\s*['\"]([\d.]+)['\"]"
)
_SYSTEMS = {
    "darwin": "macos",
    "linux": "linux",
    "linux2": "linux",
    "win32": "windows",
    "nt": "windows",
}
_INDEX_TAG = re.compile(r"/(?:whl|nightly|test)[\w/]*?/(cu\d{2,3})\b|[/_-](cu\d{3})(?:[/_-]|$)")


def requirement_of(
    entry: str,
    *,
    quote: str,
    file: str,
    line: int,
    strength: Strength | None = None,
    scope: str = "",
) -> Stated | None:
    """What one entry asks for; None for what is no concern of a check.

    Args:
        entry: as pip reads it, comments removed.
        quote: the entry as the file has it.
        file: its file.
        line: its line.
        strength: where the file makes it weaker than a demand (an extra, an installation
            command); None: a floor is a minimum, everything else required.
        scope: the extra or the command that it belongs to.
    """
    match = _LINE.match(entry.strip())
    if not match:
        return None
    name = normal(match["name"])
    torch = is_torch(name)
    url = match["url"]
    bounds = specifiers(match["spec"] or "")
    if not bounds and not url and not torch and name not in DECISIVE:
        return None
    unclear = ""
    if url:
        unclear = "it is taken from a repository or file, so no version is stated"
    elif match["spec"] and not bounds:
        unclear = f"the versions {match['spec'].strip()!r} are not understood"
    return Stated(
        kind="torch" if torch else "package",
        quote=quote,
        file=file,
        line=line,
        strength=strength or ("minimum" if is_floor(bounds) else "required"),
        scope=scope,
        any_of=(bounds,) if bounds else (),
        package="" if torch else name,
        unclear=unclear,
        condition=_condition(match["marker"] or ""),
    )


def index_of(
    text: str, *, quote: str, file: str, line: int, strength: Strength, scope: str = ""
) -> Stated | None:
    """The CUDA build that a package index's address asks for (``…/whl/cu121``)."""
    match = _INDEX_TAG.search(text)
    version = tag_version((match[1] or match[2]) if match else "")
    if not version:
        return None
    return Stated(
        kind="cuda",
        quote=quote,
        file=file,
        line=line,
        strength=strength,
        scope=scope,
        any_of=((Bound("bare", version),),),
    )


def _condition(marker: str) -> Condition:
    systems: list[str] = []
    for sign, name in _MARKER_SYSTEM.findall(marker):
        system = _SYSTEMS.get(name.lower(), name.lower())
        systems.append(system if sign == "==" else f"not {system}")
    python = [
        bound
        for sign, version in _MARKER_PYTHON.findall(marker)
        for bound in specifiers(sign + version)
    ]
    return Condition(systems=tuple(systems), python=tuple(python))
