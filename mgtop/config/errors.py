"""What is wrong with a configuration, and where."""

from __future__ import annotations


class ConfigError(Exception):
    """The configuration is wrong; ``str()`` is one sentence with file, line and key.

    Attributes:
        path: the file, or ``--set`` for an override.
        line: from 1; None where there is none.
        key: the offending key, dotted; None where the file as a whole is wrong.
    """

    def __init__(
        self, message: str, path: str, line: int | None = None, key: str | None = None
    ) -> None:
        self.message, self.path, self.line, self.key = message, path, line, key
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {key}: {message}" if key else f"{where}: {message}")
