"""What a terminal promises, by its environment."""

from __future__ import annotations

import pytest

from mgtop.record.health.finding import Finding
from mgtop.record.health.terminal import Terminal, check_terminal, this_terminal

BIG = (120, 40)


def look(
    size: tuple[int, int] | None = BIG, encoding: str = "utf-8", **environment: str
) -> dict[str, Finding]:
    terminal = Terminal(environment, size, encoding)
    return {f.id.partition(".")[2]: f for f in check_terminal(terminal)}


def test_a_good_one() -> None:
    found = look(TERM="xterm-256color", COLORTERM="truecolor")
    assert {f.state for f in found.values()} == {"ok"}
    assert found["colours"].measured["colours"] == 1 << 24
    assert found["size"].value == "120×40"


@pytest.mark.parametrize(
    ("environment", "colours", "state"),
    [
        ({"TERM": "xterm-256color"}, 256, "ok"),
        ({"TERM": "xterm-kitty"}, 256, "ok"),
        ({"TERM": "xterm", "COLORTERM": "24bit"}, 1 << 24, "ok"),
        ({"TERM": "xterm"}, 16, "weak"),
        ({"TERM": "linux"}, 16, "weak"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "COLORTERM": "truecolor"}, 0, "ok"),
        ({"TERM": "dumb"}, 0, "weak"),
    ],
)
def test_colours(environment: dict[str, str], colours: int, state: str) -> None:
    found = look(**environment)["colours"]
    assert (found.measured["colours"], found.state) == (colours, state)


def test_over_ssh_it_says_where_the_colours_were_lost() -> None:
    found = look(TERM="xterm-256color", SSH_CONNECTION="1 2 3 4")
    assert found["kind"].value == "xterm-256color, through ssh"
    assert found["colours"].value == "256 (SSH does not pass COLORTERM on)"


def test_in_tmux_the_remedy_is_tmuxs() -> None:
    found = look(TERM="screen", TMUX="/tmp/tmux-0/default,1,0", SSH_CONNECTION="1 2 3 4")
    assert found["kind"].value == "screen, through tmux and ssh"
    assert "default-terminal" in (found["colours"].remedy or "")


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_terminals_that_cannot_place_text(term: str) -> None:
    found = look(TERM=term)["kind"]
    assert (found.state, found.essential) == ("missing", False)


@pytest.mark.parametrize(
    ("encoding", "state"),
    [
        ("utf-8", "ok"),
        ("UTF8", "ok"),
        ("ANSI_X3.4-1968", "weak"),
        ("latin-1", "weak"),
        ("", "weak"),
    ],
)
def test_letters(encoding: str, state: str) -> None:
    assert look(encoding=encoding, TERM="xterm")["letters"].state == state


@pytest.mark.parametrize(
    ("size", "state", "word"),
    [((80, 24), "ok", None), ((79, 24), "weak", "not everything"), ((30, 9), "weak", "essentials")],
)
def test_sizes(size: tuple[int, int], state: str, word: str | None) -> None:
    found = look(size=size, TERM="xterm")["size"]
    assert found.state == state
    assert word is None or word in (found.reason or "")


def test_no_terminal_is_said_and_its_colours_are_not_judged() -> None:
    found = look(size=None, TERM="xterm")
    assert set(found) == {"kind"}
    assert "--headless" in (found["kind"].remedy or "")


def test_this_one() -> None:
    assert list(check_terminal(this_terminal()))
