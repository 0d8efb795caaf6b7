"""The metrics by name: a stable list, with what each means. Base units, as Prometheus has them."""

from __future__ import annotations

from typing import Literal, NamedTuple

MIB = float(1 << 20)
Kind = Literal["counter", "gauge", "histogram"]


class About(NamedTuple):
    """What a metric is; ``labels`` beside ``session``."""

    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()


METRICS: dict[str, About] = {
    "mgtop_up": About("gauge", "", "1: this endpoint follows sessions."),
    "mgtop_sessions": About("gauge", "", "Sessions that are offered here."),
    "mgtop_sessions_left_out": About("gauge", "", "Live sessions beyond the most offered at once."),
    "mgtop_session_live": About("gauge", "", "1: it is being recorded; 0: it has ended."),
    "mgtop_session_caught_up": About(
        "gauge", "", "0: its log is still being read, and its other metrics are not there yet."
    ),
    "mgtop_session_info": About("gauge", "", "Always 1; what a session is.", ("version", "route")),
    "mgtop_session_start_time_seconds": About("gauge", "seconds", "Its start, Unix time."),
    "mgtop_recorder_age_seconds": About(
        "gauge", "seconds", "Age of the newest record of its log: grows where the recorder stands."
    ),
    "mgtop_frame_age_seconds": About(
        "gauge", "seconds", "Age of the newest frame of an open request: grows in a stall."
    ),
    "mgtop_slack_seconds": About(
        "gauge", "seconds", "Video that lies ahead of the viewer; below 0: the picture stands."
    ),
    "mgtop_target_frames_per_second": About("gauge", "", "Frames a second that are wanted."),
    "mgtop_frames_to_memory_limit": About(
        "gauge", "", "Frames until memory is full at its present growth."
    ),
    "mgtop_interval_seconds": About(
        "histogram", "seconds", "Time between emits of one request; warm-up emits left out."
    ),
    "mgtop_first_frame_seconds": About(
        "histogram", "seconds", "From the arrival of a request to its first frame."
    ),
    "mgtop_frames_total": About("counter", "", "Frames emitted."),
    "mgtop_emits_total": About("counter", "", "Emits: frames that leave together are one."),
    "mgtop_requests_total": About("counter", "", "Requests."),
    "mgtop_late_frames_total": About(
        "counter", "", "Late frames by main cause, once judged (2 s later at most).", ("cause",)
    ),
    "mgtop_late_seconds_total": About(
        "counter", "seconds", "Time that late frames lost, by their main cause.", ("cause",)
    ),
    "mgtop_underruns_total": About("counter", "", "Times that the viewer had no frame when due."),
    "mgtop_stall_seconds_total": About("counter", "seconds", "Time for which the picture stood."),
    "mgtop_lost_total": About(
        "counter", "", "What did not reach the log, or could not be read from it.", ("kind",)
    ),
    "mgtop_allocator_retries_total": About(
        "counter", "", "Times that torch's allocator released its cache and asked again."
    ),
    "mgtop_out_of_memory_total": About("counter", "", "Out-of-memory errors."),
    "mgtop_gpu_memory_bytes": About("gauge", "bytes", "Memory of the GPU in use.", ("gpu",)),
    "mgtop_gpu_utilisation_ratio": About(
        "gauge", "", "Share of the last period in which the GPU had work.", ("gpu",)
    ),
    "mgtop_gpu_power_watts": About("gauge", "watts", "Power that the GPU draws.", ("gpu",)),
    "mgtop_gpu_temperature_celsius": About("gauge", "celsius", "The GPU's temperature.", ("gpu",)),
    "mgtop_gpu_clock_hertz": About("gauge", "hertz", "Clock of the GPU's processors.", ("gpu",)),
    "mgtop_process_resident_memory_bytes": About(
        "gauge", "bytes", "Resident memory of the program and its children."
    ),
    "mgtop_process_cpu_cores": About("gauge", "", "Cores that the program and its children use."),
    "mgtop_system_cpu_ratio": About("gauge", "", "Busy share of all cores of the machine."),
    "mgtop_system_memory_bytes": About("gauge", "bytes", "Memory of the machine in use."),
}
COUNTERS: dict[str, tuple[str, str | None, float]] = {
    "frames": ("mgtop_frames_total", None, 1.0),
    "emits": ("mgtop_emits_total", None, 1.0),
    "requests": ("mgtop_requests_total", None, 1.0),
    "underruns": ("mgtop_underruns_total", None, 1.0),
    "stall_ms": ("mgtop_stall_seconds_total", None, 1e-3),
    "events_dropped": ("mgtop_lost_total", "events_dropped", 1.0),
    "events_malformed": ("mgtop_lost_total", "events_malformed", 1.0),
    "samples_missed": ("mgtop_lost_total", "samples_missed", 1.0),
    "log_damaged": ("mgtop_lost_total", "log_damaged", 1.0),
    "allocator_retries": ("mgtop_allocator_retries_total", None, 1.0),
    "ooms": ("mgtop_out_of_memory_total", None, 1.0),
}
"""Sums of a session → metric, its label `kind`, and the factor to its unit."""
GAUGES: dict[str, tuple[str, float]] = {
    "gpu_memory_mib": ("mgtop_gpu_memory_bytes", MIB),
    "gpu_util_percent": ("mgtop_gpu_utilisation_ratio", 0.01),
    "gpu_power_w": ("mgtop_gpu_power_watts", 1.0),
    "gpu_temperature_c": ("mgtop_gpu_temperature_celsius", 1.0),
    "gpu_sm_clock_mhz": ("mgtop_gpu_clock_hertz", 1e6),
    "process_rss_mib": ("mgtop_process_resident_memory_bytes", MIB),
    "process_cpu_percent": ("mgtop_process_cpu_cores", 0.01),
    "system_cpu_percent": ("mgtop_system_cpu_ratio", 0.01),
    "ram_used_mib": ("mgtop_system_memory_bytes", MIB),
}
"""Samples (docs/exports.md) → metric, and the factor to its unit."""
