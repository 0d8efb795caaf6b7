"""What is asked of each part of ``benchmarks.gpu.memory``: the report beside torch's figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 1 << 20
Report = dict[str, Any]
Truth = dict[str, Any]


class Checks:
    """What was asked of a part, and what came."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.rows: list[dict[str, Any]] = []
        self.figures: dict[str, Any] = {}

    def that(self, what: str, ok: bool | None, got: Any, wanted: Any = "") -> None:
        """One check; ``ok`` None: it cannot be said here."""
        self.rows.append({"what": what, "ok": ok, "got": got, "wanted": wanted})

    def near(self, what: str, got: float | None, wanted: float | None, within: float) -> None:
        """Two numbers, apart by ``within`` at most."""
        if wanted is None:
            self.that(what, None, got, wanted)
            return
        ok = got is not None and abs(got - wanted) <= within
        self.that(what, ok, _rounded(got), f"{_rounded(wanted)} ± {_rounded(within)}")

    def shape(self, memory: Report, wanted: str) -> None:
        """The shape."""
        self.that("shape", memory["shape"] == wanted, memory["shape"], wanted)
        self.figures["text"] = memory["text"]


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def framework(checks: Checks, memory: Report, truth: Truth) -> None:
    """Torch's own figures, to the MiB."""
    emits = truth["emits"]
    stages = memory["stages"]
    steady = [emit["allocated"] for emit in emits[2:]]
    load = stages["load"]
    for what in ("allocated", "reserved"):
        checks.near(
            f"peak in load, {what}", load[f"{what}_mib"], truth["loaded"][f"max_{what}"] / MIB, 1
        )
        resident = (memory["readings"].get("resident") or {}).get(f"{what}_mib")
        checks.near(f"resident, {what}", resident, truth["resident"][what] / MIB, 1)
        highest = max(
            (stages[stage][f"{what}_mib"] for stage in stages if stages[stage][f"{what}_mib"]),
            default=None,
        )
        checks.near(f"peak of all, {what}", highest, truth["end"][f"max_{what}"] / MIB, 1)
    if truth.get("quiet"):
        got = stages["steady"]["allocated_mib"]
        checks.near("steady at emits, allocated", got, max(steady) / MIB, 1)
    process = truth["resident"].get("process")
    if process is not None:
        checks.near("resident, process (driver)", memory["resident_mib"], process / MIB, 2)
        outside = process / MIB - truth["resident"]["reserved"] / MIB
        checks.figures["outside_torch_mib"] = round(outside, 1)


