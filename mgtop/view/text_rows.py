"""Header, figures and the list of late frames, as rows of text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from mgtop.analysis.causes import Cause, find_cause
from mgtop.analysis.live import LiveView, TailMark
from mgtop.analysis.log_gaps import told
from mgtop.analysis.reasons import source_of_frames
from mgtop.analysis.summary import Tail
from mgtop.analysis.verdict import MORE_SPANS
from mgtop.charts import Run, text_row
from mgtop.charts.axis import clock
from mgtop.view.bindings import PLACES
from mgtop.view.figures import age, age_if_late, clean, fit, ms, number

Rows = list[list[Run]]
Piece = tuple[str, str]
"""Text and band."""

ROOMY = 100
"""From this width on, words are written out."""
LEAST_REMEDY = 36
"""Columns that a remedy needs to be understood."""

STATE_BANDS = {
    "waiting": "dim",
    "loading": "warn",
    "warm-up": "warn",
    "steady": "good",
    "stalled": "bad",
    "ended": "strong",
}


@dataclass(frozen=True)
class Status:
    """What the screen itself has to say: it is not in the log."""

    paused: bool = False
    recording: bool = False
    """The recorder is at work, whatever the picture on the screen says."""
    behind_ns: int | None = None
    """How long before now the window ends, where somebody moved it back."""
    pace: str = ""
    """How often the screen is drawn, where that is not as asked for."""
    partly: str = ""
    """Which part of a long log the figures are of, while the rest is read."""
    damaged: int = 0
    """Damaged places of the log."""
    recorder_lost: bool = False
    folder_gone: bool = False
    """The session is not where it was: nothing that comes now is seen."""
    message: str = ""
    """Something just done, as "marked": it takes the place of the keys for a while."""
    head_ns: int | None = None
    """Where playing a recorded session stands, since its start; None: all of it is shown."""
    name: str = ""
    """Of the session's folder, for as long as the log has not told another one."""
    reading: str = ""
    """The log is being read for the first time: how much of it was. Nothing: it has been."""
    playing: bool = False
    speed: float = 1.0


def header_rows(view: LiveView, width: int, height: int, reading: bool = False) -> Rows:
    """Below :func:`state_row`: command and parameters, and the verdict on the lines left.

    ``reading``: what was recorded is on its way, so that nothing is said of what is not there.
    """
    reading = reading and not view.summary.requests
    rows = [_target_row(view, width, reading)] if height >= 3 else []
    if reading:
        return rows + [text_row(width) for _ in range(height - len(rows))]
    return rows + _verdict_rows(view, width, height - len(rows))


def state_row(view: LiveView, status: Status, width: int) -> list[Run]:
    """The first line: run, state, and what the screen itself has to say."""
    summary = view.summary
    state = view.state.upper()
    if view.state == "stalled":
        state = f"STALLED for {age(view.last_frame_age_ns)}"
    name = clean(summary.session.name or status.name) or "session"
    pieces: list[Piece] = [(" mgtop ", "title"), (f" {name} ", "strong")]
    band = "warn" if status.reading else STATE_BANDS[view.state]
    pieces.append((status.reading or state, band))
    pieces.append((f" {clock(view.elapsed_ns)}", "text"))
    if status.partly:
        pieces.append((f"  {status.partly}", "warn"))
    if status.paused:
        goes_on = "recording goes on" if status.recording else "no longer recorded"
        pieces.append((f"  ❚❚ PAUSED ({goes_on})", "warn"))
    elif status.head_ns is not None:
        sign = "▶" if status.playing else "❚❚"
        pieces.append((f"  {sign} {clock(status.head_ns)} ×{status.speed:g}", "warn"))
    elif status.folder_gone:
        pieces.append(("  ✖ FOLDER MOVED OR DELETED, the recording may go on in it", "bad"))
    elif status.recorder_lost:
        pieces.append(("  ✖ RECORDER GONE, the target may go on", "bad"))
    elif status.recording and view.state != "ended":
        pieces.append(("  ● rec", "good"))
    if view.state == "ended":
        pieces.append(_ending(view))
    elif view.last_frame_age_ns is not None and view.state != "stalled":
        last = age_if_late(view.last_frame_age_ns, summary.interval_ms.p50)
        pieces.append((f"  frame {last} ago", "dim"))
    rising = _rising(view)
    if rising:
        pieces.append((f"  ▲ {rising} rises (3)", "warn"))
    if status.behind_ns is not None:
        pieces.append((f"  ◂ {clock(status.behind_ns)} back", "warn"))
    lost = summary.losses.events_dropped
    if lost:
        pieces.append((f"  {lost} EVENTS LOST", "bad"))
    if summary.losses.log_gaps:
        pieces.append((f"  {told(summary.losses.log_gaps[0])}", "warn"))
    bad = summary.losses.events_malformed + status.damaged
    if bad:
        pieces.append((f"  {bad} malformed", "warn"))
    notes = len(summary.notices)
    if notes and summary.requests:  # without any frame, the verdict says them
        pieces.append((f"  {notes} note{'s' * (notes > 1)} in the report", "warn"))
    if status.pace:
        pieces.append((f"  {status.pace}", "warn"))
    return line(width, pieces)


