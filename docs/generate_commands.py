"""Writes docs/commands.md from the commands themselves.

python docs/generate_commands.py            write the page
python docs/generate_commands.py --check    exit 1 if the page is not what it would write
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from mgtop.cli.main import COMMANDS, group

PAGE = Path(__file__).with_name("commands.md")

INTRODUCTION = """\
# Commands

This page is written by `docs/generate_commands.py` from the commands' own help.

SESSION is the folder of a session, or a part of its name that is unique (or that only one live
session has). With `--headless`, and for `import`, the session folder's path is the last line of
standard output; everything else that mgtop has to say goes to standard error.

| exit code | meaning |
|---|---|
| 0 | done (also: `--seconds` reached, or the reader of a pipe went away) |
| 1 | a check, gate or criterion was not met |
| 2 | wrong usage or configuration; the message names file, line and key |
| 3 | the target failed; its own code is in the report |
| 4 | the session could not be written (disk full, for instance) |
| 70 | a fault of mgtop itself; the message says where the traceback is |
| 130 | interrupted |

`MGTOP_DEBUG=1` shows the traceback of a fault at once. For completion in bash:
`eval "$(_MGTOP_COMPLETE=bash_source mgtop)"` (also `zsh_source`, `fish_source`).
"""


def page() -> str:
    """The whole page."""
    context = click.Context(group, info_name="mgtop")
    names = group.list_commands(context)
    parts = [INTRODUCTION, "| command | does |\n|---|---|"]
    parts[-1] += "".join(
        f"\n| [`mgtop {name}`](#mgtop-{name}) | {COMMANDS[name][1]} |" for name in names
    )
    parts[-1] += "\n"
    for name in names:
        command = group.get_command(context, name)
        assert command is not None
        parts.append(section(command, click.Context(command, info_name=name, parent=context)))
    return "\n".join(parts)


def section(command: click.Command, context: click.Context) -> str:
    """One command: usage, what it does, its options, its examples."""
    usage = " ".join(["mgtop", str(context.info_name), *command.collect_usage_pieces(context)])
    lines = [f"## mgtop {context.info_name}", "", "```text", usage, "```", ""]
    lines += [inspect.cleandoc(command.help or "").replace("\b\n", ""), ""]
    rows = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and parameter.name != "help"
        and (record := parameter.get_help_record(context)) is not None
    ]
    if rows:
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{option}` | {_cell(about)} |" for option, about in rows]
        lines.append("")
    if command.epilog:
        text = inspect.cleandoc(command.epilog).replace("\b\n", "").strip()
        lines += ["```text", text, "```", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.name} is out of date: run python docs/generate_commands.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
