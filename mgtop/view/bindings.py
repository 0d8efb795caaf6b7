"""All keys, as data: footer, help, palette and the running screens read these lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key: what it is pressed as, which action it means, and what the help says."""

    keys: str
    action: str
    label: str = ""
    """In the footer; empty: it is not there."""
    help: str = ""
    """Empty: the line of the key before speaks of this one as well."""
    writes: bool = False
    """Not available with ``--readonly``."""


class Place(NamedTuple):
    """A screen that a digit opens."""

    name: str
    title: str
    """In the row of screens."""
    help: str


PLACES: tuple[Place, ...] = (
    Place("live", "live", "all charts on one time axis, late frames, evidence"),
    Place("tail", "late", "one late frame: all channels two seconds around it"),
    Place("memory", "memory", "memory over time, its stages, shape and limit"),
    Place("log", "log", "the target's output, line by line"),
    Place("processes", "procs", "processes with CPU, threads, GPU memory, environment"),
    Place("rounds", "rounds", "the rounds of the sweep that this is one of, as they come"),
)
"""The screens in the order of their digits."""

HELP = Key("question_mark,f1,h", "app.help", "? help", "all keys")
QUIT = Key("q", "app.leave", "q quit", "leave; asks what becomes of recording and target")
SCREENS = Key("1", "app.show('live')", "1-6 view", "the screens, as listed below")

COMMON: tuple[Key, ...] = (
    HELP,
    QUIT,
    SCREENS,
    *(Key(str(n), f"app.show('{place.name}')") for n, place in enumerate(PLACES[1:], 2)),
    Key("tab", "app.turn(1)", "", "the next screen, or the one before"),
    Key("shift+tab", "app.turn(-1)"),
    Key("ctrl+p,colon", "app.command_palette", "", "find a command by its name"),
    Key("m", "app.mark", "m mark", "mark this moment; M: with a note", True),
    Key("M", "app.mark_note", writes=True),
    Key("s", "app.snapshot", "", "save picture, figures and the last 30 s of records", True),
    Key("f9", "app.signal", "", "send a signal to a process of the target; asks first", True),
    Key("T", "app.theme", "", "next theme"),
    Key("r,f5,ctrl+l", "app.redraw", "", "draw everything anew"),
)
"""On every screen."""

TIME: tuple[Key, ...] = (
    Key("space", "pause", "space pause", "hold the view, recording goes on; play a recorded one"),
    Key("left_square_bracket", "faster(-1)", "", "play slower or faster (×¼ to ×128)"),
    Key("right_square_bracket", "faster(1)"),
    Key("plus,equals_sign", "zoom(-1)", "", "a shorter or longer window of time; also ^wheel"),
    Key("minus", "zoom(1)"),
    Key("left", "move(-1)", "", "back or forward in time; also wheel and drag"),
    Key("right", "move(1)"),
    Key("comma", "cursor(-1)", "", "the values of one moment; also a click"),
    Key("full_stop", "cursor(1)"),
    Key("g", "app.go", "", "go to a time of the session"),
    Key("home", "begin", "", "the start, or now (a recorded session: its end)"),
    Key("end", "now"),
    Key("l", "log", "", "the output at this moment"),
)
"""On screens with a time axis."""

LIVE_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    *TIME[:1],
    Key("n", "tail(1)", "n/N late", "next or previous late frame, with its evidence"),
    Key("N", "tail(-1)"),
    Key("enter", "open_tail", "⏎ why", "all about the selected late frame"),
    *COMMON[3:],
    Key("j,down", "tail(-1)", "", "down or up the list of late frames"),
    Key("k,up", "tail(1)"),
    Key("f", "fold", "", "show all lanes (requests, processes, GPUs), or fold them"),
    Key("e", "app.show('processes')", "", "the target's processes and their environment"),
    *TIME[1:],
    Key("escape", "unselect", "", "select nothing"),
)

BACK = Key("escape", "app.show('live')", "Esc back", "back to the live screen")

