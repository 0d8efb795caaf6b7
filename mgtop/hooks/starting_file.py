"""The text of a starting ``mgtop.yaml``, with what to know beside each key."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from mgtop.config.dump import to_flow
from mgtop.hooks.entry_script import MEANINGS, Option, Script
from mgtop.hooks.profile import Entry
from mgtop.hooks.profile_files import Known
from mgtop.hooks.yaml_parameters import Found

_WIDE = 100


def of_profile(known: Known, name: str, entry: Entry) -> str:
    """The file for a known project: the profile's entry of that name, with its parameters."""
    profile = known.profile
    parts: list[str] = []
    parts += _comment(f"{profile.title}: {entry.about}")
    parts += _comment(f"From profile {known.name}:{name}, {state_words(entry)}.")
    others = [other for other in profile.entries if other != name]
    if others:
        parts += _comment(f"Other ways to start it (mgtop init --entry): {', '.join(others)}.")
    parts += ["", *_command(entry.command), ""]
    parts += _parameters(entry)
    parts += _edit(entry.edit)
    if entry.env:
        parts += ["", f"env: {to_flow(entry.env)}"]
    if entry.target_fps is not None:
        parts += ["", f"target_fps: {to_flow(entry.target_fps)}"]
    parts += ["", *_blocks(entry), *_frames(entry)]
    parts += _smoke(entry)
    if profile.warm_up:
        parts += ["", *_comment(f"Warm-up: {profile.warm_up}")]
    warmup = _given(entry.warmup)
    if warmup:
        parts += [f"warmup: {to_flow(warmup)}"]
    for trap in profile.traps:
        parts += ["", *_comment(f"Mind: {trap}")]
    return "\n".join(parts) + "\n"


def of_script(
    folder: Path,
    script: Script | None,
    others: Iterable[Script],
    found: list[Found],
    sinks: list[str],
) -> str:
    """The file for an unknown repository, whose entry script was guessed."""
    name = folder.resolve().name
    parts = _comment(f"{name}: a start, guessed from its source. Nothing of it was run.")
    if script is None:
        parts += ["", *_comment("No script was found that looks like the entry; name it here.")]
        parts += ["command: [python, infer.py]", "", "params: {}"]
    else:
        more = [str(other.path) for other in others][:4]
        if more:
            parts += _comment(f"Other scripts that may be the entry: {', '.join(more)}.")
        words, params = _guess(script, found)
        parts += ["", *_command(["python", str(script.path), *words]), ""]
        parts += ["params:" if params else "params: {}"]
        for key, (value, about) in params.items():
            parts += [f"  {to_flow(key)}: {_value(value)}{_beside(about)}"]
        for meaning in ("steps", "seed"):
            if meaning not in params:
                parts += _comment(f"{meaning}: no option for it was found in {script.path}.", 2)
        parts += _edit(_edits(found, params))
    parts += ["", *_comment(_where_from(sinks)), "frames:", "  from: auto"]
    parts += _comment("If they are not found, name the function that returns them:", 2)
    parts += ['  # hooks: [{target: "package.module:Class.method", event: frame_emit, ']
    parts[-1] += 'count: "result.shape[1]"}]'
    return "\n".join(parts) + "\n"


def with_script(entry: Entry, script: Script, found: list[Found]) -> Entry:
    """An entry of a library's profile that starts this script, with the options it has."""
    words, params = _guess(script, found)
    notes = {name: about for name, about in entry.notes.items() if name != "script"}
    notes = {name: about for name, about in notes.items() if name not in params}
    notes |= {name: about for name, (_, about) in params.items() if about}
    return msgspec.structs.replace(
        entry,
        command=["python", str(script.path), *words],
        params={name: value for name, (value, _) in params.items()},
        notes=notes,
        edit=_edits(found, params),
    )


def state_words(entry: Entry) -> str:
    """``tested: …`` or ``untested``, for people."""
    return f"tested: {entry.tested.rstrip('.')}" if entry.tested else "untested"


def unfilled(params: dict[str, Any]) -> list[str]:
    """Parameters that have no value yet."""
    return [name for name, value in params.items() if value is None]


def guessed_params(script: Script, found: list[Found]) -> dict[str, Any]:
    """The parameters of a guessed entry and their values; None: the user must say."""
    return {name: value for name, (value, _) in _guess(script, found)[1].items()}


