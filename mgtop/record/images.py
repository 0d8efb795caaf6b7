"""Programs of one process, one after another: what ``exec`` puts in a program's place.

It has the pid and the start time of the one before, so the same ``proc`` number; but its probe
begins anew, with its numbers of events and requests.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from mgtop.record.loss import LossAccount
from mgtop.wire.records import AnyEvent, Hello, SegmentMap

REQUESTS_OF_AN_IMAGE = 1 << 32
"""Added to the numbers of requests for each program that was replaced: more than one can have."""
_MOST = 1 << 16
_OF_REQUESTS = frozenset(
    kind
    for kind in get_args(AnyEvent)
    if "request" in kind.__struct_fields__
    and kind is not SegmentMap  # whose number is a question's
)


class Images:
    """Tells the programs of a process apart.

    Args:
        losses: is told that the numbers of events begin anew.
    """

    def __init__(self, losses: LossAccount) -> None:
        self._losses = losses
        self._replaced: dict[int, int] = {}
        """Programs that were replaced, by process; 0 for one that has introduced itself once."""
        self._any = False

    def take(self, event: AnyEvent) -> AnyEvent:
        """The event, with a request's number that no earlier program of its process had."""
        if type(event) is Hello and event.seq == LossAccount.FIRST_SEQ:
            self._begun(event.proc)
        if self._any and type(event) in _OF_REQUESTS:
            replaced, request = self._replaced.get(event.proc, 0), event.request  # type: ignore[union-attr]
            if replaced and request:
                number = request + replaced * REQUESTS_OF_AN_IMAGE
                return msgspec.structs.replace(event, request=number)
        return event

    def _begun(self, proc: int) -> None:
        """A probe's first event: only another program of the same process sends it twice."""
        before = self._replaced.get(proc)
        if before is None:
            self._replaced[proc] = 0
        elif before < _MOST:
            self._replaced[proc] = before + 1
            self._any = True
            self._losses.begins_anew(proc)
