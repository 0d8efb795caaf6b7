"""Whole sessions that were recorded on real machines, judged against what really happened."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.session.reader import read_all
from mgtop.session.writer import LOG_NAME

SESSIONS = Path(__file__).parent.parent / "sessions"


def summary_of(name: str, folder: Path) -> tuple[Summary, list[dict[str, object]]]:
    log = gzip.decompress((SESSIONS / name / "session.log.gz").read_bytes())
    (folder / LOG_NAME).write_bytes(log)
    model = Model()
    model.feed_all(read_all(folder))
    model.finish()
    lines = (SESSIONS / name / "truth.json").read_text().splitlines()
    return model.summary(), [json.loads(line) for line in lines]


def test_reclaims_of_a_fragmented_cache_on_an_h200(tmp_path: Path) -> None:
    """The demo with `--fault vram`: 400 and more cached segments given back at the limit."""
    summary, truth = summary_of("h200-alloc-retry", tmp_path)
    struck = {(strike["request"], strike["emit"]) for strike in truth}
    warmup = {request.id for request in summary.requests if request.warmup}
    found = {(tail.request, tail.emit) for tail in summary.tails.frames}
    assert found == {strike for strike in struck if strike[0] not in warmup}
    assert {tail.cause for tail in summary.tails.frames} == {"alloc_retry"}
    injected = {(s["request"], s["emit"]): s["injected_ms"] for s in truth}
    for tail in summary.tails.frames:
        (cause,) = tail.causes
        assert cause.bound == "upper"
        assert cause.explained_ms == pytest.approx(injected[tail.request, tail.emit], rel=0.25)
    assert summary.tails.coincide.vram_drop == len(found)
    assert summary.verdict.code == "memory"
    assert summary.memory.retries == len(truth)
    assert summary.gpu[0].util_p50 == pytest.approx(29, abs=3)
    assert summary.losses.events_dropped == 0
