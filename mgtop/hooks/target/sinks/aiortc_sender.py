"""aiortc: each video frame that a sender has encoded and is about to send.

The call begins with waiting for the track's next frame, so its time is no time of the output.
"""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, Outputs, enter, failed, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "aiortc"
_senders = Outputs()


def install(module: Any) -> None:
    """``aiortc.rtcrtpsender``."""
    sender = module.RTCRtpSender
    wrap(sender, "_next_encoded_frame", _before, _after, failed)
    wrap(sender, "stop", _stopped)


def _before(args: Any, kwargs: Any) -> Any:
    sender = args[0]
    if getattr(sender, "kind", "video") != "video":
        return None
    return enter(_senders.get(sender, _output), None)


def _output(sender: Any) -> Output:
    return Output(NAME)


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 0 if result is None else 1)


def _stopped(args: Any, kwargs: Any) -> None:
    _senders.end(args[0])
