"""The endpoint beside recordings that run, scraped by Prometheus itself, and sent by OTLP."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from mgtop.metrics.names import METRICS
from tests.metrics.metrics_fleet import Place, Prometheus, Receiver, get, wait_for

pytestmark = pytest.mark.e2e

SHIPPED = Path(__file__).parents[2] / "mgtop" / "metrics"
UNSEEN = {
    "mgtop_frames_to_memory_limit",
    "mgtop_gpu_power_watts",
    "mgtop_gpu_temperature_celsius",
    "mgtop_gpu_clock_hertz",
}
"""What neither of the sessions has; tests/metrics/test_metrics_counters.py."""
REAL = '{session=~".*-real"}'


class Setting:
    """Everything at once: it takes seconds to have something to ask for."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.place = stack.enter_context(closing(Place(folder)))
        self.place.record()
        self.place.make_up()
        self.receiver = stack.enter_context(closing(Receiver()))
        self.address = self.place.metrics("--otlp", self.receiver.url)
        native = "--enable-feature=native-histograms"
        self.servers = [
            stack.enter_context(closing(Prometheus(folder / name, self.address, *flags)))
            for name, flags in (("text", ()), ("native", (native,)))
        ]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    with ExitStack() as stack:
        yield Setting(tmp_path_factory.mktemp("fleet"), stack)


def expressions() -> dict[str, str]:
    """Every expression of the dashboard, as Grafana would ask for it."""
    dashboard = json.loads((SHIPPED / "grafana.json").read_text("utf-8"))
    found = {}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "8s").replace("$session", ".*")
            assert "$" not in text
            found[f"{panel['title']} {target['refId']}"] = text
    return found


def test_every_expression_of_the_dashboard_finds_something(setting: Setting) -> None:
    asked = expressions()
    assert len(asked) > 20
    for server in setting.servers:
        for name, text in asked.items():
            wait_for(lambda text=text, server=server: server.ask(text), f"{name}: {text}")


def test_every_metric_is_scraped(setting: Setting) -> None:
    for server in setting.servers:
        for name, about in METRICS.items():
            if name in UNSEEN:
                continue
            classic = about.kind == "histogram" and server is setting.servers[0]
            text = f"{name}_count" if classic else name
            wait_for(lambda text=text, server=server: server.ask(text), text)
        [up] = server.ask('up{job="mgtop"}')
        assert up["value"][1] == "1"


def test_late_frames_of_a_running_program_are_counted(setting: Setting) -> None:
    text = f"sum(mgtop_late_frames_total{REAL})"
    server = setting.servers[0]
    first = wait_for(lambda: value(server.ask(f"{text} > 0")))
    assert wait_for(lambda: value(server.ask(f"{text} > {first}"))) > first
    assert server.ask(f"sum by (session, cause) (mgtop_late_frames_total{REAL})")


def test_native_and_classic_histograms_agree(setting: Setting) -> None:
    text, native = setting.servers
    selector = '{session=~".*made-up"}'
    classic = f"histogram_quantile(0.5, sum by (le) (mgtop_interval_seconds_bucket{selector}))"
    fine = f"histogram_quantile(0.5, sum(mgtop_interval_seconds{selector}))"
    rough = wait_for(lambda: value(text.ask(classic)))
    exact = wait_for(lambda: value(native.ask(fine)))
    assert 0.05 < rough < 0.065  # the bucket that 16 frames a second are in
    assert exact == pytest.approx(1 / 16, rel=0.1)
    assert not native.ask(f"mgtop_interval_seconds_bucket{selector}")


def value(vector: list[dict[str, Any]]) -> float | None:
    found = [float(point["value"][1]) for point in vector]
    return found[0] if found and math.isfinite(found[0]) else None


