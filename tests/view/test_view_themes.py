from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from mgtop.view.themes import (
    ANSI,
    BANDS,
    BASE,
    DEFAULT,
    ThemeError,
    folders,
    load,
    load_all,
    load_users,
)


def test_the_themes_that_come_with_mgtop() -> None:
    names = [theme.name for theme in load_all()]
    assert {DEFAULT, ANSI, "mgtop-light", "mgtop-contrast", "mgtop-colourblind"} <= set(names)
    assert len(names) == len(set(names)) >= 8


COLOURED = [theme for theme in load_all() if not theme.ansi]
TEXTS = ("text", "dim", "strong", "title", "good", "warn", "bad", "tail")


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_text_can_be_read_in_256_colours(theme: Theme) -> None:
    """SSH does not forward COLORTERM: the nearest of 256 colours must do."""
    ground = reduced(theme.background or "")
    for band in TEXTS:
        assert contrast(reduced(theme.variables[f"band-{band}"]), ground) >= 4.5, band
    bar, rest = (reduced(theme.variables[f"band-{band}"]) for band in ("bar", "rest"))
    assert contrast(bar, rest) >= 1.3
    assert contrast(rest, ground) >= 1.3


def reduced(color: str) -> Color:
    near = RichColor.parse(color).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*near.get_truecolor())


def test_sixteen_colours_are_the_terminals_own() -> None:
    plain = [theme for theme in load_all() if theme.ansi]
    assert {theme.dark for theme in plain} == {True, False}
    for theme in plain:
        assert all(value.startswith("ansi_") for value in theme.variables.values())


def test_a_users_own_themes(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(theme_text())
    (tmp_path / "b.toml").write_text(theme_text(primary="blueish"))
    (tmp_path / "c.toml").write_text(theme_text(head='name = "mgtop-dark"\ndark = true'))
    (tmp_path / "notes.txt").write_text("no theme")
    themes, troubles = load_users({"mgtop-dark"}, tmp_path)
    assert [theme.name for theme in themes] == ["mine"]
    assert len(troubles) == 2
    assert "b.toml: [colors] primary: 'blueish' is not a colour" in troubles[0]
    assert "c.toml: there is another theme called mgtop-dark" in troubles[1]
    assert load_users(set(), tmp_path / "none") == ([], [])


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_text_can_be_read(theme: Theme) -> None:
    """WCAG 2: at least 4.5 : 1 for text, 3 : 1 for what is drawn."""
    variables = theme.variables
    ground = Color.parse(theme.background or "")
    for band in TEXTS:
        assert contrast(Color.parse(variables[f"band-{band}"]), ground) >= 4.5, band
    for band in ("bar", "mark"):
        assert contrast(Color.parse(variables[f"band-{band}"]), ground) >= 3, band


def contrast(one: Color, other: Color) -> float:
    def luminance(color: Color) -> float:
        parts = [part / 255 for part in color.rgb]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def theme_text(**changes: str) -> str:
    base = "\n".join(f'{name} = "{changes.get(name, "#808080")}"' for name in BASE)
    bands = "\n".join(f'{name} = "{changes.get("band_" + name, "#808080")}"' for name in BANDS)
    head = changes.get("head", 'name = "mine"\ndark = true')
    return f"{head}\n[colors]\n{base}\n[bands]\n{bands}\n{changes.get('more', '')}"


def test_a_theme_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(theme_text(band_tail="#ff0000"))
    assert load(path).variables["band-tail"] == "#ff0000"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (theme_text(band_tail="#ff00f"), "[bands] tail: '#ff00f' is not a colour"),
        (theme_text(primary="blueish"), "[colors] primary: 'blueish' is not a colour"),
        (theme_text(more='tial = "#ff0000"'), "[bands] tial is not a known key"),
        (theme_text(more="[colours]"), "colours is not a known key"),
        (theme_text(head='name = "x"'), "needs name (text) and dark (true or false)"),
        (theme_text().replace("[bands]", "[colors2]"), "colors2 is not a known key"),
        ('name = "x"\ndark = true\n', "needs a table [colors]"),
        (theme_text().replace("tail = ", "tale = "), "[bands] lacks tail"),
        ("name = ", "mine.toml"),
        ('name = "x"\ndark = true\ncolors = 3\n', "needs a table [colors]"),
    ],
    ids=range(10),
)
def test_a_wrong_theme_names_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ThemeError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_checkout_has_its_themes_beside_the_package() -> None:
    assert folders()
    assert (folders()[0] / "mgtop-dark.toml").is_file()