def _guess(script: Script, found: list[Found]) -> tuple[list[str], dict[str, tuple[Any, str]]]:
    words: list[str] = []
    params: dict[str, tuple[Any, str]] = {}
    taken: set[str] = set()
    for meaning in MEANINGS:
        option = script.meaning(meaning)
        if option is not None and _fits(option.default):
            words += [option.flag, f"{{{meaning}}}"]
            params[meaning] = (option.default, option.about)
            taken.add(option.name)
    for option in script.options:
        if option.name not in taken and (option.required or _names_file(option, found)):
            words += [option.flag, f"{{{option.name}}}"]
            params[option.name] = (option.default, option.about)
    for one in found:
        params.setdefault(one.name, (one.value, f"{one.file}: {one.key}"))
    return words, params


def _fits(default: Any) -> bool:
    return isinstance(default, (int, float, str)) and not isinstance(default, bool)


def _names_file(option: Option, found: list[Found]) -> bool:
    return any(one.file == option.default for one in found)


def _edits(found: list[Found], params: dict[str, tuple[Any, str]]) -> dict[str, dict[str, str]]:
    files: dict[str, dict[str, str]] = {}
    for one in found:
        if params[one.name][1] == f"{one.file}: {one.key}":
            files.setdefault(one.file, {})[one.key] = one.name
    return files


def _edit(edit: dict[str, dict[str, str]]) -> list[str]:
    if not edit:
        return []
    lines = ["", *_comment("These live in a YAML file of the project; a copy is edited."), "edit:"]
    return lines + [f"  {to_flow(file)}: {to_flow(keys)}" for file, keys in edit.items()]


def _where_from(sinks: list[str]) -> str:
    if not sinks:
        return "No writer of pictures that mgtop knows was found in the source."
    return f"The source seems to write or send frames with: {', '.join(sinks)}. mgtop looks there."


def _command(words: list[str]) -> list[str]:
    line = f"command: {to_flow(words)}"
    if len(line) <= _WIDE:
        return [line]
    lines, at = ["command:"], 0
    while at < len(words):
        both = at + 1 < len(words) and words[at].startswith("-") and words[at + 1][:1] == "{"
        lines += [f"  - {to_flow(word)}" for word in words[at : at + 1 + both]]
        at += 1 + both
    return lines


def _parameters(entry: Entry) -> list[str]:
    if not entry.params:
        return ["params: {}"]
    lines = ["params:"]
    for name, value in entry.params.items():
        lines += [f"  {to_flow(name)}: {_value(value)}{_beside(entry.notes.get(name, ''))}"]
    for name, about in entry.notes.items():
        if name not in entry.params:
            lines += _comment(f"{name}: {about}", 2)
    return lines


def _value(value: Any) -> str:
    return "null" if value is None else to_flow(value)


def _beside(about: str) -> str:
    return f"  # {' '.join(about.split())}" if about else ""


def _blocks(entry: Entry) -> list[str]:
    if not entry.live:
        lines = _comment(
            "Its frames come all at once, at the end of a request: the first-frame latency is "
            "that of the whole request, and the rhythm is that of requests."
        )
    else:
        lines = []
    return lines + (_comment(f"Frames: {entry.blocks.about}") if entry.blocks.about else [])


def _frames(entry: Entry) -> list[str]:
    frames = entry.frames
    lines = ["frames:", f"  from: {frames.from_}"]
    if frames.hooks:
        lines += ["  hooks:"]
        lines += [f"    - {to_flow(_given(hook))}" for hook in frames.hooks]
    if frames.log is not None:
        lines += [f"  log: {to_flow({'pattern': frames.log.pattern})}"]
    return lines


def _smoke(entry: Entry) -> list[str]:
    if entry.smoke is None:
        return []
    return ["", f"smoke: {to_flow(msgspec.to_builtins(entry.smoke))}"]


def _given(struct: msgspec.Struct) -> dict[str, Any]:
    """What is not left at its default."""
    plain: dict[str, Any] = msgspec.to_builtins(struct)
    fields = {field.encode_name: field.default for field in msgspec.structs.fields(struct)}
    return {key: value for key, value in plain.items() if value != fields[key]}


def _comment(text: str, indent: int = 0) -> list[str]:
    lead = f"{' ' * indent}# "
    lines = textwrap.wrap(
        " ".join(text.split()), _WIDE - len(lead), break_long_words=False, break_on_hyphens=False
    )
    return [lead + line for line in lines]
