"""``report --json`` against the contract: every key, in its order, null where not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from report_summaries import BLOCKS_ON_A_GPU, EMPTY, FROM_A_LOG

from mgtop.analysis.summary import Summary
from mgtop.report.json import plain_report, render


def keys(text: str, **inside: Any) -> dict[str, Any]:
    """Keys in their order; those named by keyword have keys of their own."""
    return {name: inside.get(name) for name in text.split()}


def each(tree: Any) -> list[Any]:
    """A list whose items look like ``tree``."""
    return [tree]


MORE = keys("count p50 p95 p99 max")
PLAYOUT = keys(
    "target_fps buffer_frames keeps_up underruns stall_ms stall_ms_per_s smooth_buffer_ms "
    "smooth_buffer_frames slack_min_ms"
)
STAGE = keys("process_mib device_mib allocated_mib reserved_mib t_ms")
CONTRACT = keys(
    "schema session target environment requests first_frame_ms interval_ms interval_ms_by_count "
    "frame_interval_ms fps rtf playout tails causes memory gpu cpu marks losses observer verdict",
    session=keys("path name started duration_ms live params"),
    target=keys(
        "pid command exit_code exit_signal torch python gpus git route",
        gpus=each(keys("uuid name total_mib")),
    ),
    environment=keys("os kernel driver cuda cpu ram_mib container mgtop"),
    requests=each(
        keys(
            "id warmup received_ms preprocess_ms first_frame_ms frames blocks ended interval_ms "
            "tails spans cpu_share playout",
            interval_ms=keys("count p50 p95 max"),
            spans=keys("decode resize h2d forward vae_decode postprocess encode write"),
            playout=PLAYOUT,
        )
    ),
    first_frame_ms=keys("count p50 p95 p99 max preprocess_p50 sampling_p50"),
    interval_ms=MORE,
    interval_ms_by_count={"*": MORE},
    frame_interval_ms=keys("count p50"),
    playout=PLAYOUT,
    tails=keys(
        "count lost_ms share_of_lost share_of_time level_shifts coincide placement frames",
        coincide=keys("vram_drop gpu_idle"),
        placement=keys("kind index period p_value"),
        frames=each(
            keys(
                "request index emit t_ms interval_ms excess_ms visible cause causes evidence",
                causes=each(keys("name explained_ms bound")),
                evidence=each(keys("channel state value unit source period_ms lead_ms")),
            )
        ),
    ),
    causes={"*": keys("frames lost_ms")},
    memory=keys(
        "total_mib baseline_mib resident_mib first_frame_mib steady_mib peak stages "
        "peak_extra_mib shape growth_mib_per_frame frames_to_limit retries ooms",
        peak=keys("mib stage t_ms source"),
        stages=keys("load idle first_frame steady", load=STAGE, idle=STAGE, first_frame=STAGE,
                    steady=STAGE),
        ooms=each(keys("stage frame message")),
    ),
    gpu=each(keys("uuid util_p50 util_min memory_util_p50 busy_share period_ms")),
    cpu=keys("process_p50 system_p50 quota_share runqueue_ms"),
    marks=each(keys("t_ms request index note")),
    losses=keys("events_dropped events_malformed samples_missed"),
    observer=keys(
        "cpu_percent nvml_ms_per_s nvml_calls_per_s probe_us_per_frame terminal_bytes_per_s"
    ),
    verdict=keys("code cause text because next"),
)  # fmt: skip


def differences(tree: Any, value: Any, path: str = "") -> list[str]:
    """Where ``value`` lacks a key of ``tree`` or has its keys in another order."""
    if tree is None:
        return []
    if isinstance(tree, list):
        return [
            line
            for position, item in enumerate(value)
            for line in differences(tree[0], item, f"{path}.{position}")
        ]
    if "*" in tree:
        return [line for name, item in value.items() for line in differences(tree["*"], item, name)]
    found = [name for name in value if name in tree]
    if found != list(tree):
        return [f"{path}: {found} instead of {list(tree)}"]
    return [
        line for name in tree for line in differences(tree[name], value[name], f"{path}.{name}")
    ]


@pytest.mark.parametrize("summary", [EMPTY, FROM_A_LOG, BLOCKS_ON_A_GPU])
def test_every_key_is_there_in_the_contracts_order(summary: Summary):
    assert differences(CONTRACT, json.loads(render(summary))) == []


def test_the_comparison_itself_notices():
    report = json.loads(render(BLOCKS_ON_A_GPU))
    del report["tails"]["frames"][0]["evidence"][0]["lead_ms"]
    report["playout"] = dict(reversed(report["playout"].items()))
    assert len(differences(CONTRACT, report)) == 2


def test_unknown_is_null_not_zero_and_not_left_out():
    report = json.loads(render(EMPTY))
    assert report["fps"] is None
    assert report["interval_ms"] == {
        "count": 0, "p50": None, "p95": None, "p99": None, "max": None
    }  # fmt: skip
    assert report["target"]["pid"] is None
    assert report["memory"]["stages"]["load"]["process_mib"] is None
    log = json.loads(render(FROM_A_LOG))
    assert log["requests"][0]["spans"]["forward"] is None
    assert log["requests"][0]["spans"]["decode"] == 14.0


def test_values_survive():
    report = json.loads(render(BLOCKS_ON_A_GPU))
    assert report["session"]["params"] == {"steps": 16, "resolution": "1280x720"}
    assert report["interval_ms"]["p50"] == 600.4
    assert report["target"]["command"][-1] == "星际\x1b[31m"
    assert report == json.loads(json.dumps(plain_report(BLOCKS_ON_A_GPU)))


def test_not_a_number_is_null():
    assert json.loads(render(Summary(fps=float("nan"), rtf=float("inf"))))["fps"] is None


def test_equal_summaries_give_equal_bytes():
    assert render(BLOCKS_ON_A_GPU) == render(BLOCKS_ON_A_GPU)
    assert render(EMPTY).endswith("}\n")
