"""Sections of the text report about the machine: processors, loss, cost, environment."""

from __future__ import annotations

from mgtop.analysis.log_gaps import told
from mgtop.analysis.summary import Summary
from mgtop.report.numbers import NOT_KNOWN, number, share, text_or, whole, with_unit
from mgtop.report.page import Page


def processors(page: Page, summary: Summary) -> None:
    """Utilisation of GPUs and CPU."""
    page.heading("GPU AND CPU")
    names = {gpu.uuid: gpu.name for gpu in summary.target.gpus}
    if summary.gpu:
        rows = [
            (
                names.get(gpu.uuid, gpu.uuid),
                number(gpu.util_p50),
                number(gpu.util_min),
                number(gpu.memory_util_p50),
                share(gpu.busy_share),
                with_unit(gpu.period_ms, "ms"),
            )
            for gpu in summary.gpu
        ]
        page.table(("GPU", "% P50", "% min", "memory %", "busy", "period"), rows, left=("GPU",))
    else:
        page.pair("GPU", NOT_KNOWN)
    cpu = summary.cpu
    page.pair(
        "CPU",
        f"process {with_unit(cpu.process_p50, '% of a core')}, "
        f"machine {with_unit(cpu.system_p50, '%')}, quota used {share(cpu.quota_share)}, "
        f"waited for a core {with_unit(cpu.runqueue_ms, 'ms')}",
    )


def losses(page: Page, summary: Summary) -> None:
    """What did not arrive."""
    lost = summary.losses
    page.heading("LOSSES")
    page.pair("events", f"{whole(lost.events_dropped)} dropped")
    page.pair("malformed", whole(lost.events_malformed))
    page.pair("samples", f"{whole(lost.samples_missed)} missed")
    page.pair("log", f"{whole(lost.log_damaged)} damaged places skipped")
    for gap in lost.log_gaps:
        page.pair("not in the log", told(gap))
    if lost.records_unknown:
        page.pair("newer records", f"{whole(lost.records_unknown)} skipped; update mgtop to read")


def observer(page: Page, summary: Summary) -> None:
    """What mgtop itself cost."""
    cost = summary.observer
    page.heading("MGTOP ITSELF")
    page.pair("recorder", f"{with_unit(cost.cpu_percent, '% of a core')}")
    page.pair(
        "NVML",
        f"{with_unit(cost.nvml_calls_per_s, 'calls per second')}, "
        f"{with_unit(cost.nvml_ms_per_s, 'ms per second')}",
    )
    page.pair("probe", with_unit(cost.probe_us_per_frame, "µs per frame"))


def environment(page: Page, summary: Summary) -> None:
    """The machine and the versions, to stand in a bug report."""
    seen, target = summary.environment, summary.target
    page.heading("ENVIRONMENT")
    page.pair("system", f"{text_or(seen.os)}, kernel {text_or(seen.kernel)}")
    page.pair("CPU", f"{text_or(seen.cpu)}, {with_unit(seen.ram_mib, 'MiB RAM')}")
    for gpu in target.gpus:
        page.pair("GPU", f"{gpu.name}, {with_unit(gpu.total_mib, 'MiB')} ({gpu.uuid})")
    page.pair("driver", f"{text_or(seen.driver)}, CUDA {text_or(seen.cuda)}")
    page.pair("container", text_or(seen.container))
    page.pair("target", f"Python {text_or(target.python)}, torch {text_or(target.torch)}")
    page.pair("git", text_or(target.git))
    page.pair("mgtop", text_or(seen.mgtop))
