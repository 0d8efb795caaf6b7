"""Numbers into rows of text: bars over a time axis. Knows no terminal and nothing of mgtop.

A drawing is a list of rows, each a list of :class:`Run`: text of one *band*. A band is a
name ("bar", "tail", …) that whoever draws turns into a colour. Neighbouring cells of one
band are one run, since each run costs a terminal some twenty bytes.
"""

from mgtop.charts.axis import axis_row, steps, window_end
from mgtop.charts.bars import ASCII, BLOCKS, HALVES, Bars, Glyphs, Run, draw, text_row
from mgtop.charts.scale import round_up

__all__ = [
    "ASCII",
    "BLOCKS",
    "HALVES",
    "Bars",
    "Glyphs",
    "Run",
    "axis_row",
    "draw",
    "round_up",
    "steps",
    "text_row",
    "window_end",
]