def _rising(view: LiveView) -> str:
    """Which memory grows without an end, if any: frames do not tell, until it is full."""
    memory = view.summary.memory
    if memory.shape == "rising":
        return "GPU memory"
    return "RAM" if memory.host.shape == "rising" else ""


def places_row(current: str, width: int, aside: str = "") -> list[Run]:
    """The screens with their digits; the one that is shown stands out. ``aside``: at the right."""
    pieces: list[Piece] = []
    for digit, place in enumerate(PLACES, 1):
        band = "selected" if place.name == current else "dim"
        pieces += [(" ", "dim"), (f" {digit} {place.title} ", band)]
    left = width - sum(cell_len(text) for text, _ in pieces) - cell_len(aside) - 1
    if aside and left > 0:
        pieces += [(" " * left, "dim"), (aside, "dim")]
    return line(width, pieces)


def place_at(x: int) -> str | None:
    """The screen whose name stands in that column of :func:`places_row`."""
    at = 0
    for digit, place in enumerate(PLACES, 1):
        end = at + 1 + len(f" {digit} {place.title} ")
        if at < x < end:
            return place.name
        at = end
    return None


def _ending(view: LiveView) -> Piece:
    """How the program ended; or why the recording did, while the program may go on."""
    target, end = view.summary.target, view.summary.session.end or ""
    if target.exit_signal is not None:
        why = " (out of memory?)" if target.oom_kills else ""
        return (f"  target killed by signal {target.exit_signal}{why}", "dim")
    if target.exit_code is not None:
        return (f"  target exited with {target.exit_code}", "bad" if target.exit_code else "dim")
    if end.startswith("error: "):
        return (f"  ✖ RECORDING BROKE OFF: {clean(end.removeprefix('error: '))}", "bad")
    if end in ("stopped", "seconds"):
        return ("  recording ended, the target may go on", "dim")
    return ("", "dim")


def _target_row(view: LiveView, width: int, reading: bool) -> list[Run]:
    summary = view.summary
    target = summary.target
    params = " ".join(f"{clean(str(k))}={clean(str(v))}" for k, v in summary.session.params.items())
    command = clean(" ".join(target.command))
    left = f" {command}" if command else "" if reading else " imported log"
    source = source_of_frames(summary)
    seen = "seen from outside" if source == "observe" else f"frames from {source}"
    who = f" (pid {target.pid}{'' if reading else f', {seen}'})" if target.pid else ""
    # Too long a command is cut, then the parameters: whose frames these are stays.
    room = width - len(who) - (len(params) + 3 if params else 0)
    if len(left) > room:
        left = fit(left, max(20, room)).rstrip()
    return line(width, [(left + who, "dim"), (f"  {params}", "text")])


def _verdict_rows(view: LiveView, width: int, height: int) -> Rows:
    """The verdict in plain words and what to do next; on few lines, what matters most of it."""
    if height <= 0:
        return []
    verdict = view.summary.verdict
    band = "good" if verdict.code == "steady" else "dim" if verdict.code == "undecided" else "warn"
    step = clean(verdict.next[0]) if verdict.next and height > 1 else ""
    room = height - 1 if step else height
    text = clean(verdict.text) or "Nothing to say yet."
    cause = find_cause(verdict.cause)
    if len(text) + 3 > width * room and cause is not None:
        text = _in_short(view, cause)
    rows = _told(" ▸ ", text, band, width, room)
    if step:
        rows += _told(" → ", step, "text", width, height - len(rows))
    return rows + [text_row(width) for _ in range(height - len(rows))]


def _told(sign: str, text: str, band: str, width: int, height: int) -> Rows:
    """A text on as many lines as it takes, at most ``height``; what is cut ends in ``…``."""
    lines = textwrap.wrap(text, width - 3) or [""]
    if len(lines) > height:
        rest = " ".join(lines[height - 1 :])
        lines = [*lines[: height - 1], fit(rest, width - 3)]
    return [line(width, [("   " if n else sign, band), (t, band)]) for n, t in enumerate(lines)]


