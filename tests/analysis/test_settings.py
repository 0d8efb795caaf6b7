"""Settings that a log carries: those of any version, and nonsense."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgtop.analysis.settings import settings_of
from mgtop.config.structs import AnalysisSettings, Detect, Playout, RunConfig, Warmup
from mgtop.wire.records import SessionStart

DEFAULT = AnalysisSettings(target_fps=12.0)


def read(data: dict[str, Any]) -> AnalysisSettings:
    return settings_of(SessionStart(0, 0, 1, "", "", {}, data), DEFAULT)


def test_a_log_without_settings_is_judged_by_the_default():
    assert read({}) is DEFAULT


def test_what_a_run_writes_is_what_is_read():
    config = RunConfig(
        params={"fps": 24},
        warmup=Warmup(requests=3, emits=0),
        detect=Detect(ratio=1.5, floor_ms=2, history=60),
        playout=Playout(buffer_frames=16),
    )
    written = config.analysis_settings()
    # As it comes back from the log: plain data through msgpack.
    data = msgspec.msgpack.decode(msgspec.msgpack.encode(msgspec.to_builtins(written)))
    assert read(data) == written
    assert read(data).target_fps == 24


def test_what_is_not_said_is_the_programs_default():
    assert read({"detect": {"ratio": 3.0}}) == AnalysisSettings(detect=Detect(ratio=3.0))


def test_what_a_newer_version_added_is_ignored_at_every_level():
    data = {"target_fps": 16.0, "new": {"a": 1}, "detect": {"ratio": 3.0, "smarter": True}}
    assert read(data) == AnalysisSettings(target_fps=16.0, detect=Detect(ratio=3.0))


@pytest.mark.parametrize(
    "nonsense",
    [
        {"target_fps": -1},
        {"target_fps": "fast"},
        {"warmup": 3},
        {"warmup": {"requests": "many"}},
        {"warmup": {"emits": -1}},
        {"detect": None},
        {"detect": {"history": 0}},
        {"playout": {"buffer_frames": [1]}},
        {"thresholds": {"memory_share": {}}},
    ],
)
def test_nonsense_leaves_the_default(nonsense: dict[str, Any]):
    assert read(nonsense) is DEFAULT


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.integers(),
                    lambda inner: st.dictionaries(
                        st.sampled_from(["warmup", "detect", "ratio", "target_fps", "emits", "x"]),
                        inner, max_size=4)))  # fmt: skip
@settings(deadline=None)
def test_no_settings_break_the_reading(data: Any):
    assert isinstance(read(data if isinstance(data, dict) else {"detect": data}), AnalysisSettings)
