"""A finished check for a terminal: unmet ones first, quotes word for word, as wide as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from mgtop.preflight.check.requirement import Requirement, tamed
from mgtop.preflight.check.run import Checked

Paint = Callable[[str, str], str]
"""Colours a text by a verdict."""

MARKS = {"unmet": "✗", "marginal": "~", "unknown": "?", "met": "✓"}
LABELS = {
    "vram": "GPU memory",
    "ram": "RAM",
    "disk": "disk",
    "cuda": "CUDA",
    "driver": "driver",
    "torch": "PyTorch",
    "python": "Python",
    "os": "system",
    "compute_capability": "GPU kind",
    "package": "package",
}
_VERDICT, _KIND, _STRENGTH = 10, 11, 11
_NARROWEST = 40
_ROOM = 30
"""Columns that the machine's value needs beside the rest; with less it stands below."""
_QUOTE_LINES = 4
_MOST_TESTED = 8
"""Statements of tests that are met, as of each row of a long table; the others are counted."""
_MOST = 12
"""Pins of one file that are quoted; the others are counted."""


def render(checked: Checked, width: int, paint: Paint, *, full: bool = False) -> str:
    """The whole page.

    Args:
        checked: what was found.
        width: columns of the terminal.
        paint: colours a text by verdict.
        full: also every package that is met, and what only illustrates.
    """
    width, checked = max(_NARROWEST, width), tamed(checked)
    lines = list(_machine(checked, width))
    shown, left_out = _shown(_unlike(checked.requirements), full)
    for key, group in groupby(shown, key=lambda one: None if full else _packages_key(one)):
        entries = list(group)
        if key is not None and len(entries) > 1:
            lines += _packages(entries, width, paint)
            continue
        for one in entries:
            lines += _entry(one, width, paint)
    if left_out:
        lines += ["", *_wrapped(f"Not shown: {left_out} (--all shows them).", width)]
    for conflict in checked.conflicts:
        lines += [
            "",
            *_wrapped(f"Contradiction ({LABELS[conflict.kind]}): {conflict.about}", width),
        ]
        for place in (conflict.first, conflict.second):
            lines += _wrapped(f"“{place.quote}” {place.file}:{place.line}", width, "  ")
    if checked.projects_within:
        names = ", ".join(checked.projects_within[:8])
        more = " …" if len(checked.projects_within) > 8 else ""
        lines += [
            "",
            *_wrapped(
                f"Folders with requirements of their own, not read: {names}{more} "
                "(mgtop check REPO/FOLDER)",
                width,
            ),
        ]
    for note in checked.notes:
        lines += _wrapped(note, width)
    lines += ["", *_wrapped(summary(checked), width)]
    return "\n".join(lines)


def summary(checked: Checked) -> str:
    """The result in a sentence."""
    if not checked.requirements:
        return "Nothing is stated about GPU memory, CUDA, PyTorch, Python, system, RAM or disk."
    counts = {
        verdict: sum(one.verdict == verdict for one in checked.requirements) for verdict in MARKS
    }
    text = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
    if checked.unmet:
        many = len(checked.unmet)
        what = "is one that is" if many == 1 else f"are {many} that are"
        return f"{text}. Among the unmet {what} required."
    return f"{text}. Nothing that is required is unmet."


def _machine(checked: Checked, width: int) -> Iterator[str]:
    machine = checked.machine
    if machine.gpus:
        gpu = ", ".join(
            f"{one.name}" + (f" {one.total_mib:,} MiB" if one.total_mib is not None else "")
            for one in machine.gpus[:2]
        ) + (f" and {len(machine.gpus) - 2} more" if len(machine.gpus) > 2 else "")
    else:
        gpu = f"no GPU ({machine.gpus_reason})" if machine.gpus_reason else "no GPU"
    parts = [
        gpu,
        f"driver {machine.driver}" if machine.driver else "",
        f"CUDA {machine.driver_cuda}" if machine.driver_cuda else "",
        f"nvcc {machine.nvcc}" if machine.nvcc else "",
        f"RAM {machine.ram_mib:,} MiB" if machine.ram_mib else "",
        f"Python {machine.python}" if machine.python else f"Python n/a ({machine.python_reason})",
        f"torch {machine.torch}" if machine.torch else "torch not installed",
        machine.distribution or machine.system or "",
    ]
    yield from _wrapped("This machine: " + ", ".join(filter(None, parts)), width)
    yield from _wrapped("Read: " + (", ".join(checked.read) or "no file that states any"), width)
    yield ""


