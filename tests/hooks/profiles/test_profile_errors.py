"""What is wrong with a profile is said with file, line and key; the user's own profiles win."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.config.errors import ConfigError
from mgtop.hooks import profile_files
from mgtop.hooks.profile_files import find, names, read

GOOD = """\
title: Mine
source: here
recognise:
  - infer.py: "model"
entries:
  run:
    about: it runs
    command: [python, infer.py, --steps, "{steps}"]
    params: {steps: 4}
    frames:
      hooks:
        - {target: "mine:Decoder.decode", event: frame_emit, count: "len(result)"}
  other:
    about: it runs otherwise
    command: [python, other.py]
    blocks: {first: 9, then: 12}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of profiles, as platformdirs finds it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = profile_files.own_folder()
    assert folder == tmp_path / "mgtop" / "profiles"
    folder.mkdir(parents=True)
    return folder


def test_an_own_profile_is_there_beside_the_others(own: Path) -> None:
    (own / "mine.yaml").write_text(GOOD, encoding="utf-8")
    known, entry = find("mine:other")
    assert known.own
    assert entry == "other"
    assert known.entry("other")[1].blocks.then == 12
    assert known.entry()[0] == "run"
    assert {"mine", "self-forcing"} <= set(names())


def test_an_own_profile_wins_over_one_of_the_same_name(own: Path) -> None:
    (own / "self-forcing.yaml").write_text(GOOD, encoding="utf-8")
    known, _ = find("self-forcing")
    assert known.own
    assert known.profile.title == "Mine"


def test_a_name_that_is_none(own: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'self-forcing'"):
        find("Self-Forceing")


def test_an_entry_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"no entry 'live' \(there are inference, demo\)"):
        find("self-forcing:live")


def test_a_name_in_capitals_is_refused(own: Path) -> None:
    (own / "Mine.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigError, match="small letters"):
        names()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("title: Mine\n", "title: Mine\nlicense: MIT\n", ":2: license: is not a known key"),
        ("title: Mine\n", "", " must have the key title"),
        ("about: it runs\n", "abuot: it runs\n", ":7: entries.run.abuot: is not a known key"),
        ("first: 9", "first: nine", ":16: entries.other.blocks.first: must be a whole number"),
        ('"model"', '"mod(el"', ":4: recognise[0].infer.py: is no regular expression"),
        ("infer.py:", "/infer.py:", ":4: recognise[0]./infer.py: must lie in the repository"),
        ("{steps: 4}", "{step: 4}", ":8: entries.run.command[3]: {steps} is not among params"),
        ("{steps: 4}", "{steps: 4, seed: 1}", ":9: entries.run.params.seed: fills nothing"),
        ("[python, other.py]", "[]", ":15: entries.other.command: must say what to start"),
        ("len(result)", "open(1)", ":12: entries.run.frames.hooks[0].count: 'open(1)' cannot"),
        ("event: frame_emit", "event: frames", ":12: entries.run.frames.hooks[0].event: is"),
        ("mine:Decoder", "mine.Decoder", ":12: entries.run.frames.hooks[0].target: is"),
        (
            "    params: {steps: 4}\n",
            "    params: {steps: 4}\n    edit: {a.yaml: {x: seed}}\n",
            ":10: entries.run.edit: seed is not among params",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    path = tmp_path / "mine.yaml"
    assert before in GOOD
    path.write_text(GOOD.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_good_one_is_good(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert list(read(path).profile.entries) == ["run", "other"]
