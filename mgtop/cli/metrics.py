"""``mgtop metrics``: sessions of this machine for Prometheus and OpenTelemetry."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from mgtop.cli.errors import USAGE, UserError, say
from mgtop.cli.options import Address, SessionType, listen

DEFAULT = Address("127.0.0.1", 9642)
SHIPPED = {"dashboard": "grafana.json", "alerts": "alerts.yml"}


@click.command(
    "metrics",
    epilog="\b\nExamples:\n  mgtop metrics\n  mgtop metrics stormlight --listen :9000\n"
    "  mgtop metrics --otlp http://localhost:4318\n"
    "  mgtop metrics --print dashboard > mgtop.json    then import it in Grafana\n",
)
@click.argument("session", metavar="[SESSION]", type=SessionType(), required=False)
@listen(DEFAULT)
@click.option(
    "--otlp",
    metavar="ENDPOINT",
    help="Send to an OpenTelemetry collector too (OTLP over HTTP), as in http://localhost:4318.",
)
@click.option(
    "--print",
    "shipped",
    type=click.Choice(tuple(SHIPPED)),
    help="Print Grafana's dashboard (JSON) or alert rules for Prometheus (YAML), and end.",
)
def command(session: Path | None, listen: Address, otlp: str | None, shipped: str | None) -> None:
    """Offer live sessions to Prometheus.

    Without SESSION, all that are live now or later, with a screen or without; each stays for five
    minutes after its end. Reading them costs the recordings nothing. Offered to this machine
    alone, unless --listen says otherwise. Needs the extra `metrics`.
    """
    if shipped is not None:
        import mgtop.metrics

        folder = Path(mgtop.metrics.__file__).parent
        click.echo((folder / SHIPPED[shipped]).read_text("utf-8"), nl=False)
        return
    try:
        from mgtop.metrics.following import follow
        from mgtop.metrics.otlp import Sender, endpoint_of
        from mgtop.metrics.server import Endpoint
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "mgtop":
            raise
        raise UserError(
            "mgtop metrics needs prometheus-client and OpenTelemetry's exporter: "
            "pip install 'mgtop[metrics]'.",
            USAGE,
        ) from None
    from mgtop.report.loopback import is_loopback

    collector = None if otlp is None else endpoint_of(otlp)
    if otlp is not None and collector is None:
        raise UserError(f"--otlp {otlp}: name a collector as http://HOST:4318.", USAGE)
    listener = listen.bind()
    host, port = listener.getsockname()[:2]
    here = is_loopback(host)
    if not here:
        say(
            f"warning: whoever reaches {Address(host, port)} can read these figures and the names "
            "of sessions: no password."
        )
    endpoint = Endpoint(listener, only_here=here)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # how services are ended
    publish = [endpoint.publish]
    with ExitStack() as open_ones:
        open_ones.callback(endpoint.close)
        if collector is not None:
            sender = Sender(collector, said=say)
            open_ones.callback(sender.close)
            publish.append(sender.publish)
        endpoint.start()
        click.echo(f"Metrics are at http://{Address(host, port)}/metrics   Ctrl-C ends that.")
        sys.stdout.flush()
        follow(session, publish)
