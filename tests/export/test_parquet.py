"""Parquet: the tables that the page documents, read by DuckDB and pandas."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import mgtop
from mgtop.cli.main import group, run
from mgtop.export import arrow, parquet
from mgtop.report.samples import SAMPLES
from tests.export.recorded import unpack

PAGE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE[PAGE.index("### Many sessions") :], re.S)
TABLES = ("frames", "marks", "samples", "spans", "tails")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("sessions") / "stormlight")


@pytest.fixture(scope="module")
def exported(session: Path) -> Path:
    out = session.parent / "exports" / "stormlight"
    done = CliRunner().invoke(group, ["export", str(session), "--to", "parquet", "-o", str(out)])
    assert done.exit_code == 0, done.output
    return out


def test_files_hold_what_arrow_has(session: Path, exported: Path) -> None:
    assert sorted(path.stem for path in exported.iterdir()) == list(TABLES)
    tables = mgtop.open(session).arrow()
    for name in TABLES:
        rows = pq.read_table(exported / f"{name}.parquet").to_pylist()
        assert rows == getattr(tables, name).to_pylist(), name


def test_pandas_reads_them(session: Path, exported: Path) -> None:
    frames = pd.read_parquet(exported / "frames.parquet")
    report = mgtop.open(session).report
    counted = frames[~frames["warmup"]]["interval_ms"].dropna()
    assert counted.quantile(0.95) == pytest.approx(report.interval_ms.p95)
    assert frames["cause"].value_counts()["alloc_retry"] == report.causes["alloc_retry"].frames


def test_without_causes_the_frames_are_the_same(session: Path, tmp_path: Path) -> None:
    parquet.write(session, tmp_path, judge=False)
    tables = mgtop.open(session).arrow()
    unjudged = pq.read_table(tmp_path / "frames.parquet")
    told = ["excess_ms", "cause"]
    assert unjudged.drop_columns(told).to_pylist() == tables.frames.drop_columns(told).to_pylist()
    assert unjudged["cause"].null_count == unjudged.num_rows
    assert pq.read_table(tmp_path / "spans.parquet").to_pylist() == tables.spans.to_pylist()
    assert pq.read_table(tmp_path / "samples.parquet").to_pylist() == tables.samples.to_pylist()
    assert pq.read_table(tmp_path / "tails.parquet").num_rows == 0


def test_the_examples_run_over_many_sessions(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Path(__file__).parents[1] / "sessions" / "h200-memory"
    names = ["h200-alloc-retry/session"]
    names += [
        f"h200-memory/{path.name.removesuffix('.log.gz')}" for path in memory.glob("*.log.gz")
    ]
    for name in names:
        folder = unpack(tmp_path / "sessions" / name.replace("/", "-"), name)
        out = tmp_path / "exports" / folder.name
        out.mkdir(parents=True)
        parquet.write(folder, out)
    monkeypatch.chdir(tmp_path)
    overview, moved = (duckdb.sql(sql).df() for sql in EXAMPLES)
    assert len(overview) == len(names)
    report = mgtop.open(session).report
    [row] = overview[overview["session"] == "h200-alloc-retry-session"].to_dict("records")
    assert row["emits"] >= report.interval_ms.count
    assert row["p95_ms"] == pytest.approx(report.interval_ms.p95, abs=0.1)
    assert (row["late"], row["cause"]) == (report.tails.count, "alloc_retry")
    assert row["lost_ms"] == pytest.approx(report.tails.lost_ms, abs=1)
    rows = moved[moved["session"] == "h200-alloc-retry-session"].to_dict("records")
    assert [(row["cause"], row["late"]) for row in rows] == [("alloc_retry", 7)]
    assert rows[0]["memory_moved_mib"] > 64


def test_the_page_names_every_column() -> None:
    for name in TABLES:
        at = PAGE.index(f"`{name}.parquet`")
        told = PAGE[at : PAGE.find("\n\n", PAGE.find("\n", at))]
        schema: Any = getattr(arrow, name.upper())
        missing = [column for column in schema.names if f"`{column}`" not in told]
        assert not missing, name
    assert set(re.findall(r"^\| `(\w+_(?:mib|percent|mhz|w|c|depth))` \|", PAGE, re.M)) == set(
        SAMPLES
    )


def test_what_cannot_be_is_said(
    session: Path,
    exported: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def said(*words: str) -> str:
        assert run(["export", str(session), *words]) == 2
        return capsys.readouterr().err

    assert "with -o FOLDER" in said("--to", "parquet")
    assert "is not empty" in said("--to", "parquet", "-o", str(exported))
    assert "--no-causes is for" in said("--to", "csv", "--no-causes")
    (tmp_path / "file").write_text("")
    assert "name another folder" in said("--to", "parquet", "-o", str(tmp_path / "file"))
    for name in [name for name in sys.modules if name.startswith("mgtop.export")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'mgtop[parquet]'" in said("--to", "parquet", "-o", str(tmp_path / "new"))
