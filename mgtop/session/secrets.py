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
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]+(?=@)")


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
    """A text with known kinds of tokens, and logins in URLs, replaced by ``***``."""
    return _LOGIN_IN_URL.sub(MASK, _KNOWN_TOKEN.sub(MASK, text))


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