def _in_short(view: LiveView, cause: Cause) -> str:
    """The verdict where its sentence is too long: what matters most comes first."""
    total, late = view.summary.causes.get(cause.name), view.summary.tails.count
    if total is None or not late:
        return f"{cause.name}: {cause.summary}"
    share = f"{total.frames:,} of {late:,} late frames ({ms(total.lost_ms)} ms)"
    return f"Mostly {cause.name}, in {share}: {cause.summary}"


def readout_rows(view: LiveView, width: int, height: int) -> Rows:
    """The figures: intervals, first frame; pace, slack and playout."""
    summary = view.summary
    interval, first, playout = summary.interval_ms, summary.first_frame_ms, summary.playout
    gap = "   " if width >= ROOMY else " "
    one: list[Piece] = [(" interval" if width >= ROOMY else " ms", "dim")]
    for name, value in (("P50", interval.p50), ("P95", interval.p95), ("P99", interval.p99)):
        one += [(f" {name} ", "dim"), (ms(value), "strong")]
    one += [(" max ", "dim"), (ms(interval.max), "strong"), (f" n {interval.count:,}", "dim")]
    one += [(f"{gap} first frame " if width >= ROOMY else "  first ", "dim")]
    one += [(ms(first.p50), "strong")]
    if first.preprocess_p50 is not None:
        split = f" = {ms(first.preprocess_p50)} pre + {ms(first.sampling_p50)}"
        if width >= ROOMY:
            split += " sampling"
        one.append((split, "dim"))
    two: list[Piece] = [(" fps ", "dim"), (number(summary.fps), "strong")]
    if playout.target_fps:
        two += [(f"/{number(playout.target_fps, 3)}", "dim")]
    two += [(f"{gap}slack ", "dim"), (_slack(view), "strong")]
    two += [(f"{gap}underruns ", "dim"), _counted(playout.underruns)]
    two += [(f"{gap}stalls ", "dim"), _stall(playout.stall_ms_per_s)]
    tails = summary.tails
    two += [(f"{gap}late ", "dim"), _counted(tails.count)]
    two.append((f" lost {ms(tails.lost_ms)} ms", "dim"))
    answered = summary.action_to_frame_ms
    if answered.count:
        two += [(f"{gap}input to frame ", "dim"), (ms(answered.p50), "strong")]
    return [line(width, one), line(width, two)][:height]


def key_row(view: LiveView, status: Status, keys: str, width: int) -> list[Run]:
    """The most used keys or what was just done, and at the right what mgtop itself costs."""
    cost = view.summary.observer.cpu_percent
    own = "" if cost is None else f"  mgtop {cost:.1f} %{' CPU' if width >= ROOMY else ''} "
    left = width - cell_len(own)
    text, band = (status.message, "strong") if status.message else (keys, "key")
    if left <= cell_len(text):
        own, left = "", width
    runs = line(left, [(f" {text}", band)])
    return [*runs, Run(own, "dim")] if own else runs


def _slack(view: LiveView) -> str:
    if view.slack_ms is None:
        return "n/a"
    return f"{view.slack_ms:,.0f} ms"


def _counted(value: int | None) -> Piece:
    if value is None:
        return ("n/a", "dim")
    return (f"{value:,}", "bad" if value else "good")


def _stall(value: float | None) -> Piece:
    """Apple's grades of hitch time: up to 10 ms/s good, up to 25 to be warned of."""
    if value is None:
        return ("n/a", "dim")
    band = "good" if value <= 10 else "warn" if value <= 25 else "bad"
    return (f"{value:.1f} ms/s", band)


HEADING = "    at      request   frame     ms  excess  × seen  cause"


