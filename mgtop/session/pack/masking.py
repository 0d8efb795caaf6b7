"""Takes out of a session's texts what tells who and where its owner is.

A mask is as long as what it hides, so that places in the program's output stay where the log says
they are. Masking is by likelihood, as in :mod:`mgtop.session.secrets`.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from mgtop.session.secrets import is_secret_name, secret_spans

_HOME = re.compile(r"(?<![\w/.-])(/(?:home|Users|data/home|mnt/home)/)([^/\s'\":;,<>()=]+)")
_ASSIGNED = re.compile(
    r"(?P<name>[A-Za-z][\w.-]*)(?P<sign>[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"',;&]+)"
)
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w-]*)(?P<sign>\s+)(?P<value>[^\s-][^\s]*)")
_COMMON = {"root", "user", "admin", "ubuntu", "nobody", "localhost", "host", "python", "home"}
"""Names that tell nothing, and words that a program's output is full of."""
KINDS = {
    "token": "tokens, passwords, keys and logins",
    "environment": "values of environment variables",
    "home": "names in home folders",
    "user": "user names",
    "host": "host names",
    "text": "texts of the program and of people",
}
"""What is masked, as it is listed."""


def own_names() -> tuple[set[str], set[str]]:
    """User and host names of this machine."""
    users = {os.path.basename(os.path.expanduser("~"))}
    with contextlib.suppress(KeyError, OSError):  # a user without a name, as in containers
        users.add(getpass.getuser())
    host = socket.gethostname()
    return users, {host, host.partition(".")[0]}


class Masker:
    """Masks texts; ``counts`` tells how often of each of :data:`KINDS`.

    Args:
        users, hosts: names to hide wherever they stand as words of their own.
        strict: also hide what the program and people wrote (:meth:`words`).
    """

    def __init__(self, users: Iterable[str], hosts: Iterable[str], strict: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.strict = strict
        self._users = {name for name in users if _tells(name)}
        self._hosts = {name for name in hosts if _tells(name)}

    def learn(self, text: str) -> None:
        """Take names out of home folders that a text mentions: they stand elsewhere, too."""
        for match in _HOME.finditer(text):
            if _tells(match[2]):
                self._users.add(match[2])

    def names(self) -> set[str]:
        """Everything that must not be left."""
        return self._users | self._hosts

    def text(self, text: str) -> str:
        """A text with secrets, home folders, user and host names hidden."""
        if not text:
            return text
        for begin, end in reversed(secret_spans(text)):
            text = text[:begin] + self._hidden("token", text[begin:end]) + text[end:]
        for pattern in (_ASSIGNED, _OPTION):
            text = pattern.sub(self._assigned, text)
        text = _HOME.sub(lambda m: m[1] + self._hidden("home", m[2]), text)
        for kind, names in (("user", self._users), ("host", self._hosts)):
            for name in names:
                if name in text:
                    word = rf"(?<!\w){re.escape(name)}(?!\w)"
                    text = re.sub(word, partial(self._found, kind), text)
        return text

    def words(self, text: str) -> str:
        """What a program or a person wrote: as :meth:`text`, and hidden whole if strict."""
        return self._hidden("text", text) if self.strict and text else self.text(text)

    def value(self, value: Any, name: str = "") -> Any:
        """Plain data, at any depth."""
        if isinstance(value, str):
            return self._hidden("token", value) if is_secret_name(name) else self.text(value)
        if isinstance(value, dict):
            return {self.text(str(k)): self.value(v, str(k)) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [
                self.value(item, _option_before(value, at) or name) for at, item in enumerate(value)
            ]
        return value

    def environment(self, values: dict[str, Any]) -> dict[str, Any]:
        """Names stay, values do not."""
        return {name: self._hidden("environment", str(value)) for name, value in values.items()}

    def record(self, record: msgspec.Struct, written: frozenset[str]) -> msgspec.Struct:
        """A record with its texts masked; ``written``: fields that somebody wrote."""
        changes: dict[str, Any] = {}
        for field in record.__struct_fields__:
            value = getattr(record, field)
            if isinstance(value, str):
                masked: Any = self.words(value) if field in written else self.text(value)
            elif isinstance(value, (dict, list)):
                masked = self.value(value)
            else:
                continue
            if masked != value:
                changes[field] = masked
        return msgspec.structs.replace(record, **changes) if changes else record

    # --------------------------------------------------------------------------- inside

    def _hidden(self, kind: str, text: str) -> str:
        if set(text) <= {"*"}:
            return text
        self.counts[kind] += 1
        return "*" * len(text.encode("utf-8", "surrogateescape"))

    def _found(self, kind: str, match: re.Match[str]) -> str:
        return self._hidden(kind, match[0])

    def _assigned(self, match: re.Match[str]) -> str:
        if not is_secret_name(match["name"].lstrip("-")):
            return match[0]
        return match["name"] + match["sign"] + self._hidden("token", match["value"])


def _option_before(words: Sequence[Any], at: int) -> str:
    """The option whose value a word of a command line is; empty: of none."""
    before = words[at - 1] if at else None
    is_option = isinstance(before, str) and before.startswith("-") and "=" not in before
    return str(before) if is_option and not str(words[at]).startswith("-") else ""


def _tells(name: str) -> bool:
    return len(name) >= 3 and name.lower() not in _COMMON
