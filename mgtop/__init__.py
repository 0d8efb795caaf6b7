"""mgtop: why did that frame come late? A live monitor for streaming frame generators.

``mgtop.open(session)`` gives a session to Python (docs/python-api.md).
"""

TYPE_CHECKING = False  # typing's own costs the import of typing

if TYPE_CHECKING:
    from mgtop.api import open_session as open  # noqa: A004  mgtop.open, as gzip.open

__version__: str

__all__ = ["__version__", "open"]


def __getattr__(name: str) -> object:
    # Importing this package must stay light: the probe is in it, and every command.
    if name == "__version__":
        from mgtop.probe.version import VERSION

        return VERSION
    if name == "open":
        from mgtop.api import open_session

        return open_session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
