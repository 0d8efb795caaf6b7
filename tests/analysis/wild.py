"""Records of every kind with anything in them: plausible, odd, and impossible values."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from mgtop.wire import records as r

KINDS: tuple[type, ...] = get_args(r.AnyRecord)

EDGES = [0, 1, -1, 2, 1 << 31, 1 << 53, (1 << 62) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
         -(1 << 53), -(1 << 63)]  # fmt: skip
NUMBERS = st.one_of(st.integers(0, 9), st.sampled_from(EDGES), st.integers(-(1 << 63), 1 << 63))
TIMES = st.one_of(
    st.integers(0, 40).map(lambda n: n * 50_000_000),
    st.integers(0, 10**10),
    st.sampled_from(EDGES),
)
BY_NAME: dict[str, Any] = {
    "t_ns": TIMES,
    "proc": st.sampled_from([0, 4242, r.proc_of(4242, 1000), (1 << 63) - 1, -1]),
    "tid": st.sampled_from([0, 11, 12, -1]),
    "gpu": st.sampled_from([0, 1, -1, 1 << 40]),
    "request": st.sampled_from([0, 1, 2, -1]),
    "index": st.one_of(st.integers(-1, 30), st.sampled_from(EDGES)),
    "emit": st.one_of(st.integers(0, 30), st.sampled_from(EDGES)),
    "count": st.one_of(st.integers(0, 13), st.sampled_from(EDGES)),
    "route": st.sampled_from([0, 1, 3, 4, 5, -1]),
    "state": st.sampled_from(["ok", "stale", "absent", "failed", ""]),
    "kind": st.sampled_from(["oom", "error", "OutOfMemoryError", ""]),
    "relation": st.sampled_from(["target", "neighbour", ""]),
    "how": st.sampled_from(["pid", "sole_tenant", "none"]),
    "source": st.sampled_from(["probe", "nvml", "poll", "ring", "gpm", "host", ""]),
}
PARAMS = st.dictionaries(
    st.sampled_from(["fps", "steps", "w", "x"]),
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(), st.text(max_size=3)),
    max_size=3,
)
SETTINGS = st.one_of(
    st.just({}),
    st.just({"warmup": {"requests": 0, "emits": 0}, "target_fps": 16.0}),
    st.just({"detect": {"ratio": 0.5, "floor_ms": 0.0}, "playout": {"buffer_frames": 3}}),
    st.dictionaries(st.sampled_from(["warmup", "detect", "target_fps", "new"]), PARAMS),
)


def _values(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if name in BY_NAME and hint is not float:
        return BY_NAME[name]
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of(*(_values("", kind) for kind in get_args(hint)))
    if get_origin(hint) is list:
        return st.lists(_values("", get_args(hint)[0]), max_size=3)
    if get_origin(hint) is dict:
        return SETTINGS if name == "settings" else PARAMS
    simple = {
        int: NUMBERS,
        float: st.floats(),
        str: st.text(max_size=5),
        bool: st.booleans(),
        type(None): st.none(),
    }
    return simple[hint]


def any_of(kind: type) -> st.SearchStrategy[Any]:
    """Records of one kind."""
    hints = get_type_hints(kind)
    fields = [_values(name, hints[name]) for name in kind.__struct_fields__]  # type: ignore[attr-defined]
    return st.tuples(*fields).map(lambda values: kind(*values))


ANYTHING = st.one_of(
    *(any_of(kind) for kind in KINDS),
    *[any_of(r.FrameEmit)] * 8,
    *[any_of(r.SourceState)] * 3,
    *[any_of(r.StreamEnd)] * 2,
)


def frames() -> st.SearchStrategy[r.FrameEmit]:
    """Emits that make sense, out of order at times."""
    return st.builds(
        lambda t, request, emit, count, dt: r.FrameEmit(
            t * 50_000_000, 0, 4242, 11, request, emit * count, emit, count, 0, interval_ns=dt
        ),
        st.integers(0, 60), st.integers(0, 2), st.integers(0, 40), st.sampled_from([1, 1, 12]),
        st.one_of(st.none(), st.just(50_000_000)),
    )  # fmt: skip


LOGS = st.lists(st.one_of(ANYTHING, frames(), frames()), max_size=60)
