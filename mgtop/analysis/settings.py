"""How to judge a session: the settings that its log carries."""

from __future__ import annotations

import msgspec

from mgtop.config.structs import AnalysisSettings
from mgtop.wire.records import SessionStart


def settings_of(record: SessionStart, default: AnalysisSettings) -> AnalysisSettings:
    """The settings of a log; what a newer version added is ignored, and so is nonsense."""
    if not record.settings:
        return default
    known = _known(record.settings, AnalysisSettings)
    try:
        return msgspec.convert(known, AnalysisSettings)
    except msgspec.ValidationError:
        return default


def _known(data: dict[str, object], kind: type[msgspec.Struct]) -> dict[str, object]:
    """``data`` without keys that ``kind`` does not have, at every level."""
    kept: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in data:
            continue
        value = data[field.encode_name]
        if (
            isinstance(value, dict)
            and isinstance(field.type, type)
            and issubclass(field.type, msgspec.Struct)
        ):
            value = _known(value, field.type)
        kept[field.encode_name] = value
    return kept
