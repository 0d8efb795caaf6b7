"""Known projects under mgtop, with tiny random weights, and what mgtop said of them.

    python -m benchmarks.profiles --repos FOLDER --python VENV/bin/python [NAME…] [--json FILE]

FOLDER holds checkouts of the projects; they are recognised by their own files and left as they
are. Each is run as it stands, by a driver of ours that gives it tiny random weights, under
``mgtop run --profile``, and what mgtop recorded is held against what the driver saw through the
interpreter's profile hook: requests, frames, block sizes, first-frame latency, the time of each
emit and the time that a person was waited for. Projects that are not there are said to be so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.profiles.proofs import DRIVERS, EMIT_MS, MOST_MS, MOST_SHARE, PROOFS, Proof
from benchmarks.profiles.seen import Seen, by_driver, by_mgtop, differences
from benchmarks.profiles.targets import unfit
from mgtop.hooks.profile_files import every
from mgtop.hooks.recognise import recognise

LEVELS = 2
TIMEOUT_S = 1200


def checkouts(folder: Path) -> dict[str, Path]:
    """Project's name → its folder, by the files in it."""
    profiles = list(every())
    found: dict[str, Path] = {}
    for place in _folders(folder, LEVELS):
        fits = recognise(place, profiles)
        if fits:
            found.setdefault(fits[0].name, place)
    return found


def _folders(folder: Path, levels: int) -> Iterator[Path]:
    for place in sorted(folder.iterdir()):
        if place.is_dir() and not place.name.startswith("."):
            yield place
            if levels > 1:
                yield from _folders(place, levels - 1)


def revision(place: Path) -> str:
    """What is written beside a checkout as its revision, or n/a."""
    for folder in (place, *place.parents):
        note = folder / ".revision"
        if note.is_file():
            return note.read_text("utf-8").strip()
    return "n/a"


def fingerprint(place: Path) -> int:
    """Of names, sizes and times of all files."""
    rows = []
    for root, folders, files in os.walk(place):
        folders.sort()
        for name in sorted(files):
            state = os.lstat(os.path.join(root, name))
            rows.append((root, name, state.st_size, state.st_mtime_ns))
    return hash(tuple(rows))


def prove(proof: Proof, place: Path, given: argparse.Namespace, keep: Path) -> dict[str, Any]:
    """Run one, and hold mgtop's account against the driver's."""
    work, truth, session = keep / "work", keep / "truth.json", keep / "session"
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TORCHDYNAMO_DISABLE="1")
    environment |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [
        *(sys.executable, "-m", "mgtop", "run", "--profile", proof.profile, "--headless"),
        *("--out", str(session), "--", given.python, str(DRIVERS / f"{proof.driver}.py")),
        *("--repo", str(place), "--work", str(work), "--truth", str(truth)),
    ]
    before = fingerprint(place)
    begun = time.monotonic()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    row: dict[str, Any] = {
        "profile": proof.profile, "what": proof.what, "revision": revision(place),
        "seconds": round(time.monotonic() - begun), "wrong": [],
    }  # fmt: skip
    (keep / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode or not truth.is_file():
        last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
        row["wrong"] = [f"it ended with {done.returncode}: {' / '.join(last)}"]
        return row
    if fingerprint(place) != before:
        row["wrong"].append("a file of the project was changed")
    said, was = by_mgtop(session), by_driver(truth)
    row["wrong"] += differences(said, was, (MOST_MS, MOST_SHARE, EMIT_MS))
    row["mgtop"], row["truth"] = _plain(said), _plain(was)
    return row


def _plain(seen: Seen) -> dict[str, Any]:
    first = [one.first_frame_ms for one in seen.requests]
    return {
        "requests": len(seen.requests),
        "frames": sum(one.frames for one in seen.requests),
        "blocks": [one.blocks for one in seen.requests],
        "first_frame_ms": [None if value is None else round(value, 1) for value in first],
        "waited_ms": round(seen.waited_ms),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """For people, as Markdown."""
    lines = [
        "| profile | ran | requests | frames | blocks | first frame, ms: mgtop | truly | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        said, was = row.get("mgtop"), row.get("truth")
        verdict = "; ".join(row["wrong"]) or "right"
        if said is None or was is None:
            lines.append(f"| {row['profile']} | {row['what']} | | | | | | {verdict} |")
            continue
        lines.append(
            f"| {row['profile']} | {row['what']} | {_of(said, was, 'requests')} "
            f"| {_of(said, was, 'frames')} | {shape(said['blocks'])} "
            f"| {_list(said['first_frame_ms'])} | {_list(was['first_frame_ms'])} | {verdict} |"
        )
    return "\n".join(lines)


def _of(said: dict[str, Any], was: dict[str, Any], key: str) -> str:
    return str(said[key]) if said[key] == was[key] else f"{said[key]} (truly {was[key]})"


def _list(values: list[float | None]) -> str:
    return ", ".join("n/a" if value is None else f"{value:,.1f}" for value in values)


def shape(requests: list[list[int]]) -> str:
    """``9, 12 ×6``: the blocks of each different kind of request."""
    texts = []
    for blocks in requests:
        parts: list[list[int]] = []
        for count in blocks:
            if parts and parts[-1][0] == count:
                parts[-1][1] += 1
            else:
                parts.append([count, 1])
        texts.append(", ".join(f"{n} ×{times}" if times > 1 else str(n) for n, times in parts))
    return "; ".join(dict.fromkeys(texts))


def check_sources(found: dict[str, Path]) -> list[str]:
    """What profiles name that is not in the files of the projects that are there."""
    return [
        f"{known.name}:{name}: {problem}"
        for known in every()
        if known.name in found
        for name, entry in known.profile.entries.items()
        for problem in unfit(found[known.name], entry)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="projects; all of them by default")
    parser.add_argument("--repos", type=Path, required=True, help="folder of checkouts")
    parser.add_argument("--python", required=True, help="Python with what the projects import")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--keep", type=Path, help="keep sessions and outputs in this folder")
    given = parser.parse_args()
    given.python = os.path.abspath(given.python)
    found = checkouts(given.repos)
    known = {one.name for one in every()}
    there, absent = ", ".join(sorted(found)), ", ".join(sorted(known - set(found)))
    print(f"recognised: {there}; not there: {absent or 'none'}")
    wrong = check_sources(found)
    print("\n".join(wrong) or "every function, script, option and YAML key is in the source")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for proof in PROOFS:
            place = found.get(proof.name)
            if place is None or (given.names and not {proof.name, proof.profile} & {*given.names}):
                continue
            keep = (given.keep or Path(folder)).resolve() / proof.driver
            keep.mkdir(parents=True)
            row = prove(proof, place, given, keep)
            rows.append(row)
            print(f"{proof.profile}: {'; '.join(row['wrong']) or 'right'} ({row['seconds']} s)")
    print(f"\n{table(rows)}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 1 if wrong or any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
