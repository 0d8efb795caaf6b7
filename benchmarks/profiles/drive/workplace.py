"""A folder to run a project in: links to its files, and beside them what it writes or needs."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from typing import Any


def arguments() -> Any:
    """What every driver is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repo", type=Path, required=True, help="the project's own files")
    parser.add_argument("--work", type=Path, required=True, help="an empty folder to run in")
    parser.add_argument("--truth", required=True, help="where to write what was seen")
    given = parser.parse_args()
    given.repo, given.work = given.repo.resolve(), given.work.resolve()
    given.truth = str(Path(given.truth).resolve())
    return given


def enter(repo: Path, work: Path, *, own: tuple[str, ...] = ()) -> None:
    """Go to ``work``, with a link to each file of ``repo`` but those that are made anew here."""
    work.mkdir(parents=True, exist_ok=True)
    for path in repo.iterdir():
        if path.name not in own and not path.name.startswith(".git"):
            link = work / path.name
            if not link.is_symlink():
                link.symlink_to(path)
    os.chdir(work)
    sys.path.insert(0, str(repo))


def run_script(path: Path, words: list[str]) -> None:
    """Run a script of the project as if it had been started with these words."""
    sys.argv = [str(path), *words]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as done:
        if done.code not in (None, 0):
            raise
