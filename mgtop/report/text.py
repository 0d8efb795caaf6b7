"""``mgtop report`` for a person at a terminal: the answer first, then what it rests on."""

from __future__ import annotations

from mgtop.analysis.ending import ending
from mgtop.analysis.reasons import source_of_frames
from mgtop.analysis.summary import Summary
from mgtop.report import text_frames as frames
from mgtop.report import text_machine as machine
from mgtop.report import text_memory, text_sinks, text_tails
from mgtop.report.numbers import NOT_KNOWN, duration, plural, text_or
from mgtop.report.page import Page
from mgtop.report.plot import IntervalPlot, draw

_MOST_MARKS = 12


def render(summary: Summary, width: int = 80, plot: IntervalPlot | None = None) -> str:
    """The report as text of at most ``width`` columns (at least 40), ended by a line break.

    Equal input gives equal bytes. ``plot`` adds a picture of the intervals over time.
    """
    page = Page(width)
    _verdict(page, summary)
    _session(page, summary)
    _notices(page, summary)
    frames.first_frame(page, summary)
    text_sinks.sinks(page, summary)
    frames.intervals(page, summary)
    if plot is not None:
        page.lines(draw(plot, page.width))
    frames.actions(page, summary)
    frames.playout(page, summary)
    text_tails.tails(page, summary)
    text_tails.causes(page, summary)
    frames.requests(page, summary)
    frames.delivery(page, summary)
    text_memory.memory(page, summary)
    machine.processors(page, summary)
    _marks(page, summary)
    machine.losses(page, summary)
    machine.observer(page, summary)
    machine.environment(page, summary)
    return page.render()


def _verdict(page: Page, summary: Summary) -> None:
    verdict = summary.verdict
    cause = f", cause: {verdict.cause}" if verdict.cause else ""
    live = " (so far: the session is still being recorded)" if summary.session.live else ""
    page.heading("VERDICT", f"{verdict.code}{cause}{live}")
    if verdict.text:
        page.text(verdict.text)
    for title, lines in (("because", verdict.because), ("next", verdict.next)):
        if lines:
            page.text(title)
            for line in lines:
                page.text(line, indent=4, bullet="- ")


def _session(page: Page, summary: Summary) -> None:
    session, target = summary.session, summary.target
    page.heading("SESSION", session.name or NOT_KNOWN)
    state = ", live" if session.live else ""
    page.pair(
        "started", f"{text_or(session.started)}, lasted {duration(session.duration_ms)}{state}"
    )
    page.pair("folder", text_or(session.path))
    command = " ".join(target.command)
    page.pair("target", f"pid {text_or(target.pid)}, {_ending(summary)}")
    recording = _recording(summary)
    if recording:
        page.pair("recording", recording)
    page.pair("command", text_or(command))
    page.pair("parameters", _parameters(summary) or "none")
    page.pair("frames from", text_or(source_of_frames(summary)))
    if target.same_ranks:
        ranks = ", ".join(map(str, target.same_ranks))
        page.pair("ranks", f"the lowest counts; {ranks} told of the same frames, as it is taken")
    warm = sum(request.warmup for request in summary.requests)
    left_out = f" ({plural(warm, 'is', 'are')} warm-up and in no statistic)" if warm else ""
    page.pair("requests", f"{len(summary.requests):,}{left_out}")


def _ending(summary: Summary) -> str:
    known = ending(summary.target)
    if known is not None:
        return known
    return "running" if summary.session.live else f"exit code {NOT_KNOWN}"


def _recording(summary: Summary) -> str:
    """How the recording ended, where that was not simply with its program."""
    session = summary.session
    if session.live or session.end in ("target_exit", "imported"):
        return ""
    if session.end is None:
        return "broke off: its recorder was killed, or the log is not complete"
    if session.end.startswith("error: "):
        return f"broke off: {session.end.removeprefix('error: ')}"
    return {"seconds": "ended after the time asked for", "stopped": "ended on request"}.get(
        session.end, session.end
    )


def _parameters(summary: Summary) -> str:
    return " ".join(f"{name}={value}" for name, value in summary.session.params.items())


def _notices(page: Page, summary: Summary) -> None:
    if summary.notices:
        page.heading("NOTES", "from mgtop's own code in the program")
        for notice in summary.notices:
            page.text(notice.text, indent=2, bullet="- ")


def _marks(page: Page, summary: Summary) -> None:
    if not summary.marks:
        return
    page.heading("MARKS", "s since the start")
    rows = [
        (f"{mark.t_ms / 1000:.2f}", text_or(mark.request), text_or(mark.index), mark.note)
        for mark in summary.marks[:_MOST_MARKS]
    ]
    page.table(("at", "request", "index", "note"), rows, left=("request", "note"))
    if len(summary.marks) > _MOST_MARKS:
        page.text(f"and {len(summary.marks) - _MOST_MARKS:,} more (--json lists all)")
