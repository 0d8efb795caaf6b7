"""One row of a table → the requirements that it states."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from mgtop.preflight.check import gpu_names
from mgtop.preflight.check.markup import Row
from mgtop.preflight.check.prose import Place, lines_of, requirements_in
from mgtop.preflight.check.stated import Stated
from mgtop.preflight.check.systems import systems_in
from mgtop.preflight.check.words import strength_of_heading

_FLAGS = re.IGNORECASE | re.ASCII
_SUBJECT = re.compile(
    r"v-?ram|memory|\bram\b|显\s*存|内\s*存|\bdisk|storage|磁盘|硬盘|cuda|driver|驱动|python|(?:py)?torch"
    r"|\bgpus?\b|显卡|\bos\b|operating\s+system|系统|compute\s+capability",
    _FLAGS,
)
_SAVED = re.compile(r"\bsav(?:ed|ing|ings|es)\b|\breduc|\bless\b|节省|减少|降低", _FLAGS)
_SYSTEM = re.compile(r"^\W*(?:os|operating\s+system|system|platform|操作系统|系统)\W*$", _FLAGS)
_ABOUT_SYSTEM = re.compile(r"\bos\b|\bsystems?\b|platform|系统|平台|ubuntu|debian", _FLAGS)
_GPU = re.compile(r"\bgpus?\b|显卡|显存", _FLAGS)
_UNIT = re.compile(r"[((\[/,\s](GiB|GB|G|MiB|MB)\s*[))\]]?\s*$", _FLAGS)
_BARE = re.compile(r"^[~≈<>≥=约\s]*\d+(?:\.\d+)?(?:\s*(?:-|~|–)\s*\d+(?:\.\d+)?)?\s*\+?\s*$")
_MODEL_SIZE = re.compile(r"^(?:model\s+)?(?:params?|parameters|size)$", _FLAGS)
_LINK = re.compile(r"^\W*(?:links?|here|download|下载|链接)\W*$", _FLAGS)
_GENERIC = {"requirement", "requirements", "value", "item", "minimum", "recommended", "spec"}


def requirements_of(row: Row, file: str) -> list[Stated]:
    """What each cell of a row states, read with its column's header and its row's first cell.

    A system in the first cell only says what the row's other figures are for.
    """
    found = list(_cells(row, file))
    others = [one for one in found if one.kind != "os"]
    first_is_label = (
        bool(row.headers)
        and bool(systems_in(row.cells[0] if row.cells else ""))
        and not (_SYSTEM.search(row.headers[0]) and re.search(r"\d", row.cells[0]))
    )
    return others if others and first_is_label else found


def _cells(row: Row, file: str) -> Iterator[Stated]:
    label = row.cells[0] if row.cells else ""
    told: set[tuple[str, object, object]] = set()
    for at, cell in enumerate(row.cells):
        header = row.headers[at] if at < len(row.headers) else ""
        if _SAVED.search(header):
            continue
        text = _composed(at, cell, header, label)
        if text is None:
            continue
        headings = (*row.context.headings, header) if header else row.context.headings
        if _GPU.search(" ".join((*row.headers, label))) or gpu_names.MODEL.search(label):
            headings = (*headings, f"GPU {header}")  # its memory, where only "memory" is said
        place = Place(
            file=file,
            quote=row.quote,
            line_at=lines_of(row.line),
            headings=headings,
            strength=strength_of_heading((header,)) if header else None,
        )
        others = [
            other
            for n, other in enumerate(row.cells)
            if n != at and other and not _SUBJECT.search(other) and _tells(other, row.headers, n)
        ]
        for stated in requirements_in(text, place):
            if stated.kind == "os" and not _ABOUT_SYSTEM.search(f"{header} {label} {cell}"):
                continue  # a device that another row is for
            if stated.kind == "vram" and stated.size is None:
                continue  # which GPU a row of figures was measured on is no requirement
            key = (stated.kind, stated.size, stated.any_of)
            if key in told and stated.strength == "tested":
                continue
            told.add(key)
            scope = ", ".join(dict.fromkeys(filter(None, [stated.scope, *others])))
            yield dataclasses.replace(stated, scope=scope[:160])


def _composed(at: int, cell: str, header: str, label: str) -> str | None:
    """The cell as a sentence; None where it is not about anything that is checked."""
    if not cell or cell in ("-", "/", "N/A"):
        return None
    unit = _UNIT.search(header) or _UNIT.search(label)
    if _BARE.match(cell) and unit and _SUBJECT.search(f"{header} {label}"):
        cell = f"{cell} {unit[1]}"
    if _SUBJECT.search(header) and not _MODEL_SIZE.match(header):
        bare = _UNIT.sub("", header)
        return f"{bare}: {cell}"
    if at > 0 and _SUBJECT.search(label):
        lead = header if strength_of_heading((header,)) in ("minimum", "recommended") else ""
        return f"{lead} {_UNIT.sub('', label)}: {cell}".strip()
    if at == 0 and not header:
        return cell
    return cell if _SUBJECT.search(cell) and re.search(r"\d", cell) and at > 0 else None


def _tells(cell: str, headers: tuple[str, ...], at: int) -> bool:
    """Whether a cell says what the row is about, rather than being another figure of it."""
    header = headers[at].lower() if at < len(headers) else ""
    if _LINK.match(cell):
        return False
    return header not in _GENERIC and not _BARE.match(cell) and len(cell) <= 60