def part_load_only(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    truth["quiet"] = True
    framework(checks, memory, truth)
    checks.shape(memory, "load_only")
    checks.that("peak stage", memory["peak"]["stage"] == "load", memory["peak"], "load")


def part_first_frame(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    framework(checks, memory, truth)
    checks.shape(memory, "first_frame")
    stage = memory["peak"]["stage"]
    checks.that("peak stage", stage == "first_frame", stage, "first_frame")


def part_leak(checks: Checks, report: Report, truth: Truth) -> None:
    memory, rate = report["memory"], truth["mib_per_frame"]
    framework(checks, memory, truth)
    checks.shape(memory, "rising")
    growth = memory["growth"] or {}
    checks.near("MiB a frame", growth.get("mib_per_frame"), rate, 0.05 * rate)
    low, high = growth.get("low_mib"), growth.get("high_mib")
    holds = low is not None and low - 1e-6 <= rate <= high + 1e-6
    checks.that("its interval holds the truth", holds, [_rounded(low), _rounded(high)], rate)
    frames = growth.get("frames", 0)
    checks.that("frames needed", 0 < frames <= 200, frames, "at most 200")
    end = truth["end"]
    left = (end["free"] + end["reserved"] - end["allocated"]) / MIB / rate
    checks.near("frames to the limit", memory["frames_to_limit"], left, 0.06 * left)
    pace_s = report["interval_ms"]["p50"] / 1e3
    minutes = memory["minutes_to_limit"]
    checks.near("minutes to the limit", minutes, left * pace_s / 60, 0.1 * left * pace_s / 60)


def part_window(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    framework(checks, memory, truth)
    checks.shape(memory, "flat")
    filled = memory["filled"] or {}
    checks.near("filled, MiB", filled.get("mib"), 1_150, 80)
    checks.near("filled by frame", filled.get("by_frame"), 58, 4)


def part_sawtooth(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    checks.shape(memory, "sawtooth")
    first = truth["resident"]["retries"]
    retries = truth["end"]["retries"] - first
    checks.near("retries", memory["retries"], retries, 0)
    share = memory["peak"]["mib"] / memory["total_mib"] if memory["peak"]["mib"] else 0
    checks.that("near the limit", share > 0.9, round(share, 3), "> 0.9")
    checks.figures["verdict"] = report["verdict"]["text"]
    checks.figures["marks"] = len(memory["retry_marks"])
    checks.figures["vram_drop"] = report["tails"]["coincide"]


def part_flat_high(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    framework(checks, memory, truth)
    checks.shape(memory, "flat")


def part_between_polls(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    framework(checks, memory, truth)
    steady = memory["stages"]["steady"]
    checks.figures["polled_mib"] = steady["process_mib"]
    checks.figures["framework_mib"] = steady["reserved_mib"]
    missed = [one for one in memory["differ"] if one["kind"] == "missed"]
    polled = (steady["process_mib"] or 0) > 0.9 * (steady["reserved_mib"] or 1)
    said = bool(missed) or polled if steady["process_mib"] is not None else None
    checks.that("said where polling missed it", said, [one["text"] for one in missed], "a sentence")
    checks.figures["polling_saw_it"] = polled


def part_expandable(checks: Checks, report: Report, truth: Truth) -> None:
    part_leak(checks, report, truth)
    allocator = report["memory"]["allocator"]
    checks.that("allocator", allocator["expandable"] is True, allocator, "expandable")


def part_async(checks: Checks, report: Report, truth: Truth) -> None:
    part_leak(checks, report, truth)
    memory = report["memory"]
    backend = memory["allocator"]["backend"]
    checks.that("allocator", backend == "cudaMallocAsync", backend, "cudaMallocAsync")
    checks.that("retries are not known", memory["retries"] is None, memory["retries"], None)


def part_two(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    other = json.loads(Path(truth["path"] + ".child").read_text())
    both = (truth["end"]["max_reserved"] + other["end"]["max_reserved"]) / MIB
    highest = max(stage["reserved_mib"] or 0 for stage in memory["stages"].values())
    checks.near("reserved by both", highest, both, 2)
    own, its = truth["end"]["process"], other["end"]["process"]
    if own is not None and its is not None:
        peak = memory["peak"]["mib"]
        checks.near("process memory of both", peak, (own + its) / MIB, 2)
        device = max(stage["device_mib"] or 0 for stage in memory["stages"].values())
        checks.that("less than the device's", peak < device - 2_500, [peak, device])
    gpu = memory["gpus"][0] if memory["gpus"] else {}
    checks.that("two processes", gpu.get("processes") == 2, gpu.get("processes"), 2)
    others = gpu.get("others_mib") or 0
    checks.that("the neighbour apart", 3_000 <= others <= 4_500, others, "3,000 and its context")


def part_segments(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    maps = memory["segment_maps"]
    checks.that("a map was taken", bool(maps) and not maps[0]["error"], maps, "one")
    text = truth.get("map_text") or ""
    checks.figures["map_text"] = text
    checks.figures["map_bytes"] = truth.get("map_bytes")
    if maps and not maps[0]["error"]:
        checks.near("reserved in the map", maps[0]["reserved_mib"],
                    truth["emits"][-1]["reserved"] / MIB, 1)  # fmt: skip
        checks.near("allocated in the map", maps[0]["allocated_mib"],
                    truth["emits"][-1]["allocated"] / MIB, 1)  # fmt: skip
        frames = sorted(truth["frame_ms"][2:])
        checks.figures["took_ms"] = maps[0]["took_ms"]
        checks.figures["segments"] = maps[0]["segments"]
        checks.figures["frame_ms_p50_max"] = [frames[len(frames) // 2], frames[-1]]
    checks.figures["reclaim_ms"] = truth.get("reclaim_ms")
    estimate = re.search(r"about ([\d,.]+)(?: to ([\d,.]+))? ms", " ".join(text.split()))
    if estimate and truth.get("reclaim_ms") is not None and "expandable" not in checks.part:
        low = float(estimate[1].replace(",", ""))
        high = float((estimate[2] or estimate[1]).replace(",", ""))
        took = truth["reclaim_ms"]
        checks.that("a reclaim costs about that", low / 3 <= took <= 3 * high, round(took, 1),
                    f"{low} to {high}, by a factor of 3")  # fmt: skip


def part_out_of_memory(checks: Checks, report: Report, truth: Truth) -> None:
    memory = report["memory"]
    ooms = memory["ooms"]
    checks.that("one error", len(ooms) == 1, len(ooms), 1)
    if ooms:
        oom = ooms[0]
        checks.that("stage and frame", (oom["stage"], oom["frame"]) == ("steady", 30),
                    [oom["stage"], oom["frame"]], ["steady", 30])  # fmt: skip
        checks.figures["amounts"] = oom["amounts_mib"]
        checks.figures["at"] = {key: oom[key] for key in oom if key.endswith("_mib")}
        checks.figures["message"] = oom["message"]
        checks.near("requested, MiB", oom["amounts_mib"].get("requested"), 400_000, 1_000)
        allocated = truth["emits"][-1]["allocated"] / MIB
        checks.near("allocated then", oom["allocated_mib"], allocated, 64)
    verdict = report["verdict"]
    checks.that("verdict", (verdict["code"], verdict["cause"]) == ("memory", "oom"),
                verdict["text"])  # fmt: skip


def part_out_at_load(checks: Checks, report: Report, truth: Truth) -> None:
    ooms = report["memory"]["ooms"]
    stage = ooms[0]["stage"] if ooms else None
    checks.that("an error in load", len(ooms) == 1 and stage == "load", [len(ooms), stage])
    checks.that("verdict", "weights do not fit" in report["verdict"]["text"],
                report["verdict"]["text"])  # fmt: skip


PARTS: dict[str, Callable[[Checks, Report, Truth], None]] = {
    "load_only": part_load_only,
    "first_frame": part_first_frame,
    "leak_0.5": part_leak,
    "leak_5": part_leak,
    "leak_50": part_leak,
    "window": part_window,
    "sawtooth": part_sawtooth,
    "flat_high": part_flat_high,
    "between_polls": part_between_polls,
    "expandable": part_expandable,
    "async": part_async,
    "two": part_two,
    "segments": part_segments,
    "segments_expandable": part_segments,
    "out_of_memory": part_out_of_memory,
    "out_at_load": part_out_at_load,
}
