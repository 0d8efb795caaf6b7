from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mgtop.view.figures import age, age_if_late, clean, fit, gib, ms, number, percent
from mgtop.view.screens.dialogs import parse_time

S = 1_000_000_000


def test_nothing_known_is_never_zero() -> None:
    assert {number(None), ms(None), gib(None), percent(None), age(None)} == {"n/a"}
    assert [ms(0.0), percent(0.0), gib(0.0)] == ["0.0", "0 %", "0 MiB"]


@pytest.mark.parametrize(
    ("value", "shown"), [(4.25, "4.2"), (62.54, "62.5"), (212.4, "212"), (12345.6, "12,346")]
)
def test_milliseconds(value: float, shown: str) -> None:
    assert ms(value) == shown


@pytest.mark.parametrize(
    ("age_ns", "shown"),
    [(40_000_000, "40 ms"), (2_300_000_000, "2.3 s"), (99 * S, "99.0 s"), (125 * S, "2:05")],
)
def test_ages(age_ns: int, shown: str) -> None:
    assert age(age_ns) == shown


@pytest.mark.parametrize(
    ("age_ns", "usual_ms", "shown"),
    [
        (12_000_000, 62.5, "<0.2 s"),
        (199_000_000, 62.5, "<0.2 s"),
        (200_000_000, 62.5, "200 ms"),
        (2_345_000_000, 62.5, " 2.3 s"),
        (40_000_000, None, "<0.1 s"),
        (140_000_000, None, "140 ms"),
        (700_000_000, 250.0, "700 ms"),
        (400_000_000, 250.0, "<0.5 s"),
        (1_500_000_000, 1_200.0, "  <5 s"),
        (90 * S, 45_000.0, "90.0 s"),
        (None, 62.5, "n/a"),
    ],
)
def test_the_age_of_what_comes_all_the_time_is_told_where_it_is_late(
    age_ns: int | None, usual_ms: float | None, shown: str
) -> None:
    assert age_if_late(age_ns, usual_ms) == shown


@given(st.text(max_size=80), st.integers(0, 60))
def test_fit_gives_exactly_the_width(text: str, width: int) -> None:
    assert cell_len(fit(clean(text), width)) == width


@given(st.text(max_size=80))
def test_no_control_character_is_left(text: str) -> None:
    assert not any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 for sign in clean(text))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("62.5", 62.5),
        ("90s", 90),
        ("1:02", 62),
        ("1:02:03", 3723),
        (" 0:20 ", 20),
        ("2:03.5", 123.5),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == round(seconds * S)


@pytest.mark.parametrize("text", ["", "soon", "1:2:3:4", "-5", "1m", ":20"])
def test_what_is_not_a_time(text: str) -> None:
    assert parse_time(text) is None
