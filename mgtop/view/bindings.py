"""All keys, as data: footer, help and the running screen read this list."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key: what it is pressed as, which action it means, and what the help says."""

    keys: str
    action: str
    label: str = ""
    """In the footer."""
    help: str = ""
    """Empty: the line of the key before speaks of this one as well."""
    in_footer: bool = False
    writes: bool = False
    """Not available with ``--readonly``."""


LIVE_KEYS: tuple[Key, ...] = (
    Key("question_mark,f1,h", "app.help", "? help", "this page", in_footer=True),
    Key("q", "app.leave", "q quit", "leave; asks what becomes of recording and target", True),
    Key("space", "pause", "space pause", "hold the view still; recording goes on", True),
    Key("m", "app.mark", "m mark", "mark this moment; M: with a note", True, True),
    Key("M", "app.mark_note", writes=True),
    Key(
        "s",
        "app.snapshot",
        "s snap",
        "save picture, figures and the last 30 s of records",
        True,
        True,
    ),
    Key("n", "tail(1)", "n/N late", "next or previous late frame, with its evidence", True),
    Key("N", "tail(-1)"),
    Key("j,down", "tail(-1)", "", "down or up the list of late frames"),
    Key("k,up", "tail(1)"),
    Key("plus,equals_sign", "zoom(-1)", "+/- zoom", "a shorter or longer window of time", True),
    Key("minus", "zoom(1)"),
    Key("left", "move(-1)", "", "back or forward in time"),
    Key("right", "move(1)"),
    Key("g", "app.go", "", "go to a time of the session"),
    Key("end", "now", "", "back to now (a recorded session: to its end)"),
    Key("escape", "unselect", "", "select nothing"),
    Key("T", "app.theme", "", "next theme"),
    Key("r,f5,ctrl+l", "app.redraw", "", "draw everything anew"),
)


def footer(readonly: bool) -> str:
    """The line of keys under the screen."""
    return "  ".join(
        key.label for key in LIVE_KEYS if key.in_footer and not (readonly and key.writes)
    )


def help_lines() -> list[tuple[str, str]]:
    """Keys as people write them, and what they do."""
    lines: list[tuple[str, str]] = []
    for key in LIVE_KEYS:
        if key.help:
            lines.append((shown(key.keys), key.help))
        else:
            keys, text = lines[-1]
            lines[-1] = (f"{keys}  {shown(key.keys)}", text)
    return lines


def shown(keys: str) -> str:
    """Keys as people write them: ``question_mark,f1`` → ``?  F1``."""
    names = {
        "question_mark": "?",
        "plus": "+",
        "equals_sign": "=",
        "minus": "-",
        "left": "←",
        "right": "→",
        "up": "↑",
        "down": "↓",
        "escape": "Esc",
        "ctrl+l": "^L",
        "end": "End",
    }
    return "  ".join(
        names.get(key, key.upper() if key.startswith("f") and len(key) > 1 else key)
        for key in keys.split(",")
    )
