"""Rows of ``nvidia-smi --query-compute-apps`` → records of processes on GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mgtop.record.limits import clean
from mgtop.record.smi.tables import Row
from mgtop.record.smi.values import bytes_of, whole
from mgtop.wire.records import GpuProcess


def processes(
    rows: Sequence[tuple[int, Row]],
    mine: frozenset[int],
    number: Callable[[Row], int],
    period_ns: int,
) -> Iterator[GpuProcess]:
    """The records, in the order of time.

    A table lists who is there, query after query: who is missing from the next query has left
    the device by then. Where nobody is left there is no row, so the last ones stay.

    Args:
        rows: in the order of time.
        mine: pids of the program; none: which it is cannot be told, so that nothing is (a
            neighbour would be blamed for what the program did itself).
        number: which GPU a row is about.
        period_ns: usual time between two queries.
    """
    if not mine:
        return
    before: dict[tuple[int, int], GpuProcess] = {}
    for query in _queries(rows, number, period_ns):
        now: dict[tuple[int, int], GpuProcess] = {}
        for t_ns, gpu, pid, row in query:
            now[gpu, pid] = GpuProcess(
                t_ns=t_ns,
                gpu=gpu,
                pid=pid,
                used_bytes=bytes_of(row.number("process_mib")),
                relation="target" if pid in mine else "neighbour",
                how="sole_tenant" if pid in mine else "none",
                name=clean(row.text("process"))[:200],
            )
        for key, gone in before.items():
            if key not in now:
                yield GpuProcess(
                    query[0][0], gone.gpu, gone.pid, 0, gone.relation, gone.how, gone.name
                )
        yield from now.values()
        before = now


def _queries(
    rows: Sequence[tuple[int, Row]], number: Callable[[Row], int], period_ns: int
) -> Iterator[list[tuple[int, int, int, Row]]]:
    """The rows of each query: close together in time, and no process twice."""
    query: list[tuple[int, int, int, Row]] = []
    seen: set[tuple[int, int]] = set()
    for t_ns, row in rows:
        pid = whole(row.number("pid"))
        if pid is None:
            continue
        gpu = number(row)
        if query and ((gpu, pid) in seen or t_ns - query[0][0] > period_ns // 2):
            yield query
            query, seen = [], set()
        query.append((t_ns, gpu, pid, row))
        seen.add((gpu, pid))
    if query:
        yield query
