"""The values of one moment, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.analysis.live import LiveView
from mgtop.charts import Run
from mgtop.charts.axis import clock
from mgtop.view.figures import NOT_KNOWN, gib, ms, percent
from mgtop.view.panels import own_gpu
from mgtop.view.text_rows import Piece, line


def cursor_row(view: LiveView, column: int, t_ns: int, width: int) -> list[Run]:
    """What the charts show in one column: the largest value in it, n/a where there is none."""
    gpu = own_gpu(view)

    def at(key: str) -> float | None:
        return _value(view, key, column)

    process = at("cpu_process")
    share = process / view.cores if process is not None and view.cores else None
    figures = (
        ("interval", _ms(at("interval"))),
        ("slack", _ms(at("slack"))),
        ("GPU memory", gib(at(f"vram:{gpu}"))),
        ("GPU", percent(at(f"gpu:{gpu}"))),
        ("CPU target", percent(share)),
        ("all", percent(at("cpu_system"))),
    )
    return _row(view, t_ns, figures, width)


def memory_cursor_row(view: LiveView, column: int, t_ns: int, width: int) -> list[Run]:
    """Of the memory screen's curves."""
    gpu = view.memory_gpu if view.memory_gpu is not None else own_gpu(view)
    named = (
        ("process", f"vram_process:{gpu}"),
        ("device", f"vram:{gpu}"),
        ("allocated", f"torch_allocated:{gpu}"),
        ("reserved", f"torch_reserved:{gpu}"),
        ("RAM", "host_rss"),
    )
    figures = [(name, gib(_value(view, key, column))) for name, key in named]
    return _row(view, t_ns, figures, width)


def _ms(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{ms(value)} ms"


def _value(view: LiveView, key: str, column: int) -> float | None:
    series = view.series.get(key)
    if series is None or not column < len(series.high):
        return None
    return series.high[column]


def _row(view: LiveView, t_ns: int, figures: Sequence[tuple[str, str]], width: int) -> list[Run]:
    pieces: list[Piece] = [(f" ▏at {clock(t_ns - view.start_ns, fine=True)}", "mark")]
    for name, value in figures:
        pieces += [(f"  {name} ", "dim"), (value, "strong")]
    return line(width, pieces)
