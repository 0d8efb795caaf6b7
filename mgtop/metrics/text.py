"""Prometheus' and OpenMetrics' text, by prometheus_client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from mgtop.metrics.families import Family, HistogramValue


class _Fixed(Collector):
    """Families that are there already."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return map(_metric, self._families)


def encode(families: Sequence[Family], accept: str) -> tuple[bytes, str]:
    """The text and its content type, as a scraper's ``Accept`` header asks for."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(families))
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type


def _metric(family: Family) -> Metric:
    names = [name for name, _ in family.points[0].labels] if family.points else []
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.help, labels=names)
        for point in family.points:
            assert isinstance(point.value, HistogramValue)
            buckets = _cumulative(point.value)
            histogram.add_metric([v for _, v in point.labels], buckets, point.value.total)
        return histogram
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(family.name, family.help, labels=names)
    for point in family.points:
        assert isinstance(point.value, float)
        metric.add_metric([value for _, value in point.labels], point.value)
    return metric


def _cumulative(value: HistogramValue) -> list[tuple[str, float]]:
    bounds: Iterable[str] = (*(repr(bound) for bound in value.bounds), "+Inf")
    return list(zip(bounds, map(float, accumulate(value.counts)), strict=True))
