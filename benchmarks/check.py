"""How well ``mgtop check`` reads requirement sentences: recall and wrong verdicts.

``python -m benchmarks.check`` prints each part of the labelled sentences in
``tests/preflight/requirements``; ``--notes`` lists every disagreement with a label.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_LABELLED = Path(__file__).parents[1] / "tests" / "preflight" / "labelled.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", action="store_true", help="list what disagrees")
    arguments = parser.parse_args()
    labelled = _load()
    print("half       sentences  labels  found  recall  reported  wrong  share  strength  scope")
    for name in labelled.PARTS:
        one = labelled.score(name)
        print(
            f"{name.removesuffix('.yaml'):10} {one.cases:9} {one.expected:7} {one.found:6} "
            f"{one.recall:7.1%} {one.reported:9} {one.wrong:6} {one.wrong_share:6.1%} "
            f"{one.wrong_strength:9} {one.wrong_scope:6}"
        )
        if arguments.notes:
            print("\n".join(f"  {note}" for note in one.notes))


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("labelled", _LABELLED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["labelled"] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
