"""The verdict for a session: one plain sentence, its reasons, and what to do next.

The rules are tried in this order (docs/verdict.md); the first that fits decides:

memory (killed by the kernel, an out-of-memory error, or stalls that memory causes) ·
warmup (only the start stutters) · stalls (also as supply or output, where these cause
frequent ones) · first_frame · memory (peak at the limit, or allocator retries) · steps ·
budget · supply · output · steady. Without frames to judge: undecided.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from mgtop.analysis import reasons, reasons_memory, shares
from mgtop.analysis.causes import Cause, find_cause
from mgtop.analysis.ending import killed, killer
from mgtop.analysis.spans import role_of
from mgtop.analysis.summary import Summary, Verdict
from mgtop.analysis.wording import ms, of, percent, plural
from mgtop.config.structs import AnalysisSettings

MEMORY_CAUSES = ("alloc_retry", "oom", "spill")
FEW = 8
"""With fewer intervals than this, the sentence says that it rests on few."""
STEEPER = 1.1
"""A median interval longer by this factor is taken to have grown with the steps."""

WARM_UP = (
    "Run a warm-up request of the same size, with two blocks or more, before the first "
    "viewer comes."
)
LESS_MEMORY = (
    "Lower the resolution by one notch; then frames per batch and concurrency to 1; then "
    "shorten the state cache. Not the steps: they do not change the peak."
)
HOW_TO_TELL = (
    "Say where its frames come from: frames.hooks in a configuration (mgtop init writes one), "
    "probe.frame() in the program, or frames.log for what it prints."
)
MORE_SPANS = (
    "Put spans around decode, resize, upload, the model's steps, encode and write, so that "
    "the lost time can be named."
)
WHY_STOPPED = (
    "See what the program did after its last frame (its output; py-spy dump while it stands "
    "still). Where it was done, let it say so: the request's end, or a hook with stream_end."
)


SMALL_BUFFER = 1.5
"""A buffer of so many usual intervals is what smooth play needs anyway, no fault."""


def decide(summary: Summary, settings: AnalysisSettings) -> Verdict:
    """Judge a session by its summary (whose own ``verdict`` is not looked at)."""
    by_kernel = killed(summary)
    if by_kernel is not None:
        return by_kernel
    judge = _Judge(summary, settings)
    for rule in (
        judge.memory_error,
        judge.undecided,
        judge.warmup,
        judge.stalls,
        judge.first_frame,
        judge.memory_limit,
        judge.steps,
        judge.budget,
        judge.supply,
        judge.output,
    ):
        verdict = rule()
        if verdict is not None:
            return verdict
    return judge.steady()


class _Judge:
    """One method per rule: a verdict, or None where the rule does not fit."""

    def __init__(self, summary: Summary, settings: AnalysisSettings) -> None:
        self.summary, self.settings = summary, settings
        self.thresholds = settings.thresholds
        self.too_slow = shares.too_slow(summary)
        self.gpu_idles = shares.gpu_idles(summary, self.thresholds)
        self.supply_share = shares.of_supply(summary, self.thresholds)
        self.memory_share = shares.of_memory(summary)
        self.judged = sum(quantiles.count for quantiles in summary.interval_ms_by_count.values())
        self.judged = max(self.judged, summary.interval_ms.count)
        ranked = sorted(
            summary.causes.items(), key=lambda item: (-item[1].lost_ms, -item[1].frames, item[0])
        )
        self.leading = ranked[0][0] if ranked else None
        """The cause that lost most time, ``unexplained`` among them."""

    # ------------------------------------------------------------------------------- rules

    def memory_error(self) -> Verdict | None:
        """Rule 2, where it cannot wait: memory ran out, or memory causes the stalls."""
        memory = self.summary.memory
        if memory.ooms:
            oom = memory.ooms[0]
            where = {None: "", "load": " while the model was loading", "idle": " between requests"}
            stage = where.get(oom.stage)
            if stage is None:
                stage = f" at frame {oom.frame}" if oom.frame is not None else " while it ran"
            if oom.stage == "load":
                text = f"GPU memory ran out{stage}: the weights do not fit as configured."
            else:
                text = f"GPU memory ran out{stage}: this setting needs more than the card has."
            return self._memory(text, "oom", reasons_memory.oom(oom))
        spilled = reasons_memory.spill(memory)
        if spilled is not None:
            return self._memory(spilled, "spill", [])
        if self.summary.tails.count and self.leading in MEMORY_CAUSES:
            cause = find_cause(self.leading)
            says = cause.summary if cause is not None else self.leading
            text = f"Memory makes it stutter: {says}, in {self._frames_of(self.leading)}."
            return self._memory(text, self.leading, reasons.tails(self.summary))
        return None

    def undecided(self) -> Verdict | None:
        """Nothing to judge yet."""
        if self.judged:
            return None
        frames = sum(request.frames for request in self.summary.requests)
        advice = self.summary.target.advice
        if advice is not None:
            return Verdict(
                code="undecided",
                text=f"Nothing tells of this program's frames. To see them, run it as: {advice}",
                because=reasons.memory(self.summary),
                next=["Run it so; or attach with --inject; or put probe.frame() into it."],
            )
        failed = reasons.failed(self.summary)
        if not frames and failed is not None:
            target = self.summary.target
            kernel = killer(target.exit_signal, target.oom_kills)
            return Verdict(
                code="undecided",
                text=f"The program {failed} before its first frame"
                + (f"; {kernel}." if kernel else "."),
                because=reasons.memory(self.summary),
                next=["Read the end of what it printed: stdout.log in the session's folder."],
            )
        said = [notice.text for notice in self.summary.notices if notice.source != "sinks"]
        if not frames and said:
            return Verdict(
                code="undecided",
                text=f"No frame has come yet. {said[0]}",
                because=reasons.memory(self.summary),
                next=[*said[1:], HOW_TO_TELL],
            )
        landed = reasons.landed(self.summary)
        if landed is not None:
            return Verdict(
                code="undecided",
                text=landed,
                because=reasons.memory(self.summary),
                next=[HOW_TO_TELL],
            )
        if not frames:
            text = "No frame has come yet, so there is nothing to judge."
        else:
            text = f"Too few frames to judge the rhythm: {plural(frames, 'frame')} so far."
        return Verdict(
            code="undecided",
            text=text,
            because=[*reasons.first_frame(self.summary), *reasons.memory(self.summary)],
            next=["Let it run for at least a minute of frames after the warm-up."],
        )

    def warmup(self) -> Verdict | None:
        """Rule 6: only the start of the session stutters."""
        tails = self.summary.tails
        only_start = tails.count > 0 and tails.placement.kind == "start"
        only_before = tails.count == 0 and tails.warmup > 0
        if not (only_start or only_before):
            return None
        late = tails.count + tails.warmup
        return Verdict(
            code="warmup",
            cause=self.leading if tails.count else None,
            text=f"Only the start stutters ({plural(late, 'late frame')}); "
            "after that the rhythm is steady.",
            because=[*reasons.rhythm(self.summary), *reasons.tails(self.summary)],
            next=[
                WARM_UP,
                self._again("the first-frame latency and the late frames at the start"),
            ],
        )

    def stalls(self) -> Verdict | None:
        """Rule 0: a steady rhythm with occasional stalls; or stalls often."""
        tails = self.summary.tails
        if not tails.count or not self.judged:
            return None
        often = tails.count > max(1.0, self.thresholds.steady_tail_share * self.judged)
        cause = find_cause(self.leading)
        lost = f"{plural(tails.count, 'late frame')} in {self.judged:,} lost {ms(tails.lost_ms)}"
        rhythm = "Steady rhythm with occasional stalls" + self._beside_first_frame()
        if often:
            rhythm = "It stutters often"
        text = f"{rhythm}: {lost}; {self._why(cause)}."
        code = "stalls"
        if often and self.leading in ("supply", "output"):
            code = self.leading
        return Verdict(
            code="supply" if code == "supply" else "output" if code == "output" else "stalls",
            cause=self.leading,
            text=text,
            because=[
                *reasons.tails(self.summary),
                *reasons.rhythm(self.summary),
                *reasons.first_frame(self.summary),
                *reasons.memory(self.summary),
            ],
            next=[*self._remedies(cause), self._again("the P95 and the number of late frames")]
            if self.leading is not None
            else ["Wait two seconds: causes are named once every source has reported."],
        )

    def first_frame(self) -> Verdict | None:
        """Rule 1: the first frame is late, the rest steady."""
        first, most = self.summary.first_frame_ms, self.thresholds.first_frame_ms
        warm = [r.first_frame_ms for r in self.summary.requests if r.first_frame_ms is not None]
        if first.p50 is None or first.p50 <= most:
            if len(warm) > 1 and warm[0] > most >= max(warm[1:]):
                return Verdict(
                    code="warmup",
                    text=f"Only the first request starts late ({ms(warm[0])}); "
                    "later ones start in time.",
                    because=[*reasons.first_frame(self.summary), *reasons.rhythm(self.summary)],
                    next=[
                        "Run one request before the first viewer comes.",
                        "Measure again: the first-frame latency of the first request.",
                    ],
                )
            return None
        text = f"The first frame is late ({ms(first.p50)}), the rest comes steadily."
        advice = "Fewer steps for the first frame, or a lower resolution."
        if first.preprocess_p50 is not None and first.preprocess_p50 > 0.5 * first.p50:
            advice = "Most of it is preprocessing: prepare the input faster or ahead of need."
        return Verdict(
            code="first_frame",
            text=text,
            because=[*reasons.first_frame(self.summary), *reasons.rhythm(self.summary)],
            next=[
                advice,
                *(
                    ["If it is the first request of the process, warm up with one before it."]
                    if len(warm) < 2
                    else []
                ),
                self._again("the first-frame latency, and a table of it by steps"),
            ],
        )

    def memory_limit(self) -> Verdict | None:
        """Rule 2: memory at its limit, or the allocator asked again."""
        memory = self.summary.memory
        share = self.memory_share
        if share is not None and share >= self.thresholds.memory_share:
            return self._memory(
                f"GPU memory is nearly full ({percent(share)} at its peak): it will stall or "
                "run out sooner or later.",
                None,
                [],
            )
        if memory.retries:
            return self._memory(
                f"The GPU allocator ran short and asked again {plural(memory.retries, 'time')}: "
                "memory is the bottleneck to clear first.",
                "alloc_retry",
                [],
            )
        rises = reasons_memory.runs_out(memory)
        if rises is not None:
            return Verdict(
                code="memory",
                text=rises,
                because=reasons.memory(self.summary),
                next=[reasons_memory.RELEASE],
            )
        return None

    def steps(self) -> Verdict | None:
        """Rule 3: requests with more steps take longer per frame, and it matters."""
        by_steps: dict[float, list[float]] = {}
        for request in self.summary.requests:
            steps = request.params.get("steps")
            if isinstance(steps, (int, float)) and request.interval_ms.p50 is not None:
                by_steps.setdefault(float(steps), []).append(request.interval_ms.p50)
        if len(by_steps) < 2 or not self.too_slow:
            return None
        rows = [(steps, median(found)) for steps, found in sorted(by_steps.items())]
        grows = all(a[1] < b[1] for a, b in pairwise(rows))
        if not grows or rows[-1][1] < STEEPER * rows[0][1]:
            return None
        return Verdict(
            code="steps",
            text=f"Frames take longer with more steps ({ms(rows[0][1])} at {rows[0][0]:g}, "
            f"{ms(rows[-1][1])} at {rows[-1][0]:g}): fewer steps bring most.",
            because=[f"{steps:g} steps: {ms(found)} per block" for steps, found in rows],
            next=[
                "Take fewer steps; then skip work that only the first frame needs.",
                self._again("the step table"),
            ],
        )

    def budget(self) -> Verdict | None:
        """Rule 4: every frame is too slow for the target, with no stalls to blame."""
        if (
            not self.too_slow
            or self.gpu_idles
            or shares.of_supply(self.summary, self.thresholds) is not None
        ):
            return None
        fps, target = self.summary.fps, self.summary.playout.target_fps
        made = f"{fps:.1f} fps" if fps is not None else "fewer"
        wanted = f"{target:g}" if target is not None else "wanted"
        return Verdict(
            code="budget",
            text=f"It cannot keep up: {made} are made where {wanted} are played; the settings "
            "are too heavy for this machine at this rate.",
            because=[
                *reasons.rhythm(self.summary),
                *reasons.spans(self.summary),
                *reasons.resources(self.summary),
            ],
            next=[
                "Lower the resolution or the steps by one notch, or the target frame rate.",
                self._again("the median interval against the frame budget"),
            ],
        )

    def supply(self) -> Verdict | None:
        """Rule 5: memory is free, the GPU often waits, and the pace suffers or may.

        Where no GPU was read: supply takes a large share of intervals that are too long.
        """
        share = shares.of_supply(self.summary, self.thresholds) if self.too_slow else None
        if share is not None:
            return Verdict(
                code="supply",
                cause="supply",
                text=f"It cannot keep up, and decode, resize and upload take {percent(share)} "
                "of each interval.",
                because=[*reasons.spans(self.summary), *reasons.rhythm(self.summary)],
                next=[
                    *self._remedies(find_cause("supply")),
                    self._again("these spans and the median interval"),
                ],
            )
        if not self.gpu_idles or self.summary.playout.keeps_up is True:
            return None
        busy = min(g.busy_share for g in self.summary.gpu if g.busy_share is not None)
        spans = {role_of(name): 0.0 for request in self.summary.requests for name in request.spans}
        watched = "" if "supply" in spans else " (no span of decode, resize or upload was seen)"
        return Verdict(
            code="supply",
            cause="supply",
            text=f"The GPU is idle {percent(1 - busy)} of the time: it waits for the CPU to "
            f"supply it{watched}.",
            because=[
                *reasons.resources(self.summary),
                *reasons.spans(self.summary),
                *reasons.rhythm(self.summary),
            ],
            next=[
                *self._remedies(find_cause("supply")),
                self._again("the GPU's busy share and the median interval"),
            ],
        )

    def output(self) -> Verdict | None:
        """Rule 7: the picture stood still, and none of the above tells why."""
        playout = self.summary.playout
        if not playout.underruns or self._only_a_buffer():
            return None
        stood = f" for {ms(playout.stall_ms)}" if playout.stall_ms is not None else ""
        return Verdict(
            code="output",
            text=f"The model keeps its pace, yet the picture stood still "
            f"{plural(playout.underruns, 'time')}{stood}: look at encoding, decoding and the "
            "way to the viewer.",
            because=[
                *reasons.rhythm(self.summary),
                *reasons.playout(self.summary),
                *reasons.spans(self.summary),
            ],
            next=[
                f"Start playing with a buffer of {plural(playout.smooth_buffer_frames, 'frame')}."
                if playout.smooth_buffer_frames
                else "Start playing with a larger buffer.",
                self._again("the underruns"),
            ],
        )

    def steady(self) -> Verdict:
        """Nothing to complain of."""
        few = f" (only {plural(self.judged, 'interval')} so far)" if self.judged < FEW else ""
        pace = ""
        if self.summary.playout.keeps_up and self.summary.playout.target_fps is not None:
            pace = f", fast enough for {self.summary.playout.target_fps:g} fps"
        stopped = reasons.stopped_ms(self.summary)
        until = "" if stopped is None else f" Then none came for {ms(stopped)}, until the end."
        return Verdict(
            code="steady",
            text=f"The rhythm is steady{pace}{few}: no late frame.{until}",
            because=[
                *reasons.rhythm(self.summary),
                *reasons.first_frame(self.summary),
                *reasons.memory(self.summary),
                *reasons.resources(self.summary),
            ],
            next=[
                *self._buffer(),
                *([WHY_STOPPED] if stopped is not None else []),
                "Nothing else to change; a longer run shows whether memory stays flat."
                if self._only_a_buffer() or stopped is not None
                else "Nothing to change; a longer run shows whether memory stays flat.",
            ],
        )

    def _only_a_buffer(self) -> bool:
        """Whether the picture stood still only because play began with too little.

        The first block of these models is smaller than the rest, so a player that starts
        with it alone waits for the second one, however well the model keeps its pace.
        """
        playout, usual = self.summary.playout, self.summary.interval_ms.p50
        if not playout.underruns or playout.smooth_buffer_ms is None or usual is None:
            return False
        return playout.smooth_buffer_ms <= SMALL_BUFFER * usual

    def _buffer(self) -> list[str]:
        frames = self.summary.playout.smooth_buffer_frames
        if not self._only_a_buffer() or not frames:
            return []
        text = f"Start playing with a buffer of {plural(frames, 'frame')}: with the first block "
        return [text + "alone the picture stands still until the second one comes."]

    # ----------------------------------------------------------------------------- helpers

    def _memory(self, text: str, cause: str | None, first: list[str]) -> Verdict:
        remedies = [LESS_MEMORY]
        if cause == "alloc_retry":
            remedies = [*self._remedies(find_cause(cause)), *remedies]
        return Verdict(
            code="memory",
            cause=cause,
            text=text,
            because=[*first, *reasons.memory(self.summary)],
            next=[*remedies, self._again("the memory curve and its peak's stage")],
        )

    def _beside_first_frame(self) -> str:
        """What a sentence on the rhythm adds on the first frame, where it is known."""
        first = self.summary.first_frame_ms.p50
        if first is None:
            return ""
        if first > self.thresholds.first_frame_ms:
            return f" and a slow first frame ({ms(first)})"
        return ", not a slow first frame"

    def _frames_of(self, cause: str) -> str:
        total = self.summary.causes.get(cause)
        frames = total.frames if total is not None else 0
        return of(frames, self.summary.tails.count, "late frame")

    def _why(self, cause: Cause | None) -> str:
        if self.leading is None:
            return "the cause is not judged yet"
        total = self.summary.causes.get(cause.name) if cause is not None else None
        if cause is None or total is None:
            return "nothing that was recorded explains the largest part"
        share = f"{self._frames_of(cause.name)}, {ms(total.lost_ms)}"
        return f"the main cause is {cause.summary} ({share})"

    @staticmethod
    def _remedies(cause: Cause | None) -> list[str]:
        if cause is not None:
            return [cause.remedy]
        return [MORE_SPANS]

    @staticmethod
    def _again(what: str) -> str:
        return f"Measure again after the change: {what}."
