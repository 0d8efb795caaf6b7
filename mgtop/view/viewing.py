"""What all screens of one session have in common: its records, the time shown, the choice."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import msgspec

from mgtop.analysis.live import LiveView, TailMark
from mgtop.analysis.picture import mark_of
from mgtop.charts import Glyphs
from mgtop.view.feed import Feed
from mgtop.view.pace import Pace
from mgtop.view.text_rows import Status
from mgtop.view.timeline import Timeline

MESSAGE_S = 3.0
EXPLAINED_S = 10.0
"""So long a sentence says that a long log is shown from its end; then the header does."""


@dataclass
class Viewing:
    """One session on the screens.

    Attributes:
        feed: where its records come from.
        timeline: which piece of time is shown.
        pace: how often to draw.
        readonly: nothing may be marked, saved, stopped or signalled.
        glyphs: what bars are made of.
        selected: the late frame that was chosen.
        log_offset: byte of the output that the log screen is asked to show next.
    """

    feed: Feed
    timeline: Timeline
    pace: Pace
    readonly: bool
    glyphs: Glyphs
    selected: TailMark | None = None
    log_offset: int | None = None
    _message: str = field(default="", init=False)
    _message_until: float = field(default=0.0, init=False)
    _opened_s: float = field(default_factory=time.monotonic, init=False)

    def picture(self, width: int) -> LiveView:
        """The window of time that is chosen, in ``width`` columns."""
        timeline = self.timeline
        window = timeline.choose(width)
        now_ns = timeline.now_ns
        columns = window.past(now_ns)
        end_ns = window.begin_ns + columns * window.step_ns
        view = self.feed.model.view(now_ns, window.begin_ns, end_ns, columns)
        frozen = timeline.frozen
        if frozen is None:
            return view
        return msgspec.structs.replace(
            view,
            summary=frozen.summary,
            state=frozen.state,
            elapsed_ns=frozen.elapsed_ns,
            last_frame_age_ns=frozen.last_frame_age_ns,
            slack_ms=frozen.slack_ms,
            recording=frozen.recording,
        )

    def status(self) -> Status:
        """What the screen itself has to say."""
        feed, timeline = self.feed, self.timeline
        reading, of_log, beside = "", "", ""
        if feed.share_shown is not None:
            of_log = f"READING THE LOG {100 * feed.share_shown:.0f} %"
        if feed.share_read is not None:
            of_log = of_log and "READING THE LAST MINUTE"
            share = f"{100 * feed.share_read:.0f} %"
            if not of_log:
                beside = f"last minute, {share} read"
            if time.monotonic() - self._opened_s < EXPLAINED_S:
                reading = f"figures of the last minute; what was before is being read, {share}"
        head_ns = timeline.head_ns
        return Status(
            paused=timeline.frozen is not None,
            behind_ns=timeline.behind_ns(),
            recording=feed.live,
            pace=str(self.pace),
            partly=beside,
            damaged=feed.damaged,
            recorder_lost=feed.recorder_lost,
            folder_gone=feed.folder_gone,
            message=self._message if time.monotonic() < self._message_until else reading,
            head_ns=None if head_ns is None else head_ns - feed.model.about.start_ns,
            name=feed.folder.name,
            reading=of_log,
            playing=timeline.playing,
            speed=timeline.speed,
        )

    def seen(self) -> object:
        """What can still change on screens that do not follow the time."""
        records = None if self.timeline.frozen is not None else self.feed.records
        return records, self.status()

    def say(self, message: str) -> None:
        """Show a message for some seconds."""
        self._message = message
        self._message_until = time.monotonic() + MESSAGE_S

    # ------------------------------------------------------------------------ late frames

    def next_tail(self, view: LiveView, by: int) -> TailMark | None:
        """Select the next late frame in time (1), or the one before (−1), in the whole session.

        With nothing selected, the newest one that is in view, else the newest. None: there is
        none further on.
        """
        tails, start_ns = view.summary.tails.frames, view.start_ns
        if not tails:
            return None
        if self.selected is None:
            found = view.tails[-1] if view.tails else mark_of(tails[-1], start_ns)
        else:
            chosen = self.selected.tail
            places = [n for n, tail in enumerate(tails) if tail.t_ms == chosen.t_ms]
            same = [n for n in places if tails[n].proc == chosen.proc]
            at = (same or places or [len(tails)])[0] + by
            if not 0 <= at < len(tails):
                return None
            found = mark_of(tails[at], start_ns)
        self.selected = found
        window = self.timeline.window
        if window is not None and window.column(found.t_ns - 1) is None:
            self.timeline.show(found.t_ns)
        return found

    def newest_judged(self, view: LiveView) -> TailMark | None:
        """Select the newest late frame that is judged, else the newest; None: there is none."""
        frames = view.summary.tails.frames
        tail = next((t for t in reversed(frames) if t.final), frames[-1] if frames else None)
        if tail is not None:
            self.selected = mark_of(tail, view.start_ns)
        return self.selected

    def renew_selected(self, view: LiveView) -> TailMark | None:
        """The chosen late frame as it is judged now; none, once its window has moved on."""
        chosen = self.selected
        if chosen is None:
            return None
        same = (m for m in view.tails if m.t_ns == chosen.t_ns and m.tail.proc == chosen.tail.proc)
        self.selected = next(same, None if self.timeline.follows else chosen)
        return self.selected
