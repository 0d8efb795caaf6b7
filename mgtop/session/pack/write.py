"""Packs a session: a zip file with the log, configuration, output, marks and snapshots."""

from __future__ import annotations

import json
import os
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mgtop.probe.version import VERSION
from mgtop.session.files import DIGEST_NAME
from mgtop.session.log_files import log_files
from mgtop.session.marks import MARKS_NAME
from mgtop.session.pack.masking import KINDS, Masker, own_names
from mgtop.session.reader import LogReader, read_all
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire import records as r

SUFFIX = ".mgtop.zip"
MANIFEST = "pack.json"
SCHEMA = 1
_LEFT_BEHIND = ("recorder.lock", "recorder.status", "recorder.log", DIGEST_NAME)
"""Of the recording itself, which nobody who opens the pack can use, and what is made anew."""
_WRITTEN: dict[type, frozenset[str]] = {
    r.Mark: frozenset({"text"}),
    r.OutputLine: frozenset({"text"}),
    r.Failure: frozenset({"text"}),
    r.RequestReceived: frozenset({"id"}),
}
"""Texts that the program or a person wrote, and that ``--redact`` hides whole."""
_BATCH = 500


class StillThere(Exception):
    """What was to be hidden was found in what was about to be written."""


@dataclass
class Packed:
    """What :func:`prepare` found.

    Attributes:
        folder: holds the files as they will be sent; temporary.
        counts: how often each of :data:`mgtop.session.pack.masking.KINDS` was hidden, by file.
        left_out: files of the session that do not go along.
        unknown: records of a newer version, which do not go along.
    """

    folder: Path
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    unknown: int = 0

    def listed(self) -> list[str]:
        """What was hidden, in lines for a person."""
        lines = []
        for kind, what in KINDS.items():
            where = {name: found[kind] for name, found in self.counts.items() if found[kind]}
            if where:
                total = sum(where.values())
                lines.append(f"{what}: {total:,} ({', '.join(sorted(where))})")
        return lines


def prepare(session: Path, scratch: Path, strict: bool = False) -> Packed:
    """Lay a session out as it will be sent.

    Args:
        session: its folder; stays as it is.
        scratch: an empty folder.
        strict: also hide what the program and people wrote.

    Raises:
        StillThere: something that was to be hidden is left.
        OSError: something cannot be read or written.
    """
    masker = Masker(*own_names(), strict=strict)
    packed = Packed(scratch)
    texts = _texts(session)
    for name in texts:
        masker.learn(_read(session / name))
    for record in read_all(session):
        if isinstance(record, r.TargetStart):
            masker.learn(" ".join([*record.command, record.cwd]))
    _log(session, scratch, masker, packed)
    for name in sorted(texts):
        if strict and name.split("/")[0] in ("stdout.log", "snapshots", "edited"):
            packed.left_out.append(name)
            continue
        _text_file(session, scratch, name, masker, packed)
    known = {*(path.name for path in log_files(session)), *_LEFT_BEHIND, *texts}
    for path in sorted(session.rglob("*")):
        if path.is_file() and path.relative_to(session).as_posix() not in known:
            packed.left_out.append(path.relative_to(session).as_posix())
    _look_again(scratch, masker)
    return packed


def write(packed: Packed, name: str, to: Path) -> int:
    """Write what was prepared into one file; its size in bytes.

    Raises:
        OSError: it cannot be written; what stood there before is unchanged.
    """
    about = {
        "schema": SCHEMA,
        "mgtop": VERSION,
        "name": name,
        "packed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "masked": packed.listed(),
        "left_out": packed.left_out,
    }
    fd, new = tempfile.mkstemp(prefix=f".{to.name}.", dir=to.parent)
    try:
        with open(fd, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as pack:
            pack.writestr(MANIFEST, json.dumps(about, indent=1))
            for path in sorted(packed.folder.rglob("*")):
                if path.is_file():
                    pack.write(path, path.relative_to(packed.folder).as_posix())
        size = os.path.getsize(new)
        os.replace(new, to)
    except BaseException:
        os.unlink(new)
        raise
    return size


# ------------------------------------------------------------------------------- inside


def _texts(session: Path) -> list[str]:
    """Files of a session that hold text, relative to it."""
    texts = ("config.yaml", "stdout.log", MARKS_NAME)
    names = [name for name in texts if (session / name).is_file()]
    for folder in ("snapshots", "edited"):
        names += [
            path.relative_to(session).as_posix()
            for path in sorted((session / folder).rglob("*"))
            if path.is_file() and not path.is_symlink()
        ]
    return names


def _read(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape")


def _log(session: Path, scratch: Path, masker: Masker, packed: Packed) -> None:
    masker.counts = packed.counts[LOG_NAME] = Counter()
    writer = LogWriter(scratch)
    reader = LogReader(session)
    batch: list[Any] = []
    while not reader.at_end:
        for record in reader.poll():
            masked = masker.record(record, _WRITTEN.get(type(record), frozenset()))
            if isinstance(masked, r.SessionStart) and masker.strict:
                params = _without_values(masked.params, masker)
                masked = msgspec.structs.replace(masked, params=params)
            batch.append(masked)
            if len(batch) >= _BATCH:
                writer.append(batch)
                batch = []
    writer.append(batch)
    packed.unknown = reader.unknown_records


def _without_values(params: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """Parameters that are texts (prompts, paths) keep their names only."""
    return {k: masker.words(v) if isinstance(v, str) else v for k, v in params.items()}


def _text_file(session: Path, scratch: Path, name: str, masker: Masker, packed: Packed) -> None:
    masker.counts = packed.counts[name] = Counter()
    text = _read(session / name)
    if name == "config.yaml":
        text = _configuration(text, masker)
    elif name == MARKS_NAME:
        text = _marks(text, masker)
    else:
        text = masker.text(text)
    to = scratch / name
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text, "utf-8", "surrogateescape")


def _configuration(text: str, masker: Masker) -> str:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return masker.text(text)
    if not isinstance(data, dict):
        return masker.text(text)
    environment = data.pop("env", None)
    masked = masker.value(data)
    if masker.strict and isinstance(masked.get("params"), dict):
        masked["params"] = _without_values(masked["params"], masker)
    if isinstance(environment, dict):
        masked["env"] = masker.environment(environment)
    return yaml.safe_dump(masked, sort_keys=False, allow_unicode=True)


def _marks(text: str, masker: Masker) -> str:
    lines = []
    for line in text.splitlines():
        try:
            data = json.loads(line)
            data["text"] = masker.words(str(data["text"]))
        except (ValueError, KeyError, TypeError):
            continue
        lines.append(json.dumps(data, ensure_ascii=False) + "\n")
    return "".join(lines)


def _look_again(scratch: Path, masker: Masker) -> None:
    """A second look, by another way: none of the names may be left as a word."""
    for path in scratch.rglob("*"):
        if not path.is_file():
            continue
        if path.name == LOG_NAME:
            records = map(msgspec.to_builtins, read_all(scratch))
            text = "\n".join(map(str, records))
        else:
            text = path.read_text("utf-8", "replace")
        for name in masker.names():
            at = text.find(name)
            while at >= 0:
                around = text[max(0, at - 1) : at], text[at + len(name) : at + len(name) + 1]
                if not any(sign.isalnum() or sign == "_" for sign in "".join(around)):
                    raise StillThere(f"{name!r} would be left in {path.name}")
                at = text.find(name, at + 1)
