"""A picture of several sessions' intervals in one frame, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.report.page import cut

MARKERS = "ABCDEF"
_HEIGHT = 14


def draw(quantiles: Sequence[Sequence[float]], width: int, height: int = _HEIGHT) -> list[str]:
    """Frame time (ms) over the share of frames that are no slower, a letter per session.

    Args:
        quantiles: of each session its frame times at 1 %, 2 %, … 99 %; empty: none are known.
        width: of the lines.
        height: of the picture.
    """
    known = [(n, values) for n, values in enumerate(quantiles[: len(MARKERS)]) if values]
    if not known:
        return []
    from plotext import figure

    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width - 2, height)
    for n, values in known:
        places = [float(percent) for percent in range(1, len(values) + 1)]
        figure.draw(figure.signal(places, list(values), marker=MARKERS[n]))
    bottom, top = _limits([value for _, values in known for value in values])
    figure.ruler("y").lim(bottom, top)
    figure.ruler("x").lim(0, 100)
    marks = [bottom, (bottom + top) / 2, top]
    digits = 0 if top - bottom >= 20 else 1 if top - bottom >= 2 else 2
    figure.ruler("y").ticks(marks, [f"{value:.{digits}f}" for value in marks])
    figure.ruler("x").ticks([0, 25, 50, 75, 95, 100], ["0", "25", "50", "75", "95", "100"])
    text = figure.build().string(colorless=True)
    figure.clear()
    about = "ms a frame, over the percent of frames that are no slower (to 99 %)"
    return ["", cut(f"  {about}", width)] + [
        "  " + line.rstrip() for line in text.splitlines() if line.strip()
    ]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """From 0 where that costs no more than half of the height; at least 5 % apart."""
    low, high = min(values), max(values)
    spread = max(high - low, 0.05 * high, 1e-3)
    top = high + 0.1 * spread
    return (0.0 if low < top / 2 else low - 0.1 * spread), top
