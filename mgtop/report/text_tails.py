"""Sections of the text report about long-tail frames and their causes."""

from __future__ import annotations

from mgtop.analysis.summary import Evidence, Summary, Tail
from mgtop.report.numbers import NOT_KNOWN, number, plural, share, whole, with_unit, yes_no
from mgtop.report.page import Page

_MOST_TAILS = 10
_MOST_EVIDENCE = 3
_BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least "}


def tails(page: Page, summary: Summary) -> None:
    """Long-tail frames, ranked by the time that they lost."""
    found = summary.tails
    if found.count:
        page.heading(
            "TAILS",
            f"{plural(found.count, 'long-tail emit')}, {with_unit(found.lost_ms, 'ms')} lost: "
            f"{share(found.share_of_lost)} of all lost time, {share(found.share_of_time)} of "
            "the time",
        )
        page.pair("where", placement(summary))
        symptoms = found.coincide
        page.pair(
            "symptoms",
            f"vram_drop at {whole(symptoms.vram_drop)}, gpu_idle at {whole(symptoms.gpu_idle)}",
        )
    else:
        page.heading("TAILS", "none" if summary.interval_ms.count else NOT_KNOWN)
    if found.level_shifts:
        page.pair("level shifts", whole(found.level_shifts))
    if found.warmup:
        page.pair("in warm-up", f"{whole(found.warmup)}, in no statistic")
    _ranked(page, found.frames)


def placement(summary: Summary) -> str:
    """Where tails stand, in words."""
    where = summary.tails.placement
    chance = "" if where.p_value is None else f" (chance of that at random: {where.p_value:.2g})"
    if where.kind == "fixed":
        return f"at index {whole(where.index)} in every request{chance}"
    if where.kind == "periodic":
        return f"every {whole(where.period)} emits{chance}"
    if where.kind == "random":
        return f"at random places{chance}"
    if where.kind == "start":
        return "only at the start"
    return "not decided (too few tails, or no clear pattern)"


def causes(page: Page, summary: Summary) -> None:
    """Tails by their main cause, the costliest first."""
    if not summary.causes:
        return
    page.heading("CAUSES", "of the tails, by lost time")
    ranked = sorted(summary.causes.items(), key=lambda item: (-item[1].lost_ms, item[0]))
    rows = [(name, whole(total.frames), number(total.lost_ms)) for name, total in ranked]
    page.table(("cause", "tails", "ms lost"), rows, left=("cause",))


def _ranked(page: Page, frames: list[Tail]) -> None:
    if not frames:
        return
    ranked = sorted(frames, key=lambda tail: (-tail.excess_ms, tail.t_ms, tail.request, tail.index))
    shown = ranked[:_MOST_TAILS]
    rows = [
        (
            str(rank),
            f"{tail.t_ms / 1000:.2f}",
            tail.request,
            str(tail.index),
            str(tail.count),
            number(tail.interval_ms),
            number(tail.excess_ms),
            yes_no(tail.visible),
            tail.cause or "pending",
        )
        for rank, tail in enumerate(shown, 1)
    ]
    head = ("#", "at s", "request", "index", "n", "ms", "excess", "seen", "cause")
    page.table(head, rows, left=("request", "cause"))
    for rank, tail in enumerate(shown, 1):
        for number_of_line, line in enumerate(explanation(tail)):
            page.text(line, indent=4, bullet=f"{rank}. " if number_of_line == 0 else "   ")
    if len(ranked) > len(shown):
        page.text(f"and {len(ranked) - len(shown):,} more (--json lists all)")


def explanation(tail: Tail) -> list[str]:
    """What proves a tail's cause, in a few lines; empty where nothing is known about it."""
    lines = []
    if tail.causes:
        parts = [
            f"{part.name} {_BOUNDS[part.bound]}{with_unit(part.explained_ms, 'ms')}"
            for part in tail.causes
        ]
        lines.append(f"{', '.join(parts)} of {with_unit(tail.excess_ms, 'ms')} excess")
    names = [part.name for part in tail.causes]
    present = [one for one in tail.evidence if one.state == "present"]
    present.sort(key=lambda one: names.index(one.channel) if one.channel in names else len(names))
    lines.extend(_evidence(one) for one in present[:_MOST_EVIDENCE])
    if len(present) > _MOST_EVIDENCE:
        more = ", ".join(one.channel for one in present[_MOST_EVIDENCE:])
        lines.append(f"also present: {more}")
    for state, words in (("absent", "absent"), ("not_resolved", "not resolved")):
        channels = [one.channel for one in tail.evidence if one.state == state]
        if channels:
            lines.append(f"{words}: {', '.join(channels)}")
    return lines


def _evidence(one: Evidence) -> str:
    value = "" if one.value is None else f" {number(one.value)} {one.unit or ''}".rstrip()
    details = []
    if one.source:
        details.append(one.source)
    if one.period_ms is not None:
        details.append(f"every {with_unit(one.period_ms, 'ms')}")
    if one.lead_ms is not None:
        details.append(f"began {with_unit(one.lead_ms, 'ms')} before the end")
    return f"{one.channel}{value}" + (f" ({', '.join(details)})" if details else "")
