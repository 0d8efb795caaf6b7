"""What else differed between rounds."""

from __future__ import annotations

from typing import Any

from mgtop.analysis.summary import Environment, GpuInfo, Summary, TargetInfo
from mgtop.rounds.surroundings import Surroundings, SurroundingsLog, differences, is_loaded
from mgtop.wire import records as r

S = 1_000_000_000
MIB = 1 << 20


def cpu(t_s: float, busy_s: float, tree_s: float | None, steal_s: float | None = None) -> Any:
    return r.HostCpu(
        round(t_s * S), 4, round(busy_s * S), 0, None if tree_s is None else round(tree_s * S), 1,
        1, steal_ns=None if steal_s is None else round(steal_s * S),
    )  # fmt: skip


def frame(t_s: float) -> Any:
    return r.FrameEmit(round(t_s * S), 1, 7, 7, 1, 0, 0, 1)


def result(*records: Any) -> Surroundings:
    log = SurroundingsLog()
    for record in records:
        log.feed(record)
    return log.result(Summary())


def test_other_load_is_what_neither_the_program_nor_mgtop_used() -> None:
    found = result(
        cpu(0, 0, 0), cpu(1, 4, 0), frame(1.5), r.Observer(S, 0), r.Observer(11 * S, S),
        cpu(11, 4 + 15, 4),
    )  # fmt: skip
    assert found.other_cores == (15 - 4 - 1) / 10  # since the last reading before frames came
    assert found.cores == 4


def test_what_was_not_read_is_not_known() -> None:
    assert result().other_cores is None
    assert result(cpu(0, 0, None), frame(0), cpu(5, 5, None)).other_cores is None
    assert result().neighbours_mib is None
    assert result(r.GpuDevice(0, 0, "u", "g", 1)).neighbours_mib == 0


def test_neighbours_on_the_gpu() -> None:
    def held(pid: int, mib: int, relation: str = "neighbour") -> Any:
        return r.GpuProcess(0, 0, pid, mib * MIB, relation, "pid", f"p{pid}")

    found = result(held(1, 100), held(2, 50), held(1, 0), held(3, 900, "target"))
    assert found.neighbours_mib == 150
    assert found.neighbours == ["p1", "p2"]


def test_the_summary_tells_versions() -> None:
    summary = Summary(
        target=TargetInfo(git="abc", torch="2.9", gpus=[GpuInfo(uuid="u", name="n", total_mib=1)]),
        environment=Environment(driver="580"),
    )
    found = SurroundingsLog().result(summary)
    assert (found.git, found.torch, found.driver, found.gpu) == ("abc", "2.9", "580", "u")


def test_the_odd_one_out_says_so() -> None:
    same = Surroundings(git="abc", driver="580")
    notes = differences([same, Surroundings(git="abc-dirty", driver="580"), None, same])
    assert notes == [[], ["the program's git state was abc-dirty, not abc"], [], []]
    assert differences([same, Surroundings()]) == [[], []]  # not known is no difference


def test_other_load_stands_out_from_the_middle() -> None:
    quiet = Surroundings(other_cores=0.1, cores=2)
    busy = Surroundings(other_cores=1.3, cores=2, stolen_share=0.3)
    notes = differences([quiet, busy, quiet, Surroundings(other_cores=0.3, cores=2)])
    assert notes[1][0].startswith("other programs used 1.3 of 2 cores (0.2 in the middle round)")
    assert notes[0] == notes[2] == notes[3] == []


def test_stolen_time_and_neighbours_are_told() -> None:
    usual = Surroundings(stolen_share=0.0, neighbours_mib=0.0)
    odd = Surroundings(stolen_share=0.2, neighbours_mib=3000.0, neighbours=["train.py"])
    notes = differences([usual, odd, usual])[1]
    assert "the machine's host took 20 % of its time" in notes
    assert any("(train.py) held 3,000 MiB" in note for note in notes)


def test_against_the_first() -> None:
    notes = differences(
        [Surroundings(other_cores=0.0, git="a"), Surroundings(other_cores=2.0, git="b")],
        against_first=True,
    )
    assert notes[0] == []
    assert notes[1][0] == "the program's git state was b, not a"
    assert "2.0 cores (0.0 in the first)" in notes[1][1]


def test_a_busy_machine_is_known_as_one() -> None:
    assert is_loaded(Surroundings(other_cores=0.3, cores=2))
    assert not is_loaded(Surroundings(other_cores=0.3, cores=16))
    assert not is_loaded(Surroundings(other_cores=0.1, cores=1))
    assert not is_loaded(Surroundings())
