"""Sends the terminal only the cells that changed, instead of the regions that Textual redraws.

:func:`driver_class` tells which driver to use: :class:`~mgtop.view.celldiff.driver.CellDiffDriver`
where it is known to fit, Textual's own otherwise. ``MGTOP_CELLDIFF=off`` switches it off.
"""

from mgtop.view.celldiff.choice import Asking, Repainting, driver_class

__all__ = ["Asking", "Repainting", "driver_class"]
