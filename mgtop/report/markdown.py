"""``mgtop report --markdown``: a session to paste into a bug report, at most 60 kB.

Home folders are written as ``~``, and what looks like a secret was masked when it was recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from mgtop.analysis.ending import ending
from mgtop.analysis.log_gaps import told
from mgtop.analysis.reasons import source_of_frames
from mgtop.analysis.summary import Quantiles, Summary, Tail
from mgtop.report.numbers import NOT_KNOWN, duration, number, plural, share, text_or, with_unit

MOST_BYTES = 60_000
MOST_TAILS, MOST_REQUESTS, MOST_MARKS = 20, 20, 20
_CUT = "\n\n*Cut here: a bug report takes 60 kB. The whole is in `mgtop report --json`.*\n"
_SPECIAL = re.compile(r"([\\`*{}\[\]<>|#~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def render(summary: Summary, home: str | None = None) -> str:
    """The report as Markdown, ended by a line break; equal input gives equal bytes.

    Args:
        summary: what to tell.
        home: folder to write as ``~``; by default this user's.
    """
    home = os.path.expanduser("~") if home is None else home
    parts = [
        *_verdict(summary),
        *_session(summary),
        *_figures(summary),
        *_tails(summary),
        *_requests(summary),
        *_memory(summary),
        *_marks(summary),
        *_machine(summary),
    ]
    text = "\n".join(parts) + "\n"
    if len(home) > 1:
        text = text.replace(_plain(home), "~").replace(home, "~")
    data = text.encode()
    if len(data) > MOST_BYTES:
        kept = data[: MOST_BYTES - len(_CUT.encode())].decode(errors="ignore")
        text = kept[: kept.rfind("\n")] + _CUT
    return text


def _verdict(summary: Summary) -> list[str]:
    verdict = summary.verdict
    cause = f", cause: {verdict.cause}" if verdict.cause else ""
    live = " (so far: it is still being recorded)" if summary.session.live else ""
    lines = [f"## {_plain(summary.session.name) or 'Session'}: {verdict.code}{cause}{live}", ""]
    if verdict.text:
        lines += [_plain(verdict.text), ""]
    for title, reasons in (("Because", verdict.because), ("Next", verdict.next)):
        if reasons:
            lines += [f"**{title}**", "", *(f"- {_plain(reason)}" for reason in reasons), ""]
    return lines


def _session(summary: Summary) -> list[str]:
    session, target = summary.session, summary.target
    parameters = ", ".join(f"{name}={value}" for name, value in session.params.items())
    ended = ending(target) or ("runs" if session.live else f"exit code {NOT_KNOWN}")
    pairs = (
        ("started", f"{text_or(session.started)}, lasted {duration(session.duration_ms)}"),
        ("command", _code(" ".join(target.command)) if target.command else NOT_KNOWN),
        ("parameters", _plain(parameters) or "none"),
        ("program", ended),
        ("frames from", _plain(text_or(source_of_frames(summary)))),
    )
    lines = [*_table(("", ""), pairs), ""]
    lines += [f"- Note of {_plain(n.source)}: {_plain(n.text)}" for n in summary.notices]
    return [*lines, ""] if summary.notices else lines


def _figures(summary: Summary) -> list[str]:
    first = summary.first_frame_ms
    rows = [
        ("first frame", *(number(v) for v in (first.p50, first.p95, first.p99, first.max)),
         str(first.count)),
        ("interval", *_quantiles(summary.interval_ms)),
    ]  # fmt: skip
    rows += [
        (f"interval, {plural(int(count), 'frame')} an emit", *_quantiles(found))
        for count, found in summary.interval_ms_by_count.items()
    ]
    answered = summary.action_to_frame_ms
    if answered.actions:
        rows.append(("input to frame", *_quantiles(answered)))
    seen = summary.playout
    lines = ["### Frames, ms", "", *_table(("", "P50", "P95", "P99", "max", "n"), rows), ""]
    lines.append(
        f"{number(summary.fps)} fps, rtf {number(summary.rtf)}; played at "
        f"{with_unit(seen.target_fps, 'fps')}: {number(seen.underruns)} underruns, "
        f"{with_unit(seen.stall_ms, 'ms')} stood still."
    )
    return [*lines, ""]


def _quantiles(found: Quantiles) -> tuple[str, ...]:
    values = (found.p50, found.p95, found.p99, found.max)
    return (*(number(value) for value in values), str(found.count))


def _tails(summary: Summary) -> list[str]:
    tails = summary.tails
    if not tails.count:
        return ["### Late frames", "", "None.", ""]
    worst = sorted(tails.frames, key=lambda tail: -tail.excess_ms)[:MOST_TAILS]
    told = (
        f"{plural(tails.count, 'late frame')} lost {number(tails.lost_ms)} ms, "
        f"{share(tails.share_of_time)} of the time; where they stand: {tails.placement.kind}."
    )
    lines = ["### Late frames", "", told, ""]
    causes = [
        (name, str(total.frames), number(total.lost_ms)) for name, total in summary.causes.items()
    ]
    lines += [*_table(("cause", "frames", "lost, ms"), causes), ""]
    rows = [
        (
            f"{tail.t_ms / 1000:.2f}", _plain(tail.request), str(tail.index),
            number(tail.interval_ms), number(tail.excess_ms), tail.cause or "not judged yet",
            _evidence(tail),
        )
        for tail in worst
    ]  # fmt: skip
    head = ("at s", "request", "index", "ms", "excess", "cause", "evidence")
    title = f"The {len(worst)} that lost most:" if tails.count > len(worst) else "All of them:"
    return [*lines, title, "", *_table(head, rows), ""]


def _evidence(tail: Tail) -> str:
    most = {"upper": "at most ", "lower": "at least "}
    shares = [
        f"{share.name} {most.get(share.bound, '')}{number(share.explained_ms)} ms"
        for share in tail.causes
    ]
    seen = [
        f"{e.channel} {with_unit(e.value, e.unit or '')}"
        for e in tail.evidence
        if e.state == "present" and e.channel not in {share.name for share in tail.causes}
    ]
    return _plain("; ".join([*shares, *seen])) or "–"


def _requests(summary: Summary) -> list[str]:
    if len(summary.requests) < 2:
        return []
    rows = [
        (
            _plain(q.id) + (" (warm-up)" if q.warmup else ""), number(q.first_frame_ms),
            str(q.frames), number(q.interval_ms.p50), number(q.interval_ms.p95), str(q.tails),
        )
        for q in summary.requests[:MOST_REQUESTS]
    ]  # fmt: skip
    more = len(summary.requests) - len(rows)
    lines = ["### Requests", ""]
    lines += _table(("id", "first frame, ms", "frames", "P50, ms", "P95, ms", "late"), rows)
    return [*lines, *([f"\nand {more} more."] if more > 0 else []), ""]


def _memory(summary: Summary) -> list[str]:
    seen = summary.memory
    if not seen.stages:
        reasons = "; ".join(dict.fromkeys(seen.unavailable.values()))
        return ["### GPU memory", "", f"{NOT_KNOWN}{': ' if reasons else ''}{_plain(reasons)}", ""]
    rows = [
        (stage, *(number(v) for v in (of.process_mib, of.device_mib, of.allocated_mib,
                                      of.reserved_mib)))
        for stage, of in seen.stages.items()
    ]  # fmt: skip
    head = ("peak in, MiB", "process", "device", "allocated", "reserved")
    lines = ["### GPU memory", "", *_table(head, rows), ""]
    lines.append(
        f"Peak {with_unit(seen.peak.mib, 'MiB')} of {with_unit(seen.total_mib, 'MiB')}, in "
        f"{text_or(seen.peak.stage)}; shape: {seen.shape}. {_plain(seen.text)}".rstrip()
    )
    lines += [
        f"- Out of memory in {text_or(oom.stage)}, frame {text_or(oom.frame)}: "
        f"{_plain(oom.message)}"
        for oom in seen.ooms[:5]
    ]
    return [*lines, ""]


def _marks(summary: Summary) -> list[str]:
    if not summary.marks:
        return []
    marks = summary.marks[:MOST_MARKS]
    return [
        "### Marks",
        "",
        *(f"- {mark.t_ms / 1000:.2f} s: {_plain(mark.note)}" for mark in marks),
        "",
    ]


def _machine(summary: Summary) -> list[str]:
    about, target, own = summary.environment, summary.target, summary.observer
    cost = (
        f"{number(own.cpu_percent)} % of a core, {number(own.nvml_ms_per_s)} ms/s in NVML, "
        f"{number(own.probe_us_per_frame)} µs a frame"
    )
    losses = summary.losses
    gpus = ", ".join(f"{gpu.name} ({with_unit(gpu.total_mib, 'MiB')})" for gpu in target.gpus)
    pairs = (
        ("GPU", gpus or "none"),
        ("driver, CUDA", f"{text_or(about.driver)}, {text_or(about.cuda)}"),
        ("torch, Python", f"{text_or(target.torch)}, {text_or(target.python)}"),
        ("git", text_or(target.git)),
        ("CPU, RAM", f"{text_or(about.cpu)}, {with_unit(about.ram_mib, 'MiB')}"),
        ("system", f"{text_or(about.os)}, Linux {text_or(about.kernel)}"),
        ("container", text_or(about.container)),
        ("mgtop", text_or(about.mgtop)),
        ("its own cost", cost),
        ("lost", f"{losses.events_dropped} events, {losses.log_damaged} places of the log"),
        *(("not in the log", told(gap)) for gap in losses.log_gaps),
    )
    rows = [(name, _plain(value)) for name, value in pairs]
    return ["### Environment", "", *_table(("", ""), rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Cells are Markdown already."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _plain(text: str) -> str:
    """Text that Markdown and a terminal take as it is: nothing in it formats, links or breaks."""
    visible = "".join(c if c.isprintable() else " " for c in str(text))
    return _SPECIAL.sub(r"\\\1", " ".join(visible.split()))


def _code(text: str) -> str:
    """A command in a cell of a table."""
    visible = "".join(c if c.isprintable() else " " for c in text)
    return "`" + visible.replace("`", "'").replace("|", "¦") + "`"
