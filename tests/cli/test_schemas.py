"""The published schemas are those of the structs, and what is printed fits them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from mgtop.cli.schemas import NAMES, VERSION, _structs, schema_of
from mgtop.report.json_text import json_text
from tests.export.recorded import unpack

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("session"))


def said(*words: object) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_the_published_schema_is_current(name: str) -> None:
    published = ROOT / "docs" / "schema" / f"{name}-{VERSION}.json"
    assert published.read_text("utf-8") == json_text(schema_of(name)), (
        "run python docs/generate_schemas.py; a key that changed its meaning needs a new version"
    )
    jsonschema.Draft202012Validator.check_schema(schema_of(name))
    assert set(NAMES) == set(_structs())


@pytest.mark.parametrize("name", NAMES)
def test_a_command_prints_its_schema(name: str) -> None:
    assert said(name, "--schema") == schema_of(name)


def test_reports_fit(session: Path) -> None:
    jsonschema.validate(said("report", session, "--json"), schema_of("report"))
    jsonschema.validate(said("compare", session, session, "--json"), schema_of("compare"))


def test_checks_fit(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# M\n\nAt least 24 GB of VRAM. Python 3.10.\n")
    jsonschema.validate(said("check", tmp_path, "--json"), schema_of("check"))


def test_the_doctor_fits() -> None:
    jsonschema.validate(said("doctor", "--json"), schema_of("doctor"))


def test_a_key_that_is_left_out_does_not_fit(session: Path) -> None:
    report = said("report", session, "--json")
    del report["verdict"]["next"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema_of("report"))
    assert msgspec.json.encode(report)
