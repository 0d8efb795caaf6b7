"""The verdict: rule by rule, and in their order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.causes import all_causes
from mgtop.analysis.ending import ending
from mgtop.analysis.summary import (
    CauseTotal,
    Coincide,
    CpuSummary,
    FirstFrame,
    GpuSummary,
    MemorySummary,
    OomSummary,
    PeakMemory,
    Placement,
    PlayoutSummary,
    Quantiles,
    RequestSummary,
    StageMemory,
    Summary,
    Tails,
    TargetInfo,
    Verdict,
)
from mgtop.analysis.verdict import decide
from mgtop.config.structs import AnalysisSettings, Thresholds


def request(**changes: Any) -> RequestSummary:
    plain: dict[str, Any] = {
        "id": "a",
        "warmup": False,
        "received_ms": 0.0,
        "preprocess_ms": 38.0,
        "first_frame_ms": 1_120.0,
        "frames": 480,
        "blocks": 480,
        "ended": True,
        "interval_ms": Quantiles(count=478, p50=50.0, p95=55.0, p99=60.0, max=64.0),
        "tails": 0,
    }
    return RequestSummary(**{**plain, **changes})


def session(**changes: Any) -> Summary:
    """A session of 478 steady intervals on a CPU, fast enough for 16 fps."""
    plain: dict[str, Any] = {
        "requests": [request()],
        "first_frame_ms": FirstFrame(
            count=1, p50=1_120.0, max=1_120.0, preprocess_p50=38.0, sampling_p50=1_082.0
        ),
        "interval_ms": Quantiles(count=478, p50=50.0, p95=55.0, p99=60.0, max=64.0),
        "interval_ms_by_count": {"1": Quantiles(count=478, p50=50.0)},
        "fps": 20.0,
        "rtf": 0.8,
        "playout": PlayoutSummary(target_fps=16.0, keeps_up=True, underruns=0),
        "cpu": CpuSummary(process_p50=180.0),
    }
    return Summary(**{**plain, **changes})


def tails(count: int, cause: str = "blocked", lost_ms: float = 500.0, **changes: Any) -> Any:
    plain: dict[str, Any] = {"count": count, "lost_ms": lost_ms, "share_of_time": 0.02}
    return {
        "tails": Tails(**{**plain, **changes}),
        "causes": {cause: CauseTotal(frames=count, lost_ms=lost_ms)},
    }


def too_slow(**changes: Any) -> Summary:
    return session(
        rtf=1.8,
        fps=9.0,
        playout=PlayoutSummary(target_fps=16.0, keeps_up=False, underruns=30),
        **changes,
    )


def judge(summary: Summary, **thresholds: float) -> Verdict:
    return decide(summary, AnalysisSettings(thresholds=Thresholds(**thresholds)))


class TestStalls:
    def test_a_steady_rhythm_with_occasional_stalls_names_the_leading_cause(self) -> None:
        found = judge(session(**tails(4, "gc", 612.0)))
        assert (found.code, found.cause) == ("stalls", "gc")
        assert found.text == (
            "Steady rhythm with occasional stalls, not a slow first frame: "
            "4 late frames in 478 lost 612 ms; "
            "the main cause is Python garbage collection (4 of 4 late frames, 612 ms)."
        )
        assert "gc.freeze()" in found.next[0]
        assert "Measure again" in found.next[-1]
        assert any("P50 50 ms, P95 55 ms, max 64 ms over 478" in line for line in found.because)

    def test_before_a_late_frame_is_judged_nothing_is_said_of_its_cause(self) -> None:
        found = judge(session(**{**tails(1), "causes": {}}))
        assert (found.code, found.cause) == ("stalls", None)
        assert found.text.endswith("; the cause is not judged yet.")
        assert not any("spans" in line for line in found.next)

    def test_the_log_of_the_method(self) -> None:
        """Four known intervals, one of them late, nothing beside: stalls, unexplained."""
        found = judge(
            session(
                interval_ms=Quantiles(count=4, p50=49.5, p95=189.6, p99=209.1, max=214.0),
                interval_ms_by_count={"1": Quantiles(count=4)},
                cpu=CpuSummary(),
                **tails(1, "unexplained", 166.0),
            )
        )
        assert (found.code, found.cause) == ("stalls", "unexplained")
        assert found.text == (
            "Steady rhythm with occasional stalls, not a slow first frame: "
            "1 late frame in 4 lost 166 ms; "
            "nothing that was recorded explains the largest part."
        )
        assert "spans" in found.next[0]

    def test_a_slow_first_frame_beside_stalls_is_said(self) -> None:
        slow = FirstFrame(count=1, p50=3_100, p95=3_100, p99=3_100, max=3_100)
        found = judge(session(first_frame_ms=slow, **tails(4, "gc", 612.0)))
        assert found.code == "stalls"
        assert found.text.startswith(
            "Steady rhythm with occasional stalls and a slow first frame (3,100 ms): "
        )
        unknown = judge(session(first_frame_ms=FirstFrame(), **tails(4, "gc", 612.0)))
        assert unknown.text.startswith("Steady rhythm with occasional stalls: 4 late frames")

    def test_the_cause_that_lost_most_time_leads(self) -> None:
        causes = {
            "gc": CauseTotal(frames=9, lost_ms=300.0),
            "supply": CauseTotal(frames=2, lost_ms=900.0),
            "unexplained": CauseTotal(frames=1, lost_ms=50.0),
        }
        found = judge(session(tails=Tails(count=12, lost_ms=1_250.0), causes=causes))
        assert (found.code, found.cause) == ("stalls", "supply")
        assert "(2 of 12 late frames, 900 ms)" in found.text

    def test_frequent_ones_say_so(self) -> None:
        found = judge(session(**tails(60, "gc")))
        assert found.code == "stalls"
        assert found.text.startswith("It stutters often: 60 late frames in 478")
        occasional = judge(session(**tails(60, "gc")), steady_tail_share=0.2)
        assert occasional.text.startswith("Steady rhythm")

    @pytest.mark.parametrize("cause", ["supply", "output"])
    def test_frequent_ones_of_supply_or_output_take_its_code(self, cause: str) -> None:
        assert judge(session(**tails(60, cause))).code == cause
        assert judge(session(**tails(4, cause))).code == "stalls"

    def test_they_go_before_a_late_first_frame_and_a_tight_budget(self) -> None:
        first = FirstFrame(count=1, p50=5_000.0)
        found = judge(too_slow(first_frame_ms=first, **tails(4)))
        assert found.code == "stalls"
        assert any("First frame: 5,000 ms" in line for line in found.because)

    def test_where_they_stand_and_what_coincides_is_among_the_reasons(self) -> None:
        found = judge(
            session(
                **tails(
                    4,
                    placement=Placement(kind="periodic", period=15, p_value=0.001),
                    coincide=Coincide(vram_drop=3, gpu_idle=4),
                )
            )
        )
        assert "They come every 15 emits." in found.because
        assert "GPU memory fell in 3 of 4." in found.because
        assert "The GPU was idle in 4 of 4." in found.because

    @pytest.mark.parametrize("cause", [cause.name for cause in all_causes()])
    def test_every_cause_has_its_advice(self, cause: str) -> None:
        found = judge(session(**tails(4, cause)))
        assert found.cause == cause
        assert len(found.next) >= 2
        assert found.code == ("memory" if cause in ("alloc_retry", "oom", "spill") else "stalls")


class TestMemory:
    @staticmethod
    def at(share: float, **changes: Any) -> MemorySummary:
        peak = PeakMemory(mib=24_000 * share, stage="steady", t_ms=9.0, source="process")
        return MemorySummary(total_mib=24_000.0, peak=peak, **changes)

    def test_the_peak_at_the_limit(self) -> None:
        found = judge(session(memory=self.at(0.96)))
        assert found.code == "memory"
        assert "96 %" in found.text
        assert "Not the steps" in found.next[0]
        assert any("23,040 of 24,000 MiB in steady" in line for line in found.because)
        assert judge(session(memory=self.at(0.94))).code == "steady"
        assert judge(session(memory=self.at(0.94)), memory_share=0.9).code == "memory"

    def test_others_on_the_card_count_for_the_limit(self) -> None:
        stages = {"steady": StageMemory(process_mib=12_000.0, device_mib=23_500.0)}
        assert judge(session(memory=self.at(0.5, stages=stages))).code == "memory"

    def test_retries_alone(self) -> None:
        found = judge(session(memory=self.at(0.7, retries=3)))
        assert (found.code, found.cause) == ("memory", "alloc_retry")
        assert "3 times" in found.text

    @pytest.mark.parametrize(
        ("oom", "words"),
        [
            (OomSummary(stage="load", frame=None, message="m"), "the weights do not fit"),
            (OomSummary(stage="steady", frame=117, message="m"), "at frame 117"),
            (OomSummary(stage=None, frame=None, message="m"), "GPU memory ran out"),
        ],
    )
    def test_an_out_of_memory_error_goes_before_everything(
        self, oom: OomSummary, words: str
    ) -> None:
        memory = MemorySummary(ooms=[oom])
        found = judge(too_slow(memory=memory, **tails(9, "blocked")))
        assert (found.code, found.cause) == ("memory", "oom")
        assert words in found.text
        early = judge(Summary(memory=memory))
        assert early.code == "memory"

    def test_stalls_that_memory_causes(self) -> None:
        found = judge(session(memory=self.at(0.7, retries=4), **tails(4, "alloc_retry")))
        assert (found.code, found.cause) == ("memory", "alloc_retry")
        assert "4 of 4 late frames" in found.text
        assert "expandable_segments" in found.next[0]

    def test_stalls_of_another_cause_beside_a_retry_stay_stalls(self) -> None:
        found = judge(session(memory=self.at(0.7, retries=1), **tails(4, "gc")))
        assert found.code == "stalls"
        assert "Allocator retries: 1." in found.because

    def test_a_leak_is_told_with_the_frames_left(self) -> None:
        memory = self.at(0.5, shape="rising", growth_mib_per_frame=2.5, frames_to_limit=4_800)
        found = judge(session(memory=memory))
        assert any("2.50 MiB a frame, 4,800 frames to the limit" in x for x in found.because)


class TestFirstFrame:
    def test_late_first_frame_and_steady_rest(self) -> None:
        first = FirstFrame(count=3, p50=4_500.0, preprocess_p50=100.0, sampling_p50=4_400.0)
        late = [request(first_frame_ms=4_500.0)] * 3
        found = judge(session(first_frame_ms=first, requests=late))
        assert found.code == "first_frame"
        assert "4,500 ms" in found.text
        assert "steps" in found.next[0]
        assert judge(session(first_frame_ms=first, requests=late), first_frame_ms=5_000).code == (
            "steady"
        )

    def test_of_which_most_is_preprocessing(self) -> None:
        first = FirstFrame(count=1, p50=4_500.0, preprocess_p50=4_000.0, sampling_p50=500.0)
        found = judge(session(first_frame_ms=first, requests=[request(first_frame_ms=4_500.0)]))
        assert "preprocessing" in found.next[0]
        assert any("warm up" in line for line in found.next)

    def test_only_the_first_request_is_a_warm_up(self) -> None:
        requests = [
            request(id="a", warmup=True, first_frame_ms=9_000.0),
            request(id="b", first_frame_ms=900.0),
            request(id="c", first_frame_ms=950.0),
        ]
        found = judge(session(requests=requests, first_frame_ms=FirstFrame(count=2, p50=925.0)))
        assert found.code == "warmup"
        assert "9,000 ms" in found.text


class TestPace:
    def test_too_heavy_for_the_machine(self) -> None:
        found = judge(too_slow())
        assert found.code == "budget"
        assert "9.0 fps are made where 16 are played" in found.text

    def test_by_playout_where_no_rate_is_known(self) -> None:
        summary = session(rtf=None, playout=PlayoutSummary(target_fps=16.0, keeps_up=False))
        assert judge(summary).code == "budget"

    def test_an_idle_gpu_turns_it_into_supply(self) -> None:
        found = judge(too_slow(gpu=[GpuSummary(uuid="GPU-1", busy_share=0.4)]))
        assert (found.code, found.cause) == ("supply", "supply")
        assert "idle 60 % of the time" in found.text
        busy = judge(too_slow(gpu=[GpuSummary(uuid="GPU-1", busy_share=0.95)]))
        assert busy.code == "budget"

    def test_an_idle_gpu_is_fine_where_the_rate_is_kept(self) -> None:
        assert judge(session(gpu=[GpuSummary(uuid="GPU-1", busy_share=0.4)])).code == "steady"
        no_target = session(
            rtf=None, playout=PlayoutSummary(), gpu=[GpuSummary(uuid="GPU-1", busy_share=0.4)]
        )
        assert judge(no_target).code == "supply"

    def test_without_a_gpus_word_a_large_share_of_supply_spans_says_so(self) -> None:
        spans = {"decode": 10.0, "resize": 8.0, "forward": 30.0}
        found = judge(too_slow(requests=[request(spans=spans)]))
        assert (found.code, found.cause) == ("supply", "supply")
        assert "36 % of each interval" in found.text
        assert judge(too_slow(requests=[request(spans=spans)]), supply_share=0.5).code == "budget"
        assert judge(session(requests=[request(spans=spans)])).code == "steady"

    def test_requests_with_more_steps_take_longer(self) -> None:
        requests = [
            request(id=str(steps), params={"steps": steps}, interval_ms=Quantiles(count=9, p50=ms))
            for steps, ms in ((8, 60.0), (16, 110.0), (24, 170.0))
        ]
        found = judge(too_slow(requests=requests))
        assert found.code == "steps"
        assert "60 ms at 8, 170 ms at 24" in found.text
        assert judge(session(requests=requests)).code == "steady"

    def test_the_picture_stood_still_and_the_model_is_not_why(self) -> None:
        playout = PlayoutSummary(
            target_fps=16.0,
            keeps_up=True,
            underruns=3,
            stall_ms=420.0,
            smooth_buffer_ms=500.0,
            smooth_buffer_frames=8,
        )
        found = judge(session(playout=playout))
        assert found.code == "output"
        assert "8 frames" in found.next[0]

    def test_a_small_first_block_is_no_fault_of_the_output(self) -> None:
        playout = PlayoutSummary(
            target_fps=16.0,
            keeps_up=True,
            underruns=1,
            stall_ms=23.0,
            smooth_buffer_ms=23.0,
            smooth_buffer_frames=1,
        )
        found = judge(session(playout=playout))
        assert found.code == "steady"
        assert "buffer of 1 frame:" in found.next[0]


class TestStart:
    def test_late_frames_at_the_start_only(self) -> None:
        found = judge(session(**tails(3, "compile", placement=Placement(kind="start"))))
        assert (found.code, found.cause) == ("warmup", "compile")

    def test_late_frames_inside_the_warm_up_only(self) -> None:
        found = judge(session(tails=Tails(warmup=2)))
        assert found.code == "warmup"
        assert "2 late frames" in found.text


class TestLittleKnown:
    def test_nothing_at_all(self) -> None:
        found = judge(Summary())
        assert found.code == "undecided"
        assert "No frame has come yet" in found.text
        assert found.next

    def test_a_frame_or_two(self) -> None:
        found = judge(Summary(requests=[request(frames=2, interval_ms=Quantiles())]))
        assert found.code == "undecided"
        assert "2 frames so far" in found.text

    def test_few_intervals_say_that_they_are_few(self) -> None:
        few = Quantiles(count=3, p50=50.0, p95=50.0, max=50.0)
        found = judge(session(interval_ms=few, interval_ms_by_count={"1": few}))
        assert found.code == "steady"
        assert "only 3 intervals so far" in found.text

    def test_a_steady_session_without_a_gpu(self) -> None:
        found = judge(session())
        assert (found.code, found.cause) == ("steady", None)
        assert found.text == "The rhythm is steady, fast enough for 16 fps: no late frame."


optional = st.none() | st.floats(0, 1e6)
shares = st.none() | st.floats(0, 2)


@given(
    st.builds(
        Summary,
        requests=st.lists(st.just(request()), max_size=2),
        first_frame_ms=st.builds(FirstFrame, p50=optional, preprocess_p50=optional),
        interval_ms=st.builds(Quantiles, count=st.integers(0, 99), p50=optional, max=optional),
        rtf=shares,
        fps=optional,
        playout=st.builds(
            PlayoutSummary,
            keeps_up=st.none() | st.booleans(),
            underruns=st.none() | st.integers(0, 9),
            stall_ms=optional,
            smooth_buffer_frames=st.none() | st.integers(0, 9),
        ),
        tails=st.builds(Tails, count=st.integers(0, 9), warmup=st.integers(0, 3)),
        causes=st.dictionaries(
            st.sampled_from([*[c.name for c in all_causes()], "unexplained", "new_one"]),
            st.builds(CauseTotal, frames=st.integers(1, 9), lost_ms=st.floats(0, 1e6)),
        ),
        memory=st.builds(MemorySummary, total_mib=optional, retries=st.none() | st.integers(0, 9)),
        gpu=st.lists(st.builds(GpuSummary, uuid=st.just("g"), busy_share=shares), max_size=2),
    )
)
def test_whatever_is_known_there_is_one_plain_sentence(summary: Summary) -> None:
    found = decide(summary, AnalysisSettings())
    assert found.text.endswith(".")
    assert "None" not in found.text
    assert "nan" not in found.text
    assert found.next
    assert all(line.endswith(".") for line in [*found.because, *found.next])
    assert not any("None" in line for line in [*found.because, *found.next])
    msgspec.json.encode(found)
    assert found == decide(summary, AnalysisSettings())


KILLED, KERNEL = (
    "The program was ended by signal 9 before its first frame",
    "the kernel's OOM killer",
)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (TargetInfo(exit_code=1), "The program ended with exit code 1 before its first frame."),
        (TargetInfo(exit_signal=11), "The program was ended by signal 11 before its first frame."),
        (TargetInfo(exit_signal=9), f"{KILLED}; whether {KERNEL} sent it cannot be told."),
        (
            TargetInfo(exit_signal=9, oom_kills=0),
            f"{KILLED}; {KERNEL} counted no kill in its control group.",
        ),
    ],
)
def test_a_program_that_failed_before_its_first_frame(target: TargetInfo, says: str) -> None:
    found = judge(Summary(target=target))
    assert found.code == "undecided"
    assert found.text == says
    assert "stdout.log" in found.next[0]


@pytest.mark.parametrize(
    ("target", "how"),
    [
        (TargetInfo(exit_signal=9, oom_kills=1), "was killed by signal 9"),
        (TargetInfo(exit_code=137, oom_kills=2), "ended with exit code 137"),  # below a shell
        (TargetInfo(oom_kills=1), "ended"),  # attached: its exit is its parent's alone
    ],
)
def test_a_kill_that_the_kernel_counted_is_a_matter_of_main_memory(
    target: TargetInfo, how: str
) -> None:
    found = judge(Summary(target=target))
    assert found.code == "memory"
    assert found.text.startswith(f"The program {how} after 0 frames, and {KERNEL} counted ")
    assert "not the GPU's" in found.text
    assert not any("resolution" in line for line in found.next)


def test_a_kill_in_its_group_explains_no_other_end() -> None:
    target = TargetInfo(exit_code=1, oom_kills=1)
    assert judge(Summary(target=target)).code == "undecided"
    assert ending(target) == f"exit code 1; {KERNEL} counted one more kill in its control group"


def test_frames_that_had_stopped_at_the_end_are_no_reason_to_be_content() -> None:
    found = judge(session(requests=[request(ended=False, stopped_ms=2_801.0)]))
    assert found.code == "steady"
    assert "no late frame. Then none came for 2,801 ms, until the end." in found.text
    assert any("No frame came in the last 2,801 ms" in line for line in found.because)
    assert "after its last frame" in found.next[0]
    assert not any(line.startswith("Nothing to change") for line in found.next)
