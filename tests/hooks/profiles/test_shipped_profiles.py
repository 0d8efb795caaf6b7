"""Every profile that comes with mgtop: it loads, is recognised, and init's file of it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.config.load import load_config
from mgtop.hooks.profile_files import SHIPPED, Known, read
from mgtop.hooks.recognise import recognise
from mgtop.hooks.starting_file import of_profile, state_words

PROFILES = [read(path) for path in sorted(SHIPPED.glob("*.yaml"))]
ENTRIES = [(known, name) for known in PROFILES for name in known.profile.entries]
ASKED_FOR = {
    "comfystream", "diffusers", "fastvideo", "krea-realtime", "longlive", "ltx-video",
    "matrix-game-2", "matrix-game-3", "matrix-game-3.5", "scope", "self-forcing",
    "streamdiffusion", "streamdiffusion-v2", "wan2.2",
}  # fmt: skip
LINES = {
    "^(from|import) streamdiffusion(\\.|\\s|$)": "from streamdiffusion import StreamDiffusion",
    "^(from|import) diffusers(\\.|\\s|$)": "import diffusers",
    "^(from|import) fastvideo(\\.|\\s|$)": "from fastvideo import VideoGenerator",
}
"""Of patterns that are no plain text: a line that they mean."""


def lay(folder: Path, files: dict[str, str]) -> list[Path]:
    """A repository that has just these files, each with the line that is looked for."""
    made = []
    for file, pattern in files.items():
        path = folder / file.replace("*", "script")
        path.parent.mkdir(parents=True, exist_ok=True)
        line = LINES.get(pattern, pattern.removeprefix("^"))
        path.write_text(f"# first\n{line}\n# last\n", encoding="utf-8")
        made.append(path)
    return made


def ids(value: object) -> str:
    return value.name if isinstance(value, Known) else str(value)


def test_the_known_projects() -> None:
    assert {known.name for known in PROFILES} == ASKED_FOR


@pytest.mark.parametrize("known", PROFILES, ids=ids)
def test_a_project_is_recognised_by_its_own_files_alone(known: Known, tmp_path: Path) -> None:
    for number, files in enumerate(known.profile.recognise):
        folder = tmp_path / str(number)
        made = lay(folder, files)
        assert recognise(folder, PROFILES)[0].name == known.name
        for path in made:
            text = path.read_text(encoding="utf-8")
            path.unlink()
            assert known.name not in [fit.name for fit in recognise(folder, PROFILES)]
            path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("known", PROFILES, ids=ids)
def test_another_line_is_another_project(known: Known, tmp_path: Path) -> None:
    files = known.profile.recognise[0]
    for path in lay(tmp_path, files):
        path.write_text("# something else\n", encoding="utf-8")
    if any(files.values()):
        assert recognise(tmp_path, PROFILES) == []


@pytest.mark.parametrize(("known", "name"), ENTRIES, ids=ids)
def test_the_starting_file_reads_back_as_the_entry(known: Known, name: str, tmp_path: Path) -> None:
    entry = known.profile.entries[name]
    path = tmp_path / "mgtop.yaml"
    text = of_profile(known, name, entry)
    missing = [key for key, value in entry.params.items() if value is None]
    for key in missing:
        assert f"\n  {key}: null" in text
        text = text.replace(f"\n  {key}: null", f"\n  {key}: given")
    path.write_text(text, encoding="utf-8")
    config = load_config(path)
    assert config.command == entry.command
    assert config.frames == entry.frames
    assert config.edit == entry.edit
    assert config.env == entry.env
    assert config.params == entry.params | dict.fromkeys(missing, "given")
    assert state_words(entry) in " ".join(text.replace("\n# ", " ").split())


@pytest.mark.parametrize(("known", "name"), ENTRIES, ids=ids)
def test_an_entry_says_what_there_is_to_know(known: Known, name: str) -> None:
    entry = known.profile.entries[name]
    assert entry.about
    assert "steps" in entry.params or "steps" in entry.notes or "script" in entry.params
    emits = [hook for hook in entry.frames.hooks if hook.event == "frame_emit"]
    assert emits or name == "base"  # infer.py of Matrix-Game 3.5: sinks alone
    if entry.live and "script" not in entry.params and name != "base":
        assert entry.blocks.then is not None or entry.blocks.about
