"""Keeping secrets out of what is written: values are masked by the look of their name.

Masking is by likelihood; ``docs/sessions.md`` says what is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MASK = "***"

_NAME = re.compile(
    r"(?:^|[_\-.])(?:tokens?|secrets?|passw(?:or)?d|passphrase|key|apikey|credentials?|auth)$",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"^(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|eyJ)[A-Za-z0-9_\-.]{12,}$"
)
_COUNTS = re.compile(r"(?:max|min|num|n|new|total)[_\-.](?:new[_\-.])?tokens?$", re.IGNORECASE)
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)")


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is likely a secret (``HF_TOKEN``, ``--api-key``)."""
    return bool(_NAME.search(name)) and not _COUNTS.search(name)


def mask_mapping(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables with the values of secrets masked."""
    return {
        name: MASK if is_secret_name(name) else mask_word(value) for name, value in values.items()
    }


def mask_command(words: Sequence[str]) -> list[str]:
    """A command line with the values of secret options masked."""
    masked: list[str] = []
    hide_next = False
    for word in words:
        name, equals, _value = word.partition("=")
        if hide_next and not word.startswith("-"):
            masked.append(MASK)
        elif equals and is_secret_name(name):
            masked.append(f"{name}={MASK}")
        else:
            masked.append(mask_word(word))
        hide_next = word.startswith("-") and not equals and is_secret_name(word)
    return masked


def mask_word(word: str) -> str:
    """A word with what looks like a token or a login in a URL masked."""
    return MASK if _VALUE.match(word) else _LOGIN_IN_URL.sub(MASK, word)
