"""What is known of one request of a text log while its lines are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """What is known of one request so far; times are nanoseconds since its start."""

    number: int
    start_ns: int
    header_ns: int | None = None
    preprocess_ns: int | None = None
    end_ns: int | None = None
    last_ns: int = 0
    quiet: bool = True
    """Nothing but the header was seen."""
    params: dict[str, Any] = field(default_factory=dict)
    anchored: bool = True
    """Its start has a place on the axis; not so for one that only the past speaks of."""
    index: int | None = None
    emit: int = 0
    count: int = 1
    emits: dict[int, int] = field(default_factory=dict)
    """Time of each recent emit, by the index as the log gives it."""
    last_emit: tuple[int, str] | None = None
    """Time and stated interval of the last emit line, to know its repetition."""
