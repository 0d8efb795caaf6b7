"""Keeping secrets out of what a session folder holds.

Masking is by likelihood, by the look of a name or of a value (docs/session-log.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MASK = "***"

_NAME = re.compile(
    r"(?:^|[_\-. ])"
    r"(?:tokens?|secrets?|pass|passw(?:or)?d|passphrase|pwd|keys?|api_?keys?|credentials?|creds"
    r"|auth|authorization|cookies?|bearer|dsn)"
    r"(?:[_\-.](?:id|value|b64|base64|json|\d+))?$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_SECRET = re.compile(
    # numbers of tokens, keys of other kinds
    r"(?:^|[_\-.])(?:max|min|num|n|new|total|context|image|text|frame|special|pad|eos|bos"
    r"|foreign|primary|sort|group|hot|public)[_\-.](?:[a-z]+[_\-.])?(?:tokens?|keys?)(?:[_\-.]id)?$",
    re.IGNORECASE,
)
_KNOWN_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:hf_|sk-|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox[abprs]-|nvapi-|r8_|pypi-|AIza|ya29\.)"
    r"[A-Za-z0-9_\-.]{12,}"
    r"|AKIA[A-Z0-9]{12,}"
    r"|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"
    r")"
)
_REFERENCE = re.compile(r"\{[^{}]*\}$")
"""``{api_key}``: the parameter of that name is masked, not what refers to it."""
_SIGNATURES = {"sig", "signature", "x-amz-signature", "x-amz-credential", "x-goog-signature"}
"""What a signed URL is opened by."""
_SPOKEN = re.compile(
    r"(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|credentials?|access[_-]?key|private[_-]?key)s?$",
    re.IGNORECASE,
)
"""Names whose values are masked in a sentence, too (``password: x``); ``key: x`` says little."""
_PLAIN = re.compile(r"[\d.,:+-]*|true|false|none|null|yes|no|\$.*", re.IGNORECASE)
"""Values that are no secret whatever their name."""
_LOGIN_IN_URL = re.compile(r"(?<=://)(?P<value>[^/@\s]*:[^/\s]+|[^/@:\s]{20,})(?=@)")
_HEADER = re.compile(
    r"\b(?:authorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]+\s+)?|bearer\s+(?=\S{8}))"
    r"(?P<value>[^\s\"',;]+)",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"\bcookie[\"']?\s*:\s*(?P<value>[^\"'\n]+)", re.IGNORECASE)
_QUERY = re.compile(r"[?&;](?P<name>[\w.%-]+)=(?P<value>[^&\s#\"'<>]+)")
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z][\w.-]*)[\"']?\s?=(?!=)\s?[\"']?(?P<value>[^\s\"',;&]+)")
_OPTION = re.compile(r"(?P<name>--[A-Za-z][\w-]*)\s+(?P<value>[^\s-]\S*)")
_SAID = re.compile(r"(?P<name>[A-Za-z][\w.-]*)[\"']?:\s*[\"']?(?P<value>[^\s\"',;&]{4,})")


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is likely a secret (``HF_TOKEN``, ``--api-key``)."""
    words = _CAMEL.sub("_", name)
    return bool(_NAME.search(words)) and not _NO_SECRET.search(words) and name != "PWD"


def mask(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with the values of secrets replaced by ``***``, at any depth.

    Numbers, truth values and None under the name of a secret stay: ``max_token: 5`` is none.
    """
    return {name: _mask_value(value, is_secret_name(str(name))) for name, value in values.items()}


def mask_text(text: str) -> str:
    """A text with what :func:`secret_spans` finds in it replaced by ``***``."""
    for begin, end in reversed(secret_spans(text)):
        text = text[:begin] + MASK + text[end:]
    return text


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where in a text secrets stand, in order.

    Known kinds of tokens; logins, signatures and secret parameters in URLs; headers
    (``Authorization: Bearer …``); ``NAME=value``, ``--name value`` and ``password: value``.
    """
    if not text:
        return []
    found = [match.span() for match in _KNOWN_TOKEN.finditer(text)]
    if "@" in text:
        found += [match.span("value") for match in _LOGIN_IN_URL.finditer(text)]
    for pattern in (_HEADER, _COOKIE):
        found += [match.span("value") for match in pattern.finditer(text)]
    for pattern, is_secret in (
        (_QUERY, _is_parameter),
        (_ASSIGNED, _is_assigned),
        (_OPTION, is_secret_name),
        (_SAID, _is_spoken),
    ):
        found += [
            match.span("value")
            for match in pattern.finditer(text)
            if is_secret(match["name"]) and not _is_plain(match["value"])
        ]
    spans: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans


def _is_parameter(name: str) -> bool:
    return name.lower() in _SIGNATURES or is_secret_name(name)


def _is_assigned(name: str) -> bool:
    return is_secret_name(name) and not name.lower().endswith("authorization")  # a header


def _is_spoken(name: str) -> bool:
    return bool(_SPOKEN.search(name)) and is_secret_name(name)


def _is_plain(value: str) -> bool:
    return bool(_PLAIN.fullmatch(value) or _REFERENCE.match(value)) or set(value) == {"*"}


def mask_command(words: Sequence[str]) -> list[str]:
    """A command line with the values of secret options masked (``--token X``, ``token=X``)."""
    masked: list[str] = []
    hide = False
    for word in words:
        name, equals, value = word.partition("=")
        if hide and not word.startswith("-"):
            masked.append(_hide(word))
        elif equals and is_secret_name(name):
            masked.append(f"{name}={_hide(value)}")
        else:
            masked.append(mask_text(word))
        hide = word.startswith("-") and not equals and is_secret_name(word)
    return masked


def _mask_value(value: Any, secret: bool) -> Any:
    if isinstance(value, Mapping):
        return {k: _mask_value(v, secret or is_secret_name(str(k))) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = list(value)
        if not secret and all(isinstance(item, str) for item in items):
            return mask_command(items)
        return [_mask_value(item, secret) for item in items]
    if not isinstance(value, str):
        return value
    return _hide(value) if secret else mask_text(value)


def _hide(value: str) -> str:
    return value if not value or _REFERENCE.match(value) else MASK
