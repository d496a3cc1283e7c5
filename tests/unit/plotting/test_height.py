"""Maps of height functions: what is drawn, and what is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError


@cache
def heights() -> Any:
    board = da.gallery.load("snakeboard")
    x, y, theta, psi, phi = board.system.coordinates
    found = da.symmetry.connection(board, da.lie.LieGroup.SE(2).chart((x, y, theta)))
    return found, da.symmetry.height_function(
        found, {psi: (-1, 1), phi: (-1.5, 1.5)}, points=(3, 13)
    )


def maps(picture: Any) -> list[Any]:
    return [axes for axes in picture.axes if axes.get_title(loc="left")]


def test_a_panel_for_each_component_that_is_not_flat() -> None:
    _, height = heights()
    picture = height.plot()
    assert [axes.get_title(loc="left") for axes in maps(picture)] == [
        r"$\xi_{x}$",
        r"$\xi_{\mathrm{th}}$",
    ]
    assert maps(picture)[0].get_xlabel() == r"$\psi$" and maps(picture)[0].get_ylabel() == r"$\phi$"
    assert len(maps(height.plot(["xi_y"]))) == 1


def test_the_line_of_no_height_is_where_the_curvature_changes_its_sign() -> None:
    """cos(2 phi) = 0 ahead."""
    _, height = heights()
    (panel,) = maps(height.plot(["xi_x"]))
    zero = panel.collections[-1]
    levels = np.concatenate([path.vertices[:, 1] for path in zero.get_paths()])
    assert np.allclose(np.abs(levels), np.pi / 4, atol=0.02)


@pytest.mark.long
def test_loops_are_drawn_on_every_panel(tmp_path: Path) -> None:
    found, height = heights()
    rule = da.symmetry.area_rule(found, {"psi": sin(da.t) / 2, "phi": cos(da.t) / 2}, 2 * np.pi)
    circle = np.array([np.cos(np.linspace(0, 6, 50)), np.sin(np.linspace(0, 6, 50))]) / 4
    picture = height.plot(loops=[rule, circle], path=tmp_path / "map.png", style="dark")
    assert (tmp_path / "map.png").stat().st_size > 1000
    for panel in maps(picture):
        drawn = [line.get_xydata().T for line in panel.lines]
        assert np.allclose(drawn[0], rule.points) and np.allclose(drawn[1], circle)
    assert len(maps(height.plot(loops=rule))[0].lines) == 1


def test_what_cannot_be_drawn_is_said() -> None:
    _, height = heights()
    with pytest.raises(ModelError, match="did you mean xi_x"):
        height.plot(["xi_xx"])
    with pytest.raises(ModelError, match="needs a component"):
        height.plot([])
    with pytest.raises(ModelError, match="points in the plane"):
        height.plot(loops=[np.zeros((3, 5))])
