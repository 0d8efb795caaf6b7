"""mgtop: why did that frame come late? A live monitor for streaming frame generators."""

from mgtop.probe.version import VERSION as __version__

__all__ = ["__version__"]
