"""Puts the page together: what a reader needs stands in it as text; its script draws curves."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Formatter
from typing import Any

import msgspec

from mgtop.analysis.causes import find_cause, letter_of
from mgtop.analysis.ending import ending
from mgtop.analysis.live import LiveView
from mgtop.analysis.log_gaps import told
from mgtop.analysis.reasons import source_of_frames
from mgtop.analysis.summary import Evidence, Summary, Tail
from mgtop.report.html.timeline import timeline
from mgtop.report.json import plain_report
from mgtop.report.numbers import duration, number, plural, share, text_or, whole, with_unit
from mgtop.report.page import clean
from mgtop.report.paths import STAGES
from mgtop.wire.text import printable

MOST_TAILS = 500
"""Late frames in the page: those that lost most; the figures are of all."""
MOST_REQUESTS = 200
_ORDER = {"present": 0, "absent": 1, "not_resolved": 2}


def render(summary: Summary, view: LiveView | None) -> str:
    """The page; ``view`` spans the whole session in many columns."""
    tails = sorted(summary.tails.frames, key=lambda tail: -tail.excess_ms)[:MOST_TAILS]
    tails.sort(key=lambda tail: tail.t_ms)
    report = plain_report(summary)
    report["tails"]["frames"] = msgspec.to_builtins(tails)
    data = {
        "report": report,
        "timeline": timeline(summary, view),
        "late": [
            {"t": tail.t_ms / 1000, "letter": letter_of(tail.cause), "text": _sentence(tail)}
            for tail in tails
        ],
    }
    style, script = _part("style.css"), _part("page.js")
    name = summary.session.name or "session"
    verdict = summary.verdict
    return _fill(
        _part("page.html"),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        title=_text(f"mgtop: {name}"),
        heading=_heading(summary),
        verdict=_text(verdict.text or "Nothing can be said yet."),
        because=_list("ul", "because", verdict.because),
        next=_list("ol", "next", verdict.next),
        figures="".join(_figures(summary)),
        sections="\n".join(filter(None, _sections(summary, tails))),
        footer=_footer(summary),
        data=_embedded(data),
    )


def _part(name: str) -> str:
    return (files("mgtop.report.html") / name).read_text("utf-8")


def _hash(text: str) -> str:
    """As a content security policy names an inline text that may be used."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _fill(template: str, **values: str) -> str:
    parts = []
    for text, name, _, _ in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            parts.append(values[name])
    return "".join(parts)


def _embedded(data: Any) -> str:
    """JSON that cannot end the element that it stands in."""
    try:
        text = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # a name that is not UTF-8
        text = msgspec.json.encode(printable(msgspec.to_builtins(data))).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _text(text: object) -> str:
    """Foreign text as text of the page: it makes no element, and commands no reader."""
    return html.escape(clean(str(text)))


