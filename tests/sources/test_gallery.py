"""Every built-in system is complete: it loads, draws what it knows, starts on its constraints, and
runs.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model import drawing as shapes
from dalembert.model.symbols import t

EVERY = da.gallery.names()
#: Scenarios that end before their span does, and how.
ENDS = {"blow-up": "blew up"}


def test_names_are_unique_kebab_case() -> None:
    assert len(set(EVERY)) == len(EVERY)
    assert all(name == name.lower() and "_" not in name and " " not in name for name in EVERY)


@pytest.mark.parametrize("wrong", ["rolling_disc", "Snakebord", "chaplygin sleigh"])
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str) -> None:
    near = {
        "rolling_disc": "rolling-disk",
        "Snakebord": "snakeboard",
        "chaplygin sleigh": "chaplygin-sleigh",
    }[wrong]
    with pytest.raises(ModelError, match=near):
        da.gallery.load(wrong)


def test_a_name_like_none_lists_them_all() -> None:
    with pytest.raises(ModelError, match=r"appell.*unicycle-rider"):
        da.gallery.load("zzzzzz")


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_is(name: str) -> None:
    scenario = da.gallery.load(name)
    assert scenario.source
    assert scenario.summary.endswith(".")
    assert scenario.system.name != "system"
    assert set(scenario.parameters) == {p.name for p in scenario.system.parameters}
    assert {"span", "rtol"} <= set(scenario.simulate)


def _positions(shape: shapes.Shape) -> list:
    match shape:
        case shapes.PointMark() | shapes.Trace():
            return [shape.position]
        case shapes.Link() | shapes.Spring():
            return [shape.start, shape.end]
        case shapes.Polyline():
            return list(shape.points)
        case shapes.Circle():
            return [shape.center, *(shape.axes or ())]


@pytest.mark.parametrize("name", EVERY)
def test_its_drawing_is_in_one_space_and_known_symbols(name: str) -> None:
    scenario = da.gallery.load(name)
    drawing = scenario.drawing
    known = {*scenario.system.coordinates, *scenario.system.parameters, t}
    for shape in drawing.shapes:
        for position in _positions(shape):
            assert len(position) == drawing.dimension
            assert set().union(*(sympy.S(c).free_symbols for c in position)) <= known
        if isinstance(shape, shapes.Circle):
            assert sympy.S(shape.radius).free_symbols <= known
            assert shape.axes is None or drawing.dimension == 3
    if drawing.limits is not None:
        assert len(drawing.limits) == drawing.dimension


@pytest.mark.parametrize("name", EVERY)
def test_axes_of_its_wheels_are_orthonormal(name: str) -> None:
    scenario = da.gallery.load(name)
    rng = np.random.default_rng(3)
    values = {q: rng.uniform(-1, 1) for q in scenario.system.coordinates}
    values |= {p: scenario.parameters[p.name] for p in scenario.system.parameters} | {t: 0.3}
    for shape in scenario.drawing.shapes:
        if isinstance(shape, shapes.Circle) and shape.axes:
            frame = sympy.Matrix(shape.axes).subs(values)
            assert np.allclose(np.array(frame * frame.T, dtype=float), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_it_starts_on_its_constraints_and_runs(name: str) -> None:
    motion = da.simulate(da.gallery.load(name), project_start=False)
    assert motion.outcome.value == ENDS.get(name, "finished"), motion.message
    assert not motion.start_report
    assert motion.worst_residual["position"] < 1e-7
    assert motion.worst_residual["velocity"] < 1e-7
