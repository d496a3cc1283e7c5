"""The house style: distinct for every reader, and never left behind in anyone's settings."""

from __future__ import annotations

import itertools

import matplotlib
import matplotlib.colors
import numpy as np
import pytest
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.mathtext import MathTextParser

from dalembert.errors import FileError, ModelError
from dalembert.plotting.style import (
    FORMULA_FONTS,
    LIGHT,
    ROLES,
    STYLES,
    Picture,
    save_picture,
    style_named,
)

# Machado, Oliveira and Fernandes (2009), full deficiency, on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def seen(color: str, matrix: np.ndarray) -> np.ndarray:
    """CIELAB coordinates of a colour as a reader with this deficiency sees it."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(matrix @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(np.maximum(to_xyz @ linear / [0.9505, 1.0, 1.089], 1e-6))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", STYLES)
def test_curve_colours_are_distinct_for_every_reader(name, deficiency):
    style, matrix = STYLES[name], DEFICIENCIES[deficiency]
    for one, other in itertools.combinations(style.cycle, 2):
        assert np.linalg.norm(seen(one, matrix) - seen(other, matrix)) > 12, (one, other)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", STYLES)
def test_everything_stands_out_from_the_paper(name, deficiency):
    style, matrix = STYLES[name], DEFICIENCIES[deficiency]
    paper = seen(style.background, matrix)
    for color in (*style.cycle, *(style.color(role) for role in ROLES), style.ink):
        assert np.linalg.norm(seen(color, matrix) - paper) > 25, color


def test_settings_come_back_after_drawing(tmp_path):
    before = dict(matplotlib.rcParams)
    picture = Picture(style_named("dark"))
    picture.add_subplot().plot([0, 1], [0, 1])
    save_picture(picture, tmp_path / "line.png")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.long
def test_a_picture_ignores_the_settings_of_the_user(tmp_path):
    def saved(name: str) -> bytes:
        picture = Picture(style_named("light"), figsize=(3, 2))
        with picture.style.context():
            picture.add_subplot().plot([0, 1], [0, 1])
        return save_picture(picture, tmp_path / name).read_bytes()

    plain = saved("one.svg")
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "xtick.labelsize": 30}):
        assert saved("two.svg") == plain


def test_wrong_styles_colours_and_paths_say_what_to_do(tmp_path):
    with pytest.raises(ModelError, match="light, dark or matplotlib"):
        style_named("sepia")
    with pytest.raises(ModelError, match="did you mean `body`"):
        style_named("light").color("boby")
    with pytest.raises(FileError, match=r"use one of \.png"):
        save_picture(Picture(style_named("light")), tmp_path / "picture.doc")
    with pytest.raises(FileError, match="create it first"):
        save_picture(Picture(style_named("light")), tmp_path / "nowhere" / "picture.png")


def test_ramps_and_blends_end_where_they_should():
    light = style_named("light")
    assert len(set(light.ramp(40))) == 40
    assert light.blend("body", 1.0).upper() == light.body


@pytest.mark.long
@pytest.mark.parametrize("name", ["$\\frac{", "a $x_$ b", "100 $", "_"])
def test_any_name_can_stand_in_a_picture(name, tmp_path):
    """What looks like a formula and is none must not stop a picture."""
    import dalembert as da

    symbol = da.coordinates("_" if name == "_" else "q")
    drawing = da.draw.drawing(
        da.draw.point((symbol, 0)), da.draw.text((symbol, 0), name), labels=(name, name)
    )
    system = da.System(
        [symbol],
        kinetic=symbol.dot**2 / 2,
        constraints=[da.velocity(symbol.dot - 1, name=name)],
        name=name,
        drawing=drawing,
    )
    motion = da.simulate(system, {}, (0, 1), at=[0, 0.5, 1])
    motion.plot(path=tmp_path / "plot.svg")
    motion.animate(tmp_path / "poses.svg")
    assert all(
        "</svg>" in (tmp_path / name).read_text(encoding="utf-8")
        for name in ("plot.svg", "poses.svg")
    )


def test_formulas_leave_no_glyphs_in_the_fonts() -> None:
    picture = Picture(LIGHT)
    picture.text(0.5, 0.5, r"$\int_0^{17.125} \sqrt{\mathbf{q}\dot{\theta}_1} = 1$")
    picture.canvas.draw()
    fonts = [get_font(findfont(name)) for name in FORMULA_FONTS]
    assert sum(font.get_num_glyphs() for font in fonts) == 0
    with matplotlib.rc_context({"mathtext.fontset": "stix"}):
        MathTextParser("agg").parse("$17.25$", 72, FontProperties("STIXGeneral"))
    assert sum(font.get_num_glyphs() for font in fonts) > 0  # as Matplotlib leaves them