def _list(kind: str, name: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    inside = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f'<{kind} class="{name}">{inside}</{kind}>'


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, attributes: str = ""
) -> str:
    """A table of cells that are HTML already; those after the first ``left`` are numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{'' if at < left else ' class=n'}>{cell}</{tag}>" for at, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table{attributes}><thead><tr>{cells("th", head)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return _table(("", ""), ((_text(name), value) for name, value in pairs), left=2)


# ------------------------------------------------------------------------------- pieces


def _heading(summary: Summary) -> str:
    session, target = summary.session, summary.target
    parts = [f"<b>{_text(session.name or 'session')}</b>"]
    if session.started:
        parts.append(_text(session.started))
    parts.append(duration(session.duration_ms) + (", still recorded" if session.live else ""))
    if target.command:
        parts.append(f"<code>{_text(' '.join(target.command)[:300])}</code>")
    return " · ".join(parts)


def _figures(summary: Summary) -> Iterable[str]:
    interval, first, tails = summary.interval_ms, summary.first_frame_ms, summary.tails
    seen, total = summary.playout, summary.memory.total_mib
    of_total = "" if total is None else f" of {number(total)}"
    losses = summary.losses
    lost = losses.events_dropped + losses.events_malformed + losses.log_damaged
    for value, what in (
        (with_unit(interval.p50, "ms"), f"interval P50, n {interval.count:,}"),
        (with_unit(interval.p95, "ms"), "interval P95"),
        (with_unit(interval.p99, "ms"), "interval P99"),
        (with_unit(first.p50, "ms"), f"first frame P50, n {first.count:,}"),
        (f"{tails.count:,}", f"late frames, {share(tails.share_of_time)} of the time"),
        (with_unit(summary.fps, "fps"), f"target {with_unit(seen.target_fps, 'fps')}"),
        (whole(seen.underruns), f"underruns, {with_unit(seen.stall_ms, 'ms')} stood still"),
        (f"{number(summary.memory.peak.mib)}{of_total}", "GPU memory peak, MiB"),
        (f"{lost:,}", "events lost or damaged"),
    ):  # fmt: skip
        yield f'<div class="figure"><b>{_text(value)}</b><span>{_text(what)}</span></div>'


def _sections(summary: Summary, tails: Sequence[Tail]) -> Iterable[str]:
    yield _late(summary, tails)
    yield _causes(summary)
    yield _memory(summary)
    yield _requests(summary)
    yield _marks(summary)
    yield _machine(summary)


def _late(summary: Summary, tails: Sequence[Tail]) -> str:
    all_of_them = summary.tails
    if not all_of_them.count:
        return "<section><h2>Late frames</h2><p>None.</p></section>"
    told = (
        f"{plural(all_of_them.count, 'late frame')} lost {number(all_of_them.lost_ms)} ms, "
        f"{share(all_of_them.share_of_time)} of the time; where they stand: "
        f"{all_of_them.placement.kind}."
    )
    if len(tails) < all_of_them.count:
        told += f" Below are the {len(tails)} that lost most."
    rows = []
    for at, tail in enumerate(tails):
        cells = (
            f"{tail.t_ms / 1000:.2f} s", _text(tail.request), str(tail.index),
            number(tail.interval_ms), number(tail.excess_ms),
            {True: "yes", False: "no", None: "n/a"}[tail.visible],
            f"<b>{_text(tail.cause or 'not judged yet')}</b>",
        )  # fmt: skip
        inside = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(
            f'<tr class="late" data-late="{at}" tabindex="0" role="button" aria-expanded="false">'
            f'{inside}</tr><tr class="why"><td colspan="{len(cells)}">{_why(tail)}</td></tr>'
        )
    names = ("at", "request", "frame", "ms", "excess ms", "visible", "cause")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f'<section id="late"><h2>Late frames</h2><p>{_text(told)} Click one for its evidence.</p>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div></section>"
    )


def _sentence(tail: Tail) -> str:
    cause = find_cause(tail.cause)
    what = cause.summary if cause is not None else "not explained by what was seen"
    shown = tail.cause or "not judged yet"
    return (
        f"{tail.t_ms / 1000:.2f} s, request {clean(tail.request)}, frame {tail.index}: "
        f"{number(tail.interval_ms)} ms, {number(tail.excess_ms)} ms more than usual. "
        f"{shown}: {what}."
    )


def _why(tail: Tail) -> str:
    most = {"upper": "at most ", "lower": "at least ", "exact": ""}
    shares = "; ".join(
        f"{one.name} explains {most[one.bound]}{number(one.explained_ms)} ms" for one in tail.causes
    )
    cause = find_cause(tail.cause)
    remedy = "" if cause is None else f"<p>{_text(cause.remedy)}</p>"
    rows = [
        (
            _text(e.channel), f'<span class="{e.state}">{e.state.replace("_", " ")}</span>',
            _text(_value(e)), _text(_when(e)), _text(text_or(e.source)),
        )
        for e in sorted(tail.evidence, key=lambda e: _ORDER[e.state])
    ]  # fmt: skip
    table = _table(("channel", "", "value", "began before the end", "by"), rows, left=5)
    return f"<p>{_text(_sentence(tail))} {_text(shares)}</p>{remedy}{table}"


def _value(evidence: Evidence) -> str:
    return "n/a" if evidence.value is None else with_unit(evidence.value, evidence.unit or "")


def _when(evidence: Evidence) -> str:
    return "" if evidence.lead_ms is None else with_unit(evidence.lead_ms, "ms")


def _causes(summary: Summary) -> str:
    if not summary.causes:
        return ""
    rows = []
    for name, total in summary.causes.items():
        cause = find_cause(name)
        told = "" if cause is None else cause.summary
        rows.append(
            (f"<b>{_text(name)}</b>", _text(told), str(total.frames), number(total.lost_ms))
        )
    table = _table(("cause", "", "frames", "lost ms"), rows, left=2)
    return f"<section><h2>Causes</h2>{table}</section>"


def _memory(summary: Summary) -> str:
    seen = summary.memory
    if seen.peak.mib is None and not seen.stages:
        reasons = "; ".join(dict.fromkeys(seen.unavailable.values())) or "n/a"
        return f"<section><h2>GPU memory</h2><p>n/a: {_text(reasons)}</p></section>"
    rows = []
    for stage in STAGES:
        of = seen.stages.get(stage)
        if of is not None:
            values = (of.process_mib, of.device_mib, of.allocated_mib, of.reserved_mib)
            at = "n/a" if of.t_ms is None else f"{of.t_ms / 1000:.1f}"
            name = f"{stage} (inferred)" if of.inferred else stage
            rows.append((_text(name), *(number(value) for value in values), at))
    head = ("peak in, MiB", "process", "device", "allocated", "reserved", "at s")
    said = [f"Shape: {seen.shape.replace('_', ' ')}."]
    if seen.peak.mib is not None:
        said.append(
            f"Peak {number(seen.peak.mib)} MiB in {text_or(seen.peak.stage)}"
            f"{'' if seen.total_mib is None else f' of {number(seen.total_mib)}'}."
        )
    said += [seen.text] if seen.text else []
    said += [one.text for one in seen.differ]
    said += [f"Out of memory in {text_or(o.stage)}: {o.message}" for o in seen.ooms]
    return (
        f"<section><h2>GPU memory</h2>{_table(head, rows)}{_list('ul', 'because', said)}</section>"
    )


def _requests(summary: Summary) -> str:
    if not summary.requests:
        return ""
    spans = list(dict.fromkeys(name for q in summary.requests for name in q.spans))
    rows = [
        (
            _text(q.id) + (" (warm-up)" if q.warmup else ""), number(q.first_frame_ms),
            number(q.preprocess_ms), f"{q.frames:,}", number(q.interval_ms.p50),
            number(q.interval_ms.p95), number(q.interval_ms.max), str(q.tails),
            whole(q.playout.underruns), *(number(q.spans.get(name)) for name in spans),
        )
        for q in summary.requests[:MOST_REQUESTS]
    ]  # fmt: skip
    head = ("request", "first frame", "preprocess", "frames", "P50", "P95", "max", "late",
            "underruns", *(_text(name) for name in spans))  # fmt: skip
    more = len(summary.requests) - len(rows)
    note = f"<p>{more:,} more are in no row.</p>" if more > 0 else ""
    return f"<section><h2>Requests, ms</h2>{_table(head, rows)}{note}</section>"


def _marks(summary: Summary) -> str:
    if not summary.marks:
        return ""
    rows = [
        (f"{mark.t_ms / 1000:.2f} s", _text(mark.note), _text(text_or(mark.request)))
        for mark in summary.marks[:MOST_REQUESTS]
    ]
    return f"<section><h2>Marks</h2>{_table(('at', '', 'request'), rows, left=3)}</section>"


def _machine(summary: Summary) -> str:
    session, target, env = summary.session, summary.target, summary.environment
    parameters = ", ".join(f"{name}={value}" for name, value in session.params.items())
    gpus = "; ".join(f"{g.name}, {number(g.total_mib)} MiB" for g in target.gpus)
    ended = ending(target) or ("runs" if session.live else f"exit code {text_or(None)}")
    pairs = [
        ("command", f"<code>{_text(' '.join(target.command)) or 'n/a'}</code>"),
        ("parameters", _text(parameters or "none")),
        ("program", _text(ended)),
        ("frames from", _text(text_or(source_of_frames(summary)))),
        ("Python, torch", _text(f"{text_or(target.python)}, {text_or(target.torch)}")),
        ("GPU", _text(gpus or "n/a")),
        ("driver, CUDA", _text(f"{text_or(env.driver)}, {text_or(env.cuda)}")),
        ("CPU, RAM", _text(f"{text_or(env.cpu)}, {with_unit(env.ram_mib, 'MiB')}")),
        ("system", _text(f"{text_or(env.os)}, {text_or(env.kernel)}")),
        ("container", _text(text_or(env.container))),
    ]
    notes = _list("ul", "because", [f"{one.source}: {one.text}" for one in summary.notices])
    return f"<section><h2>Program and machine</h2>{_pairs(pairs)}{notes}</section>"


def _footer(summary: Summary) -> str:
    losses, own = summary.losses, summary.observer
    told = (
        f"mgtop {text_or(summary.environment.mgtop)}. "
        f"Lost: {losses.events_dropped:,} events dropped, {losses.events_malformed:,} malformed, "
        f"{losses.samples_missed:,} samples missed, "
        f"{losses.log_damaged:,} damaged places of the log. "
        f"{''.join(f'Not in the log: {told(gap)}. ' for gap in losses.log_gaps)}Its own cost: "
        f"{with_unit(own.cpu_percent, '% of a core')}, "
        f"{with_unit(own.nvml_ms_per_s, 'ms/s')} in NVML, "
        f"{with_unit(own.probe_us_per_frame, 'µs per frame')} in the program."
    )  # fmt: skip
    return _text(told)
