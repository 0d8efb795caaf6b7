"""``mgtop init``: write a starting ``mgtop.yaml`` for a model repository."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mgtop.cli.errors import UserError, say
from mgtop.cli.profiles import FILE

if TYPE_CHECKING:
    from mgtop.hooks.profile import Entry
    from mgtop.hooks.profile_files import Known

_EXAMPLES = """\b
Examples:
  mgtop init ~/src/Self-Forcing                   then: mgtop run ~/src/Self-Forcing
  mgtop init ~/src/Self-Forcing --entry demo
  mgtop init . --profile diffusers -o steps24.yaml
  mgtop init --list                               the known projects, tested or not

Own profiles, one YAML file each, go to the folder that --list names."""


@click.command(
    "init",
    epilog=_EXAMPLES,
    short_help="Write a starting mgtop.yaml for a model repository.",
)
@click.argument(
    "repository",
    metavar="REPO",
    required=False,
    type=click.Path(path_type=Path),
)
@click.option(
    "--profile", metavar="NAME[:ENTRY]", help="Take this profile instead of looking for one."
)
@click.option("--entry", metavar="NAME", help="Which way to start the project, of several.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to this file instead of mgtop.yaml in REPO; - is the screen.",
)
@click.option("--list", "listed", is_flag=True, help="List the known projects and end.")
def command(
    repository: Path | None,
    profile: str | None,
    entry: str | None,
    output: Path | None,
    listed: bool,
) -> None:
    """Write a starting mgtop.yaml for a model repository.

    A known project is recognised by its own files, and its profile gives command, parameters,
    where the steps live, and the functions that frames come from. Of any other repository the
    likely entry script and its options are read from the source; nothing of it is imported or
    run. A file that is there is never overwritten.
    """
    if listed:
        _list()
        return
    if repository is None:
        raise UserError("Name the repository's folder, as in: mgtop init ~/src/Self-Forcing")
    if not os.path.isdir(repository):
        raise UserError(f"There is no folder {str(repository)!r}.")
    place = repository / FILE if output is None else output
    to_screen = str(place) == "-"
    if not to_screen and os.path.lexists(place):
        raise UserError(
            f"{place} is there already and is left as it is; mgtop run {_run_word(place)} uses it. "
            "To write another one, name it: -o FILE"
        )
    text, empty = _text(repository, profile, entry)
    if not to_screen and place.parent.resolve() != repository.resolve():
        text = _with_cwd(text, repository, place)
    if to_screen:
        click.echo(text, nl=False)
        return
    try:
        with place.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            f"{place} cannot be written ({error.strerror}); name another place: -o FILE"
        ) from None
    say(f"wrote {place}.")
    if empty:
        say(f"Say first what these are, in its params: {', '.join(empty)}")
    click.echo(f"Next: mgtop run {_run_word(place)}")


def _run_word(place: Path) -> str:
    return shlex.quote(str(place.parent if place.name == FILE else place))


def _with_cwd(text: str, repository: Path, place: Path) -> str:
    """Commands run in the repository, wherever the file lies."""
    from mgtop.config.dump import to_flow

    where = os.path.relpath(repository.resolve(), place.parent.resolve())
    head, line, rest = text.partition("\ncommand:")
    return f"{head}\ncwd: {to_flow(where)}{line}{rest}"


def _text(repository: Path, profile: str | None, entry: str | None) -> tuple[str, list[str]]:
    """The file, and the parameters that have no value yet."""
    from mgtop.hooks.profile_files import find
    from mgtop.hooks.starting_file import of_profile, unfilled

    if profile is not None:
        known, named = find(profile)
        entry = entry or named
    else:
        found = _recognised(repository)
        if found is None:
            if entry is not None:
                raise UserError(
                    f"--entry is of a known project, and {repository} holds none; "
                    "name it: --profile NAME (mgtop init --list)"
                )
            return _guessed(repository)
        known = found
    name, chosen = known.entry(entry)
    if chosen.tested is None:
        say(f"The profile {known.name}:{name} is untested: please hold its figures against yours.")
    chosen = _with_script(chosen, repository)
    return of_profile(known, name, chosen), unfilled(chosen.params)


def _with_script(entry: Entry, repository: Path) -> Entry:
    """An entry for whoever uses a library gets the script that is likely meant, and its options."""
    from mgtop.hooks.entry_script import likely_scripts
    from mgtop.hooks.starting_file import with_script
    from mgtop.hooks.yaml_parameters import parameters_in_yaml

    scripts = likely_scripts(repository) if entry.params.get("script", "") is None else []
    if not scripts:
        return entry
    say(f"{scripts[0].path} looks like the script to start; change command if it is not.")
    return with_script(entry, scripts[0], parameters_in_yaml(repository, scripts[0]))


def _recognised(repository: Path) -> Known | None:
    from mgtop.hooks.profile_files import every
    from mgtop.hooks.recognise import below, recognise

    profiles = list(every())
    fits = recognise(repository, profiles)
    if fits:
        also = f" (also: {', '.join(one.name for one in fits[1:])})" if fits[1:] else ""
        say(f"{repository} looks like {fits[0].profile.title}{also}.")
        return fits[0]
    if inner := below(repository, profiles):
        folders = " or ".join(
            f"mgtop init {shlex.quote(str(place))} ({known.profile.title})"
            for place, known in inner
        )
        raise UserError(f"The projects lie in folders below {repository}: {folders}")
    return None


def _guessed(repository: Path) -> tuple[str, list[str]]:
    from mgtop.hooks.entry_script import likely_scripts, writers
    from mgtop.hooks.starting_file import guessed_params, of_script, unfilled
    from mgtop.hooks.yaml_parameters import parameters_in_yaml

    say(f"{repository} is no project that mgtop knows; a start is guessed from its source.")
    scripts = likely_scripts(repository)
    script = scripts[0] if scripts else None
    found = parameters_in_yaml(repository, script) if script else []
    text = of_script(repository, script, scripts[1:], found, writers(repository))
    if script is None:
        say("No script was found that looks like the entry: name it in command.")
        return text, []
    return text, unfilled(guessed_params(script, found))


def _list() -> None:
    from mgtop.hooks.profile_files import every, own_folder

    rows = []
    for known in every():
        states = [
            f"{name} ({'tested' if entry.tested else 'untested'})"
            for name, entry in known.profile.entries.items()
        ]
        own = ", your own" if known.own else ""
        rows.append((known.name, f"{known.profile.title}{own}", ", ".join(states)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, title, entries in rows:
        click.echo(f"{name:{widths[0]}}  {title:{widths[1]}}  {entries}")
    click.echo(f"\nYour own profiles: {own_folder()}/NAME.yaml; they come before these.")
