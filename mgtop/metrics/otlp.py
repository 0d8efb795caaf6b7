"""The same figures sent to an OpenTelemetry collector: OTLP over HTTP, by OpenTelemetry's exporter.

Names, labels and units are those of the endpoint; histograms are exponential ones.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from mgtop import __version__
from mgtop.metrics.families import Family, HistogramValue, Point

EVERY_S = 10.0
"""Where OpenTelemetry's OTEL_METRIC_EXPORT_INTERVAL (ms) says nothing else."""
TIMEOUT_S = 10.0
UNITS = {"": "1", "seconds": "s", "bytes": "By", "watts": "W", "celsius": "Cel", "hertz": "Hz"}
CUMULATIVE = AggregationTemporality.CUMULATIVE


def endpoint_of(text: str) -> str | None:
    """Where metrics go at a collector: ``/v1/metrics`` where no path is given; None: no URL."""
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    path = parts.path if parts.path not in ("", "/") else "/v1/metrics"
    return parts._replace(path=path).geturl()


class Sender:
    """Sends what was published last, again and again, from a thread of its own.

    A collector that does not answer is said once, and once more when it does.

    Args:
        endpoint: the URL of its metrics.
        said: takes a sentence for the person at the keyboard.
        every_s: how often; default: as OpenTelemetry's variable says.
    """

    def __init__(
        self, endpoint: str, said: Callable[[str], None], every_s: float | None = None
    ) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it is said here
        self._endpoint, self._said = endpoint, said
        self._every_s = _interval_s() if every_s is None else every_s
        self._exporter = OTLPMetricExporter(endpoint=endpoint, timeout=TIMEOUT_S)
        self._families: Sequence[Family] = ()
        self._failing = False
        self._over = threading.Event()
        self._begun_ns = time.time_ns()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def publish(self, families: Sequence[Family]) -> None:
        """What is sent next."""
        self._families = families

    def close(self) -> None:
        """Send the last figures, if the collector takes them at once."""
        self._over.set()
        self._thread.join(TIMEOUT_S)
        self._exporter.shutdown()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._send()
        if not self._failing:
            self._send()

    def _send(self) -> None:
        families = self._families
        if not families:
            return
        data = metrics_data(families, time.time_ns(), self._begun_ns)
        failed = self._exporter.export(data) is not MetricExportResult.SUCCESS
        if failed and not self._failing:
            self._said(
                f"{self._endpoint} takes no metrics; trying again every {self._every_s:g} s."
            )
        elif self._failing and not failed:
            self._said(f"{self._endpoint} takes metrics again.")
        self._failing = failed


def _interval_s() -> float:
    try:
        return max(0.1, int(os.environ["OTEL_METRIC_EXPORT_INTERVAL"]) / 1000)
    except (KeyError, ValueError):
        return EVERY_S


def metrics_data(families: Sequence[Family], now_ns: int, begun_ns: int) -> MetricsData:
    """The families as OpenTelemetry has them.

    Args:
        families: what was measured.
        now_ns: Unix time of it.
        begun_ns: Unix time from which counters of sessions count that do not tell their start.
    """
    starts = {
        point.labels: int(point.value * 1e9)
        for family in families
        if family.name == "mgtop_session_start_time_seconds"
        for point in family.points
        if isinstance(point.value, float)
    }

    def start_of(point: Point) -> int:
        return min(now_ns, starts.get(point.labels[:1], begun_ns))

    metrics = [_metric(family, now_ns, start_of) for family in families]
    resource = Resource({"service.name": "mgtop", "host.name": socket.gethostname()})
    scope = ScopeMetrics(InstrumentationScope("mgtop", __version__), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, now_ns: int, start_of: Callable[[Point], int]) -> Metric:
    data: Sum | Gauge | ExponentialHistogram
    if family.kind == "histogram":
        data = ExponentialHistogram(
            [_histogram(point, now_ns, start_of(point)) for point in family.points], CUMULATIVE
        )
    elif family.kind == "counter":
        points = [_number(point, now_ns, start_of(point)) for point in family.points]
        data = Sum(points, CUMULATIVE, is_monotonic=True)
    else:
        data = Gauge([_number(point, now_ns, 0) for point in family.points])
    return Metric(family.name, family.help, UNITS[family.unit], data)


def _number(point: Point, now_ns: int, start_ns: int) -> NumberDataPoint:
    assert isinstance(point.value, float)
    return NumberDataPoint(dict(point.labels), start_ns, now_ns, point.value)


def _histogram(point: Point, now_ns: int, start_ns: int) -> ExponentialHistogramDataPoint:
    value = point.value
    assert isinstance(value, HistogramValue)
    counts = dict(value.exponential)
    first = min(counts, default=1)
    dense = [counts.get(index, 0) for index in range(first, max(counts, default=0) + 1)]
    return ExponentialHistogramDataPoint(
        attributes=dict(point.labels),
        start_time_unix_nano=start_ns,
        time_unix_nano=now_ns,
        count=value.count,
        sum=value.total,
        scale=value.schema,
        zero_count=value.zeros,
        positive=Buckets(first - 1, dense),  # its bucket i begins at base^i, Prometheus' ends there
        negative=Buckets(0, []),
        flags=0,
        min=None,  # type: ignore[arg-type]  # not known, and the protocol lets it be
        max=None,  # type: ignore[arg-type]
    )
