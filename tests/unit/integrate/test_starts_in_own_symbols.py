"""Starts in the symbols that only a form has: quasi-velocities, momenta on the constraints, fibre
velocities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError, StartError
from dalembert.integrate.state_symbols import state_with_velocities
from dalembert.runtime.kernel import kernel_of

x, y, theta = da.coordinates("x y theta")
v, w = da.speeds("v w")
BLADE = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
SKATE = da.System(
    [x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2, constraints=[BLADE]
)
FRAME = {x: v * cos(theta), y: v * sin(theta), theta: w}


def hamel() -> Any:
    return da.derive(SKATE, "hamel", velocities=FRAME)


@pytest.mark.parametrize("angle", [0.0, 0.2, np.pi / 2])
def test_quasi_velocities_start_a_motion(angle: float) -> None:
    """Such a start was refused: "which is no part of the state", although the state is made of
    them.
    """
    motion = da.simulate(hamel(), {"v": 1.5, "w": 0.5, "theta": angle}, (0, 1))
    assert motion["v"][0] == pytest.approx(1.5, rel=1e-14) and motion["w"][0] == pytest.approx(
        0.5, rel=1e-14
    )
    # With a constant speed and turning rate the skate goes round a circle.
    end = angle + 0.5
    assert motion["x"][-1] == pytest.approx(3.0 * (np.sin(end) - np.sin(angle)), abs=1e-9)
    reference = da.simulate(
        SKATE,
        {x.dot: 1.5 * np.cos(angle), y.dot: 1.5 * np.sin(angle), theta.dot: 0.5, theta: angle},
        (0, 1),
    )
    assert motion["y"][-1] == pytest.approx(reference["y"][-1], abs=1e-9)


def test_symbols_that_are_not_given_are_zero() -> None:
    motion = da.simulate(hamel(), {v: 2.0}, (0, 1))
    assert motion["w"][0] == 0.0 and motion["x"][-1] == pytest.approx(2.0, abs=1e-9)


def test_velocities_are_given_once() -> None:
    with pytest.raises(StartError, match="in two ways"):
        da.simulate(hamel(), {"v": 1.0, "x_dot": 1.0}, (0, 1))
    with pytest.raises(StartError, match="`v` must be a finite number"):
        da.simulate(hamel(), {"v": "1.0"}, (0, 1))


def test_many_runs_start_in_quasi_velocities() -> None:
    runs = da.simulate(hamel(), {"v": [1.0, 2.0], "w": 0.5}, (0, 1))
    assert runs.success and runs.final["x"][1] == pytest.approx(2 * runs.final["x"][0], rel=1e-9)


@pytest.mark.parametrize(
    "form", ["canonical-voronets", "canonical-quasi", "bates-sniatycki", "hamel-orthonormal"]
)
@pytest.mark.parametrize("name", ["snakeboard", "chaplygin-sleigh", "rolling-disk"])
def test_the_symbols_of_a_form_start_the_same_motion_as_its_velocities(
    name: str, form: str
) -> None:
    scenario = da.gallery.load(name)
    first = da.simulate(scenario, {"theta": 0.4}, (0, 0.5), form=form)
    equations, n = da.derive(scenario.system, form), len(scenario.system.coordinates)
    p = np.array([scenario.parameters[s.name] for s in scenario.system.parameters])
    kernel = kernel_of(equations, scenario.system.parameters)
    state = state_with_velocities(kernel, 0.0, first.y[:n, 0], first.y[n:, 0], p)
    start = {s.name: float(value) for s, value in zip(equations.state, state, strict=True)}
    again = da.simulate(scenario.replacing(start={}), start, (0, 0.5), form=form)
    assert np.allclose(again.y[:, -1], first.y[:, -1], rtol=1e-8, atol=1e-8)
    for symbol in set(start) & set(
        again.names
    ):  # the same value, or another one in other symbols, and then it is said
        assert again[symbol][0] == pytest.approx(start[symbol], abs=1e-8) or symbol in " ".join(
            again.start_report
        )


def test_fibre_velocities_start_a_motion() -> None:
    plane = da.System([x, y], kinetic=(v**2 + w**2) / 2, bundle={v: x.dot + 2 * y.dot, w: y.dot})
    motion = da.simulate(plane, {"v": 1.0, "w": 0.25}, (0, 1))
    assert motion["y_dot"][0] == pytest.approx(0.25) and motion["x_dot"][0] == pytest.approx(0.5)
    runs = da.sweep(plane, over={"v": [1.0, 2.0]}, start={"w": 0.25}, span=(0, 1))
    assert runs.final["x"].tolist() == pytest.approx([0.5, 1.5])


def test_derivatives_ask_for_a_start_in_velocities() -> None:
    motion = da.simulate(hamel(), {"v": 1.0, "w": 0.5}, (0, 1))
    with pytest.raises(ModelError):
        da.analysis.sensitivities(motion, wrt=["v"], given=["v", "w"])