def test_a_collector_gets_the_same(setting: Setting) -> None:
    def told() -> dict[str, Any]:
        if not setting.receiver.requests:
            return {}
        [resource] = setting.receiver.requests[-1].resource_metrics
        [scope] = resource.scope_metrics
        names = {metric.name: metric for metric in scope.metrics}
        return names if "mgtop_late_frames_total" in names else {}

    metrics = wait_for(told)
    assert set(metrics) <= set(METRICS)
    assert len(metrics) > 20
    frames = metrics["mgtop_frames_total"]
    assert frames.sum.is_monotonic
    made_up = [p for p in frames.sum.data_points if "made-up" in p.attributes[0].value.string_value]
    assert 0 < made_up[0].start_time_unix_nano < made_up[0].time_unix_nano
    intervals = metrics["mgtop_interval_seconds"]
    assert intervals.unit == "s"
    for point in intervals.exponential_histogram.data_points:
        assert point.count == sum(point.positive.bucket_counts) + point.zero_count
        if "made-up" not in point.attributes[0].value.string_value:
            continue
        base, middle, seen = 2**2**-point.scale, point.count / 2, 0
        for place, count in enumerate(point.positive.bucket_counts, point.positive.offset):
            seen += count
            if seen >= middle:
                assert base**place / 1.1 < 1 / 16 < base ** (place + 1) * 1.1
                break


def test_the_last_values_of_an_ended_session_are_the_report_s(setting: Setting) -> None:
    setting.place.run("stop", "real", "--target")
    server = setting.servers[0]
    wait_for(lambda: server.ask(f"mgtop_session_live{REAL} == 0"))
    report = json.loads(setting.place.run("report", "real", "--json"))
    made = sum(request["frames"] for request in report["requests"])
    wait_for(lambda: server.ask(f"mgtop_frames_total{REAL} == {made}"), made)
    wait_for(lambda: server.ask(f"mgtop_requests_total{REAL} == {len(report['requests'])}"))
    assert not server.ask(f"mgtop_frame_age_seconds{REAL}")
    counted = value(server.ask(f"sum(mgtop_late_frames_total{REAL})"))
    # Late ones of the first request count here: it became warm-up once the second had begun.
    tails = report["tails"]
    assert 0 <= (counted or 0) - tails["count"] <= tails["warmup"]


def test_the_endpoint_answers_scrapers_and_no_strangers(setting: Setting) -> None:
    url = f"http://{setting.address}"
    assert b"mgtop_up 1.0" in get(f"{url}/metrics")
    assert get(f"{url}/metrics", Accept="application/openmetrics-text").endswith(b"# EOF\n")
    assert b"/metrics" in get(url)
    for path, host, code in (("/nothing", "localhost", 404), ("/metrics", "evil.example", 403)):
        with pytest.raises(OSError, match=str(code)):
            get(url + path, Host=host)


def test_rules_are_what_promtool_takes(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (apt-get install prometheus)")
    cases = Path(__file__).parent / "alerts_test.yml"
    shutil.copy(SHIPPED / "alerts.yml", tmp_path)
    shutil.copy(cases, tmp_path)
    for words in (("check", "rules", "alerts.yml"), ("test", "rules", cases.name)):
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_names_every_metric_and_its_queries_run(setting: Setting) -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
    for name, about in METRICS.items():
        labels = ", ".join(f"`{label}`" for label in about.labels)
        assert f"| `{name}` | {about.kind} | {labels} | {about.help} |" in page
    [queries] = re.findall(r"```promql\n(.*?)```", page, re.S)
    for query in re.split(r"^#.*\n", queries, flags=re.M)[1:]:
        wait_for(lambda query=query: setting.servers[0].ask(query.replace("5m", "30s")), query)
    [config] = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert yaml.safe_load(config)["scrape_configs"][0]["job_name"] == "mgtop"


def test_what_is_shipped_is_printed(setting: Setting) -> None:
    assert json.loads(setting.place.run("metrics", "--print", "dashboard"))["uid"] == "mgtop"
    assert "groups:" in setting.place.run("metrics", "--print", "alerts")


def test_a_service_is_ended_in_order(setting: Setting, tmp_path: Path) -> None:
    """What was measured last is sent, nothing is left behind, and it is no failure."""
    packed = tmp_path / "real.mgtop.zip"
    setting.place.run("pack", "real", "-o", str(packed))
    setting.place.environment["TMPDIR"] = str(tmp_path)
    before = len(setting.receiver.requests)
    setting.place.metrics(str(packed), "--otlp", setting.receiver.url)
    process = setting.place.processes[-1]
    wait_for(lambda: len(setting.receiver.requests) > before)
    process.terminate()
    assert process.wait(60) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [packed.name]
