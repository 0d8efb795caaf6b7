"""``mgtop import`` with tables of nvidia-smi on one axis with the log, and lines of stages."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mgtop.cli.main import run

BEGIN = datetime(2026, 11, 30, 22, 15, 0)
LATE = 40
"""The frame that comes late."""


def log_text(stamped: bool) -> str:
    """Fifty frames, 50 ms each, one of them 250 ms late."""
    lines, t = [], 0
    events = [(0, "request_received w=1280 fps=16"), (900, "first_frame_emit")]
    t = 900
    for index in range(1, 50):
        t += 300 if index == LATE else 50
        events.append((t, f"frame_emit idx={index}"))
    for at, event in events:
        line = f"[req 7f3a] T+{at} {event}"
        when = BEGIN + timedelta(milliseconds=at)
        lines.append(f"{when.isoformat(' ')[:23]} INFO {line}" if stamped else line)
    return "\n".join(lines) + "\n"


def gpu_text(begin: datetime) -> str:
    """A reading every 50 ms; memory falls by a gigabyte where the frame is late, and returns."""
    lines = ["timestamp, index, uuid, name, memory.used [MiB], memory.total [MiB]"]
    for step in range(100):
        at = begin + timedelta(milliseconds=50 * step)
        late = 900 + 50 * (LATE - 1)
        falls = late <= 50 * step < late + 300 and (50 * step - late) // 100 == 1
        used = 22_500 if falls else 23_500
        stamp = at.strftime("%Y/%m/%d %H:%M:%S.") + f"{at.microsecond // 1000:03d}"
        lines.append(f"{stamp}, 0, GPU-aa, NVIDIA L4, {used} MiB, 24000 MiB")
    return "\n".join(lines) + "\n"


def imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[dict[str, object], str]:
    code = run(["import", *map(str, arguments), "--out", str(tmp_path / "session")])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert run(["report", str(tmp_path / "session"), "--json"]) == 0
    report: dict[str, object] = json.loads(capsys.readouterr().out)
    return report, said.err


def test_memory_that_falls_where_a_frame_is_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, gpu = tmp_path / "app.log", tmp_path / "gpu.csv"
    log.write_text(log_text(stamped=True))
    gpu.write_text(gpu_text(BEGIN))
    report, said = imported(tmp_path, capsys, log, "--gpu", gpu)
    assert "taken to begin" not in said
    (tail,) = report["tails"]["frames"]  # type: ignore[index]
    assert tail["index"] == LATE
    evidence = {line["channel"]: line for line in tail["evidence"]}
    assert evidence["vram_drop"]["state"] == "present"
    assert report["tails"]["coincide"]["vram_drop"] == 1  # type: ignore[index]
    assert report["memory"]["total_mib"] == 24_000  # type: ignore[index]
    started = datetime.fromisoformat(report["session"]["started"].replace("Z", "+00:00"))  # type: ignore[index]
    assert started.timestamp() == BEGIN.timestamp()


def test_a_table_of_another_hour_does_not_belong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, gpu = tmp_path / "app.log", tmp_path / "gpu.csv"
    log.write_text(log_text(stamped=True))
    gpu.write_text(gpu_text(BEGIN - timedelta(hours=1)))
    assert run(["import", str(log), "--gpu", str(gpu), "--out", str(tmp_path / "session")]) == 2
    assert "No row of the tables lies in the time of the log" in capsys.readouterr().err
    assert not (tmp_path / "session").exists()


def test_without_a_time_of_day_they_are_taken_to_begin_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, gpu = tmp_path / "app.log", tmp_path / "gpu.csv"
    log.write_text(log_text(stamped=False))
    gpu.write_text(gpu_text(BEGIN - timedelta(hours=1)))
    report, said = imported(tmp_path, capsys, log, "--mem", gpu)
    assert "gpu.csv is taken to begin with it" in said
    assert report["tails"]["coincide"]["vram_drop"] == 1  # type: ignore[index]
    assert report["session"]["started"] is None  # type: ignore[index]


def test_a_log_of_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "stages.log"
    lines = ["LOAD 3.2 s | FWD 850 ms | POST 12.5 ms | TOTAL 4100 ms"]
    lines += [f"frame {n}: LOAD 2 ms | FWD 85 ms | POST 4 ms | TOTAL 91 ms" for n in range(30)]
    lines[20] = "frame 19: LOAD 2 ms | FWD 385 ms | POST 4 ms | TOTAL 391 ms"
    log.write_text("\n".join(lines))
    report, _ = imported(tmp_path, capsys, log)
    assert report["first_frame_ms"]["p50"] == 4100  # type: ignore[index]
    assert report["interval_ms"]["p50"] == 91  # type: ignore[index]
    (request,) = report["requests"]  # type: ignore[misc]
    assert request["spans"]["forward"] == 85  # type: ignore[index]
    assert {name for name, ms in request["spans"].items() if ms is not None} == {
        "load",
        "forward",
        "postprocess",
    }
    assert request["spans"]["load"] == 2  # type: ignore[index]
    (tail,) = report["tails"]["frames"]  # type: ignore[index]
    assert tail["index"] == 20
    compute = next(line for line in tail["evidence"] if line["channel"] == "compute")
    # 389 ms of the model's own steps; whether that was work or waiting, no log can tell.
    assert (compute["state"], compute["value"]) == ("not_resolved", 389)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "1,2,3\n", "a.csv is no table of nvidia-smi"),
        ("missing.csv", None, "missing.csv cannot be read"),
    ],
)
def test_a_file_that_is_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, said: str
) -> None:
    log = tmp_path / "app.log"
    log.write_text(log_text(stamped=True))
    if text is not None:
        (tmp_path / name).write_text(text)
    assert run(["import", str(log), "--gpu", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err


def test_a_table_as_powershell_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, gpu = tmp_path / "app.log", tmp_path / "gpu.csv"
    log.write_text(log_text(stamped=True))
    gpu.write_bytes(gpu_text(BEGIN).encode("utf-16"))
    report, _ = imported(tmp_path, capsys, log, "--gpu", gpu)
    assert report["tails"]["coincide"]["vram_drop"] == 1  # type: ignore[index]


def test_a_log_of_a_run_that_ran_out_of_memory_before_its_first_frame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "app.log"
    log.write_text(
        "loading\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        "AttributeError: 'NoneType' object has no attribute 'shape'\n"
    )
    report, _ = imported(tmp_path, capsys, log)
    (oom,) = report["memory"]["ooms"]  # type: ignore[index]
    assert "Tried to allocate 2.00 GiB" in oom["message"]
    assert report["verdict"]["code"] == "memory"  # type: ignore[index]


def test_a_clock_of_whole_seconds_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, config = tmp_path / "app.log", tmp_path / "run.yaml"
    log.write_text("".join(f"2026-11-30 22:15:{n:02d} frame {n}\n" for n in range(9)))
    config.write_text("frames: {log: {pattern: 'frame (?P<index>\\d+)'}}\n")
    _, said = imported(tmp_path, capsys, log, "--config", config)
    assert "9 events have no other time than the log's clock" in said