def _unlike(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Without those that would be printed as one before: two amounts of one sentence."""
    alike = {
        (
            one.verdict,
            one.kind,
            one.strength,
            one.local,
            one.quote,
            one.file,
            one.line,
            one.scope,
        ): one
        for one in reversed(requirements)
    }
    kept = {id(one) for one in alike.values()}
    return [one for one in requirements if id(one) in kept]


def _shown(requirements: Sequence[Requirement], full: bool) -> tuple[list[Requirement], str]:
    """What a page shows, and how much it leaves out, in words."""
    if full:
        return list(requirements), ""
    shown, packages, named, tested = [], 0, 0, 0
    for one in requirements:
        if one.kind == "package" and one.verdict == "met":
            packages += 1
        elif one.verdict == "unknown" and one.kind == "vram" and one.strength == "tested":
            named += 1
        elif one.verdict == "met" and one.strength == "tested" and one.file is not None:
            tested += 1
            if tested <= _MOST_TESTED:
                shown.append(one)
        else:
            shown.append(one)
    parts = []
    if packages:
        parts.append(f"{packages} package{'s' * (packages > 1)} as asked for")
    if named:
        parts.append(f"{named} statement{'s' * (named > 1)} of tests on GPUs without a size")
    if tested > _MOST_TESTED:
        parts.append(f"{tested - _MOST_TESTED} more that were tested and are met")
    return shown, ", ".join(parts)


def _packages_key(one: Requirement) -> tuple[str, str] | None:
    """What pins of one file share; they are shown together."""
    if one.kind != "package" or one.file is None or one.file.endswith((".md", ".rst")):
        return None
    return one.verdict, one.file


def _packages(entries: Sequence[Requirement], width: int, paint: Paint) -> Iterator[str]:
    """Pins of one file in one entry: those of another version, then those not installed."""
    first = entries[0]
    absent = [one for one in entries if one.local.endswith("is not installed")]
    other = [one for one in entries if one not in absent]
    head = f"{MARKS[first.verdict]} {first.verdict}".ljust(_VERDICT)
    rest = f" {'packages':{_KIND}} {first.strength:{_STRENGTH}} "
    counts = [f"{len(other)} of another version"] * bool(other) + [
        f"{len(absent)} not installed"
    ] * bool(absent)
    local = f"here: {', '.join(counts)}"
    if width - len(head) - len(rest) >= len(local):
        yield paint(first.verdict, head) + rest + local
    else:
        yield paint(first.verdict, head) + rest.rstrip()
        yield from _wrapped(local, width, "    ")
    if other:
        shown = "; ".join(f"“{one.quote}” here {one.local.split()[-1]}" for one in other[:_MOST])
        yield from _wrapped(shown + _rest(other), width, "    ")
    if absent:
        names = "; ".join(f"“{one.quote}”" for one in absent[:_MOST])
        yield from _wrapped(f"not installed: {names}{_rest(absent)}", width, "    ")
    numbers = [one.line for one in entries if one.line is not None]
    lines = f"{min(numbers)}-{max(numbers)}" if numbers else "1"
    yield f"    {first.file}:{lines}"


def _rest(entries: Sequence[Requirement]) -> str:
    return f"; and {len(entries) - _MOST} more (--all)" if len(entries) > _MOST else ""


def _entry(one: Requirement, width: int, paint: Paint) -> Iterator[str]:
    head = f"{MARKS[one.verdict]} {one.verdict}".ljust(_VERDICT)
    rest = f" {LABELS[one.kind]:{_KIND}} {one.strength:{_STRENGTH}} "
    room = width - len(head) - len(rest)
    beside = room >= _ROOM
    here = "no GPU" if one.local.startswith("no GPU (") else one.local  # the head says why
    local = textwrap.wrap(f"here: {here}", room if beside else width - 4) or [""]
    yield paint(one.verdict, head) + (rest + local[0] if beside else rest.rstrip())
    indent = " " * (len(head) + len(rest) if beside else 4)
    for line in local[1:] if beside else local:
        yield indent + line
    where = f"{one.file}:{one.line}" if one.file else "asked of this machine"
    quote = textwrap.wrap(f"“{one.quote}”", width - 4, break_long_words=True)
    if len(quote) > _QUOTE_LINES:
        quote = [*quote[: _QUOTE_LINES - 1], quote[_QUOTE_LINES - 1][: width - 6] + " …"]
    for line in quote:
        yield f"    {line}"
    scope = f"  [{one.scope}]" if one.scope else ""
    yield from _wrapped(f"{where}{scope}", width, "    ")


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
