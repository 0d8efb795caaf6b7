"""GPU, CPU, cost and loss over the session."""

from __future__ import annotations

import pytest
from tail_bench import MIB, MS, PROC, START, Bench

from mgtop.analysis.channels import Channels
from mgtop.analysis.resources import cpu_summary, gpu_summaries, losses, observer_summary
from mgtop.analysis.summary import CpuSummary, Losses, ObserverSummary
from mgtop.wire import records as r

S = 1_000 * MS


def fed(*records: r.AnyRecord) -> Channels:
    channels = Channels()
    for record in records:
        channels.feed(record)
    return channels


def device(gpu: int, uuid: str) -> r.GpuDevice:
    return r.GpuDevice(START, gpu, uuid, "T", 1_000 * MIB)


class TestGpu:
    def test_nothing_read(self) -> None:
        assert gpu_summaries(Channels()) == []

    def test_a_card_without_utilisation_has_nulls(self) -> None:
        (found,) = gpu_summaries(fed(device(0, "GPU-a")))
        assert found.uuid == "GPU-a"
        assert (found.util_p50, found.util_min, found.busy_share, found.period_ms) == (None,) * 4

    def test_percentiles_over_time_and_the_busy_share(self) -> None:
        readings = [
            r.GpuUtilisation(START + k * 200 * MS, 0, percent, percent / 2, 200 * MS, "gpm")
            for k, percent in enumerate([0, 100, 80, 60, 40, 20])
        ]
        (found,) = gpu_summaries(fed(device(0, "GPU-a"), *readings))
        # The first reading speaks of a time before the session.
        assert found.util_p50 == 60
        assert found.util_min == 20
        assert found.busy_share == pytest.approx(0.6)
        assert found.memory_util_p50 == 30
        assert found.period_ms == 200

    def test_a_polled_value_counts_for_as_long_as_it_held(self) -> None:
        at = [(0, 90), (800, 10), (1_000, 50)]
        readings = [
            r.GpuUtilisation(START + ms * MS, 0, percent, None, 200 * MS, "poll")
            for ms, percent in at
        ]
        (found,) = gpu_summaries(fed(*readings))
        assert found.uuid == "GPU 0"
        assert found.util_p50 == 90
        assert found.busy_share == pytest.approx((0.9 * 800 + 0.1 * 200) / 1_000)

    def test_the_finest_source_speaks_and_memory_is_taken_where_it_is_told(self) -> None:
        records: list[r.AnyRecord] = []
        for k in range(5):
            t_ns = START + k * 200 * MS
            records.append(r.GpuUtilisation(t_ns, 0, 70, None, 200 * MS, "ring"))
            records.append(r.GpuUtilisation(t_ns, 0, 10, 33, 200 * MS, "poll"))
        (found,) = gpu_summaries(fed(*records))
        assert (found.util_p50, found.memory_util_p50) == (70, 33)

    def test_only_time_with_a_request_running_counts(self) -> None:
        bench = Bench()

        def second(percent: float) -> None:
            for _ in range(5):
                bench.sleep(200)
                bench.add(r.GpuUtilisation(bench.now, 0, percent, None, 200 * MS, "gpm"))

        bench.event(r.RequestReceived, 1, "a", {}, 0)
        second(80)
        bench.event(r.StreamEnd, 1, None)
        second(0)
        second(0)
        (found,) = gpu_summaries(bench.channels())
        assert found.busy_share == pytest.approx(0.8)

    def test_cards_come_in_order(self) -> None:
        found = gpu_summaries(fed(device(1, "b"), device(0, "a")))
        assert [gpu.uuid for gpu in found] == ["a", "b"]


class TestCpu:
    def test_nothing_read(self) -> None:
        assert cpu_summary(Channels()) == CpuSummary()

    def test_medians_and_the_share_of_a_quota(self) -> None:
        records = [
            r.HostCpu(START + k * 100 * MS, 4, k * 200 * MS, k * 200 * MS, k * 150 * MS, 1, 1, 2.0)
            for k in range(5)
        ]
        found = cpu_summary(fed(*records))
        assert found.process_p50 == pytest.approx(150)
        assert found.system_p50 == pytest.approx(50)
        assert found.quota_share == pytest.approx(0.75)
        assert found.runqueue_ms is None

    def test_counters_that_run_backwards_are_left_out(self) -> None:
        records = [
            r.HostCpu(START, 4, 500 * MS, 500 * MS, 500 * MS, 1, 1),
            r.HostCpu(START + 100 * MS, 4, 0, 0, 0, 1, 1),
        ]
        assert cpu_summary(fed(*records)) == CpuSummary()

    def test_what_emitting_threads_waited_for_a_core(self) -> None:
        bench = Bench()
        bench.frames(3)
        bench.frame(before=lambda: bench.wait_for_core(30))
        bench.frame(before=lambda: bench.wait_for_core(20))
        assert cpu_summary(bench.channels()).runqueue_ms == pytest.approx(50)
        untold = Bench(schedstat=False)
        untold.frames(3)
        assert cpu_summary(untold.channels()).runqueue_ms is None


class TestCost:
    def test_nothing_read(self) -> None:
        assert observer_summary(Channels()) == ObserverSummary()

    def test_rates_between_the_first_account_and_the_last(self) -> None:
        bench = Bench()
        bench.frames(10)
        bench.event(r.Pulse, 0, 200_000, 40)
        bench.add(r.Observer(START, 5 * MS, None, 100, 1 * MS))
        bench.add(r.Observer(START + 2 * S, 25 * MS, None, 500, 13 * MS))
        found = observer_summary(bench.channels())
        assert found.cpu_percent == pytest.approx(1.0)
        assert found.nvml_ms_per_s == pytest.approx(6.0)
        assert found.nvml_calls_per_s == pytest.approx(200)
        assert found.probe_us_per_frame == pytest.approx(20.0)
        assert found.terminal_bytes_per_s is None

    def test_without_nvml_its_cost_is_not_known(self) -> None:
        found = observer_summary(fed(r.Observer(START, 0), r.Observer(START + S, 10 * MS)))
        assert found.cpu_percent == pytest.approx(1.0)
        assert found.nvml_ms_per_s is None
        assert observer_summary(fed(r.Observer(START, 0))).cpu_percent is None


class TestLosses:
    def test_nothing_lost(self) -> None:
        assert losses(Channels()) == Losses()

    def test_a_drop_is_counted_once_though_told_twice(self) -> None:
        found = losses(
            fed(
                r.Pulse(START, 1, PROC, 1, 7, 0, 0),
                r.Loss(START, PROC, 5, 1),
                r.Loss(START, 0, 0, 2),
                r.Loss(START + S, PROC + 1, 3, 0),
                r.Observer(START, 0, samples_missed=4),
            )
        )
        assert found == Losses(events_dropped=10, events_malformed=3, samples_missed=4)