TAIL_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    BACK,
    Key("n", "tail(1)", "n/p late", "the next or previous late frame"),
    Key("N,p", "tail(-1)"),
    Key("plus,equals_sign", "zoom(-1)", "+/- zoom", "less or more time around it"),
    Key("minus", "zoom(1)"),
    Key("j,down", "scroll(1)", "", "down or up"),
    Key("k,up", "scroll(-1)"),
    Key("l", "log", "l log", "the output at this moment"),
    Key("enter", "app.show('live')", "", "see it on the live screen"),
    *COMMON[3:],
)

MEMORY_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    BACK,
    *TIME[:1],
    *COMMON[3:],
    *TIME[1:],
)

LOG_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    BACK,
    Key("slash", "search", "/ find", "find text in the output; n and N go on"),
    Key("n", "find(1)", "n/N"),
    Key("N", "find(-1)"),
    Key("enter", "to_time", "⏎ to time", "see this line's moment on the live screen"),
    Key("g", "app.go", "g go", "go to the line of a time"),
    Key("j,down", "scroll(1)", "", "down or up; also the wheel"),
    Key("k,up", "scroll(-1)"),
    Key("pagedown,space", "page(1)", "", "a page down or up"),
    Key("pageup,b", "page(-1)"),
    Key("home", "top", "", "the first line, or the last, following what comes"),
    Key("end,G", "bottom"),
    Key("left", "shift(-1)", "", "long lines: to the left or right"),
    Key("right", "shift(1)"),
    *COMMON[3:],
)

PROCESS_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    BACK,
    Key("j,down", "scroll(1)", "", "down or up"),
    Key("k,up", "scroll(-1)"),
    Key("t", "tree", "t tree", "as a tree, or sorted"),
    Key("o", "order", "o order", "sort by CPU, memory, GPU memory, threads, pid"),
    Key("e,enter", "environment", "e env", "environment of the selected process, secrets masked"),
    *(key._replace(label="F9 signal") if key.keys == "f9" else key for key in COMMON[3:]),
)

ROUNDS_KEYS: tuple[Key, ...] = (
    *COMMON[:3],
    BACK,
    Key("j,down", "scroll(1)", "j/k scroll", "down or up the rounds"),
    Key("k,up", "scroll(-1)"),
    *COMMON[3:],
)


def bindings_of(keys: Sequence[Key]) -> list[BindingType]:
    """Keys as Textual wants them."""
    return [Binding(key.keys, key.action, key.help, show=False) for key in keys]


def footer_keys(keys: Sequence[Key], readonly: bool) -> list[Key]:
    """Those that stand under the screen."""
    return [key for key in keys if key.label and not (readonly and key.writes)]


def footer(keys: Sequence[Key], readonly: bool) -> str:
    """The line of keys under the screen."""
    return FOOTER_GAP.join(key.label for key in footer_keys(keys, readonly))


FOOTER_GAP = "  "


def footer_action(keys: Sequence[Key], readonly: bool, x: int) -> str | None:
    """The action of the key that stands ``x`` cells from the footer's beginning."""
    at = 0
    for key in footer_keys(keys, readonly):
        if at <= x < at + len(key.label):
            return key.action
        at += len(key.label) + len(FOOTER_GAP)
    return None


def help_lines(keys: Sequence[Key] = LIVE_KEYS) -> list[tuple[str, str]]:
    """Keys as people write them, and what they do."""
    lines: list[tuple[str, str]] = []
    for key in keys:
        if key is SCREENS:
            lines.append((f"1–{len(PLACES)}", key.help))
        elif key.help:
            lines.append((shown(key.keys), key.help))
        elif not key.action.startswith("app.show("):
            so_far, text = lines[-1]
            lines[-1] = (f"{so_far}  {shown(key.keys)}", text)
    return lines


_NAMES = {
    "question_mark": "?",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "comma": ",",
    "full_stop": ".",
    "slash": "/",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "ctrl+l": "^L",
    "ctrl+p": "^P",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def shown(keys: str) -> str:
    """Keys as people write them: ``question_mark,f1`` → ``?  F1``."""
    return "  ".join(
        _NAMES.get(key, key.upper() if key.startswith("f") and len(key) > 1 else key)
        for key in keys.split(",")
    )
