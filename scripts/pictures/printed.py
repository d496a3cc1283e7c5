"""Equations as a paper prints them, set by Matplotlib from the LaTeX of the library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from sympy import cos, sin

import dalembert as da
from dalembert.formulations.equations import Equations
from dalembert.presentation.typeset import lines_latex

from .files import still

#: A line takes this height, in inches, without and with fractions.
LINE, TALL_LINE = 0.44, 0.8
#: The size of the letters, in points.
SIZE = 17


def snakeboard_voronets() -> None:
    """The equations of the snakeboard as they would stand in a paper."""
    show("snakeboard-voronets", of_gallery("snakeboard", "voronets"))


def rolling_disk_hamel() -> None:
    """Hamel's equations of the rolling disk."""
    show("rolling-disk-hamel", of_gallery("rolling-disk", "hamel"))


def bicycle_voronets() -> None:
    """Voronets' equations of the bicycle."""
    show("bicycle-voronets", of_gallery("bicycle", "voronets"))


def unicycle_hamel() -> None:
    """Hamel's equations of the unicycle with rider."""
    show("unicycle-hamel", of_gallery("unicycle-rider", "hamel"))


def roller_racer_hamel() -> None:
    """Hamel's equations of the roller racer."""
    show("roller-racer-hamel", da.derive(roller_racer()[0], "hamel"))


def roller_racer_reduced() -> None:
    """The roller racer on D/SE(2)."""
    system, group = roller_racer()
    written = da.symmetry.reduced_coefficients(system, group).latex().splitlines()[1:-1]
    sides = [line.removesuffix(r" \\").split(" &= ", 1) for line in written]
    # Matplotlib sets no matrices.
    set_lines("roller-racer-reduced", [(a, b) for a, b in sides if "bmatrix" not in b])


def segway_hamel() -> None:
    """Hamel's equations of a Segway: two driven wheels, and a body that leans."""
    show("segway-hamel", da.derive(segway(), "hamel"))


PICTURES = (
    snakeboard_voronets,
    rolling_disk_hamel,
    bicycle_voronets,
    unicycle_hamel,
    roller_racer_hamel,
    roller_racer_reduced,
    segway_hamel,
)

# -- the systems -----------------------------------------------------------------------------------


def of_gallery(name: str, form: str) -> Equations:
    """The equations of a gallery system."""
    return da.derive(da.gallery.load(name).system, form)


@cache
def roller_racer() -> tuple[da.System, dict[str, Any]]:
    """Krishnaprasad and Tsakiris' roller racer, and the vector fields of SE(2)."""
    x, y, theta, phi = da.coordinates("x y theta phi")
    m, I_1, I_2, d_1, d_2 = da.parameters("m I_1 I_2 d_1 d_2", positive=True)
    front = -sin(theta + phi) * x.dot + cos(theta + phi) * y.dot
    front += (d_1 * cos(phi) + d_2) * theta.dot + d_2 * phi.dot
    spin = I_1 / 2 * theta.dot**2 + I_2 / 2 * (theta.dot + phi.dot) ** 2
    system = da.System(
        [x, y, theta, phi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + spin,
        constraints=[
            da.velocity(-sin(theta) * x.dot + cos(theta) * y.dot, name="rear"),
            da.velocity(front, name="front"),
        ],
        name="Roller racer",
    )
    ahead, aside = {x: cos(theta), y: sin(theta)}, {x: -sin(theta), y: cos(theta)}
    return system, {"xi_1": ahead, "xi_2": aside, "xi_3": {theta: 1}}


def segway() -> da.System:
    """Two wheels of radius r at a distance of 2 b, and a body whose centre is at height c."""
    x, y, theta, lean = da.coordinates("x y theta alpha")
    right, left = da.coordinates("phi_r phi_l")
    m, M, J, I_1, I_2, I_3, b, c, r, g = da.parameters("m M J I_1 I_2 I_3 b c r g", positive=True)
    u_r, u_l = da.inputs("u_r u_l")
    ahead = cos(theta) * x.dot + sin(theta) * y.dot
    aside = -sin(theta) * x.dot + cos(theta) * y.dot
    along = ahead + c * cos(lean) * lean.dot
    across = aside + c * sin(lean) * theta.dot
    body = M / 2 * (along**2 + across**2 + (c * sin(lean) * lean.dot) ** 2)
    body += I_2 / 2 * lean.dot**2
    body += (I_1 * sin(lean) ** 2 + I_3 * cos(lean) ** 2) / 2 * theta.dot**2
    wheels = m * (x.dot**2 + y.dot**2) + m * b**2 * theta.dot**2
    wheels += J / 2 * (right.dot**2 + left.dot**2)
    return da.System(
        [x, y, theta, right, left, lean],
        kinetic=body + wheels,
        potential=M * g * c * cos(lean),
        forces={right: u_r, left: u_l, lean: -u_r - u_l},
        inputs=[u_r, u_l],
        constraints=[
            da.velocity(aside, name="aside"),
            da.velocity(ahead + b * theta.dot - r * right.dot, name="right"),
            da.velocity(ahead - b * theta.dot - r * left.dot, name="left"),
        ],
        name="Segway",
    )


# -- setting ---------------------------------------------------------------------------------------


def show(name: str, equations: Equations) -> None:
    """Draw the lines of equations."""
    set_lines(name, lines_latex(equations.written()))


def set_lines(name: str, lines: Sequence[tuple[str, str]]) -> None:
    """Draw lines around their signs of equality, as wide as they are."""
    heights = [TALL_LINE if any(r"\frac" in side for side in line) else LINE for line in lines]
    height = sum(heights) + 0.2
    with matplotlib.rc_context({"mathtext.fontset": "cm"}):
        picture = Figure(facecolor="white")
        sides = [tuple(f"${_spaced(side)}$" for side in line) for line in lines]
        left, right = (max(_width(picture, line[k]) for line in sides) for k in (0, 1))
        width = left + right + 1.5
        picture.set_size_inches(width, height)
        for number, (before, after) in enumerate(sides, start=1):
            middle = sum(heights[: number - 1]) + heights[number - 1] / 2
            place = 1 - (middle + 0.16) / height
            for x, words, side in (
                (left + 0.15, before, "right"),
                (left + 0.25, "$=$", "left"),
                (left + 0.55, after, "left"),
                (width - 0.1, f"$({number})$", "right"),
            ):
                picture.text(x / width, place, words, fontsize=SIZE, ha=side, va="baseline")
        still(f"{name}.png", picture, dpi=min(150.0, 1500.0 / width))


def _spaced(side: str) -> str:
    """Matplotlib sets no space before the name of a function, and one size of fractions."""
    spaced = re.sub(r" (\\(?:sin|cos|tan|cot)\b)", r"\\,\1", side)
    return spaced.replace(r"\frac", r"\dfrac")


def _width(picture: Figure, words: str) -> float:
    """The width of a formula, in inches."""
    drawn = picture.text(0, 0, words, fontsize=SIZE)
    found = drawn.get_window_extent().width / picture.dpi
    drawn.remove()
    return float(found)
