"""The phase portrait of a system with one coordinate: what is drawn lies where it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.contour import ContourSet
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FileError, FormError
from dalembert.plotting import LIGHT, Picture

q = da.coordinates("q")
w = da.parameters("w")
BEAD = da.System([q], lagrangian=q.dot**2 / 2 + w**2 * sin(q) ** 2 / 2 + cos(q), name="Bead")


def bead_energy(x, v, rate=1.8):
    return v**2 / 2 - rate**2 * np.sin(x) ** 2 / 2 - np.cos(x)


def lines(axes, color):
    return [
        line
        for line in axes.lines
        if line.get_color() == color and line.get_marker() in ("None", None, "")
    ]


@pytest.mark.long
def test_the_orbits_in_the_accent_colour_have_the_energies_of_the_saddles():
    axes = da.plotting.phase_portrait(BEAD, {"w": 1.8}).axes[0]
    drawn = lines(axes, LIGHT.accent)
    energies = np.concatenate([bead_energy(*line.get_data()) for line in drawn])
    saddles = np.array([bead_energy(0.0, 0.0), bead_energy(np.pi, 0.0)])
    gaps = np.min(np.abs(energies[np.isfinite(energies)][:, None] - saddles), axis=1)
    assert len(drawn) >= 4 and np.max(gaps) < 1e-7
    places = np.concatenate([line.get_xdata() for line in drawn])
    assert np.nanmin(places) >= -np.pi and np.nanmax(places) <= np.pi
    assert np.nanmax(places) > 3.14 and np.nanmin(places) < -3.14


@pytest.mark.long
def test_equilibria_are_filled_where_they_are_stable():
    axes = da.plotting.phase_portrait(BEAD, {"w": 1.8}).axes[0]
    dots = {
        round(float(line.get_xdata()[0]), 4): line.get_markerfacecolor()
        for line in axes.lines
        if line.get_marker() == "o"
    }
    tilted = round(float(np.arccos(1 / 1.8**2)), 4)
    assert dots == {
        -3.1416: LIGHT.background, 3.1416: LIGHT.background, 0.0: LIGHT.background, tilted:
        LIGHT.body, -tilted: LIGHT.body
    }  # fmt: skip


def test_levels_are_those_asked_for_and_lie_on_the_energy():
    axes = da.plotting.phase_portrait(BEAD, {"w": 0.5}, levels=[-0.5, 0.4]).axes[0]
    (contours,) = [
        item
        for item in axes.collections
        if isinstance(item, (ContourSet, LineCollection, PathCollection))
    ]
    assert list(contours.levels) == [-0.5, 0.4]
    for level, path in zip(contours.levels, contours.get_paths(), strict=True):
        assert np.allclose(bead_energy(*path.vertices.T, rate=0.5), level, atol=2e-3)


def test_the_momentum_may_point_upwards():
    """Two hinged bodies: the momentum of the hinge in the stretched state is that of the second
    body, mu/2 for equal ones.
    """
    pair = da.planar_chain(
        2, masses=[1, 1], inertias=[1, 1], hinges={(1, 2): (1, 0), (2, 1): (-1, 0)}
    )
    picture = da.plotting.phase_portrait(pair.reduced_system(), {"mu": 2.0}, momentum=True)
    axes = picture.axes[0]
    assert {
        round(float(line.get_ydata()[0]), 9) for line in axes.lines if line.get_marker() == "o"
    } == {1.0}
    assert "p" in axes.get_ylabel()
    for line in lines(axes, LIGHT.accent):
        angle, second = (x[np.isfinite(line.get_xdata())] for x in line.get_data())
        coupling, first = 0.5 * np.cos(angle), 2.0 - second
        energy = (1.5 * (first**2 + second**2) - 2 * coupling * first * second) / (
            2 * (1.5**2 - coupling**2)
        )
        assert np.allclose(energy, 1.0, atol=1e-9)


@pytest.mark.long
def test_a_window_and_given_axes(tmp_path: Path):
    well = da.System([q], kinetic=q.dot**2 / 2, potential=q**2 / 2)
    picture = da.plotting.phase_portrait(
        well, within={q: (-1, 1)}, upwards=(-2, 2), path=tmp_path / "well.png", style="dark"
    )
    assert isinstance(picture, Picture) and (tmp_path / "well.png").stat().st_size > 1000
    assert picture.axes[0].get_xlim() == (-1, 1) and picture.axes[0].get_ylim() == (-2, 2)
    sheet = Picture(LIGHT)
    axes = sheet.add_subplot()
    assert (
        da.plotting.phase_portrait(well, within={q: (-1, 1)}, ax=axes) is axes.figure and axes.lines
    )
    with pytest.raises(FileError):
        da.plotting.phase_portrait(well, within={q: (-1, 1)}, path=tmp_path / "well.txt")


def test_more_freedoms_are_refused():
    x, y = da.coordinates("x y")
    with pytest.raises(FormError, match="one coordinate"):
        da.plotting.phase_portrait(da.System([x, y], kinetic=x.dot**2 + y.dot**2))
