"""mgtop: why did that frame come late? A live monitor for streaming frame generators."""

__version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # The version belongs to the probe's package; importing that would cost every start 20 ms.
    if name == "__version__":
        from mgtop.probe.version import VERSION

        return VERSION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