def tail_rows(
    view: LiveView, height: int, width: int, selected: TailMark | None
) -> tuple[Rows, list[TailMark]]:
    """A heading and the newest late frames, the newest first, around the selected one.

    Returns the rows and, for each row after the heading, the tail on it.
    """
    marks = list(reversed(view.tails))
    count = view.summary.tails.count
    shown = f"  {len(marks)} of {count} in view" if count else "  no late frames"
    rows: Rows = [line(width, [(fit(HEADING, min(width, 58)), "title_dim"), (shown, "dim")])]
    first = 0
    if selected is not None:
        at = next((n for n, mark in enumerate(marks) if mark.t_ns == selected.t_ns), 0)
        first = max(0, min(at - height // 2, len(marks) - height))
    page = marks[first : first + height]
    for mark in page:
        is_selected = selected is not None and mark.t_ns == selected.t_ns
        rows.append(_tail_row(view, mark, width, is_selected))
    rows += [text_row(width) for _ in range(height - len(page))]
    return rows, page


def _tail_row(view: LiveView, mark: TailMark, width: int, selected: bool) -> list[Run]:
    tail = mark.tail
    usual = tail.interval_ms - tail.excess_ms
    times = tail.interval_ms / usual if usual > 0 else 0.0
    seen = {True: "yes", False: "no", None: "?"}[tail.visible]
    text = (
        f"{'▸' if selected else ' '} {clock(mark.t_ns - view.start_ns, fine=True):>9}"
        f"  {fit(clean(tail.request), 8)} {tail.index:>6} {ms(tail.interval_ms):>6}"
        f" {'+' + ms(tail.excess_ms):>7} {times:>4.1f} {seen:<4} "
    )
    band = "selected" if selected else "text"
    return line(width, [(text, band), (cause_text(tail), "selected" if selected else "tail")])


def cause_text(tail: Tail) -> str:
    """The causes with their shares: ``gc 180 ms, supply 30 ms``."""
    if tail.cause is None:
        return "not judged yet"
    shares = ", ".join(
        f"{cause.name} {'≤ ' if cause.bound == 'upper' else ''}{ms(cause.explained_ms)}"
        for cause in tail.causes
    )
    if tail.cause == "unexplained" and shares:
        return f"unexplained, but {shares}"
    return shares or tail.cause


def detail_rows(selected: TailMark | None, width: int, height: int) -> Rows:
    """Evidence of the selected late frame: what was there, what not, what could not be told."""
    if selected is None:
        hint = " n and N go through the late frames, Enter tells all about one"
        rows = [line(width, [(hint, "dim")])]
        return (rows + [text_row(width)] * height)[:height]
    tail = selected.tail
    by_state: dict[str, list[str]] = {"present": [], "absent": [], "not_resolved": []}
    for item in tail.evidence:
        text = item.channel
        if item.state == "present" and item.value is not None:
            text += f" {number(item.value)} {item.unit or ''}".rstrip()
            if item.lead_ms is not None:
                text += f" (began {ms(item.lead_ms)} ms before)"
        by_state[item.state].append(text)
    lines = [
        _cause_and_remedy(tail, width),
        [(" present: ", "dim"), ("; ".join(by_state["present"]) or "nothing", "tail")],
        [
            (" absent: ", "dim"),
            (", ".join(by_state["absent"]) or "nothing", "text"),
            ("   not resolved: ", "dim"),
            (", ".join(by_state["not_resolved"]) or "nothing", "dim"),
        ],
    ]
    rows = [line(width, pieces) for pieces in lines]
    return (rows + [text_row(width)] * height)[:height]


def _cause_and_remedy(tail: Tail, width: int) -> list[Piece]:
    """What it was and what to do about it; of a long explanation, its name is enough."""
    cause = find_cause(tail.cause)
    if cause is None:
        remedy = "" if tail.cause is None else f". {MORE_SPANS}"
        return [(f" {cause_text(tail)}", "strong"), (remedy, "text")]
    known = f" {cause.name}: {cause.summary}"
    if cell_len(known) + LEAST_REMEDY > width:
        known = f" {cause.name}"
    return [(known, "strong"), (f". {cause.remedy}", "text")]


def tiny_rows(view: LiveView, width: int, height: int) -> Rows:
    """The essentials, for a terminal that is too small for the charts."""
    interval = view.summary.interval_ms
    texts: Sequence[Piece] = (
        (view.state, STATE_BANDS[view.state]),
        (f"last {age_if_late(view.last_frame_age_ns, interval.p50)}", "text"),
        (f"P50 {ms(interval.p50)} ms", "text"),
        (f"max {ms(interval.max)} ms", "text"),
        (f"late {view.summary.tails.count}", "tail"),
    )
    rows = [line(width, [piece]) for piece in texts]
    return (rows + [text_row(width)] * height)[:height]


def line(width: int, pieces: Sequence[Piece]) -> list[Run]:
    """Pieces one after the other; what does not fit is cut with ``…``."""
    runs: list[Run] = []
    left = width
    for text, band in pieces:
        if left <= 0:
            break
        if cell_len(text) > left:
            text = fit(text, left)
        if text:
            runs.append(Run(text, band))
            left -= cell_len(text)
    if left > 0:
        runs.append(Run(" " * left, "empty"))
    return runs
