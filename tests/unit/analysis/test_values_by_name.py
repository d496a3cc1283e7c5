"""Every question about a system reads parameters and places in one way: each name once, known, with
a finite number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sympy import cos

import dalembert as da

theta = da.coordinates("theta")
m, l, g = da.parameters("m l g", positive=True)
u = da.inputs("u")
PENDULUM = da.System(
    [theta],
    kinetic=m * (l * theta.dot) ** 2 / 2,
    potential=-m * g * l * cos(theta),
    name="Pendulum",
)
DRIVEN = PENDULUM.replacing(forces={theta: u}, inputs=[u])
VALUES: dict[Any, Any] = {m: 1.0, l: 1.0, g: 9.81}
DATA = {"t": [0.1, 0.2, 0.3], "theta": [1.0, 0.9, 0.8]}

BY_PARAMETERS: dict[str, Callable[[Any], Any]] = {
    "bifurcation_diagram": lambda p: da.analysis.bifurcation_diagram(
        PENDULUM, g, [1.0, 2.0], parameters=p
    ),
    "describe": lambda p: da.describe(PENDULUM, p),
    "equilibria": lambda p: da.equilibria(PENDULUM, p),
    "existence_bound": lambda p: da.analysis.existence_bound(
        PENDULUM, -20.0, 0.0, {theta: 1.0}, parameters=p
    ),
    "fit": lambda p: da.analysis.fit(PENDULUM, DATA, [l], {theta: 1.0}, parameters=p),
    "hamilton_jacobi": lambda p: da.variational.hamilton_jacobi(PENDULUM, p),
    "linearise": lambda p: da.linearise(PENDULUM, parameters=p),
    "lqr": lambda p: da.control.lqr(DRIVEN, parameters=p),
    "match": lambda p: da.control.match(DRIVEN, parameters=p),
    "phase_portrait": lambda p: da.plotting.phase_portrait(PENDULUM, p),
    "sensitivities": lambda p: da.analysis.sensitivities(
        PENDULUM, [l], {theta: 1.0}, (0, 1), parameters=p
    ),
    "separatrices": lambda p: da.analysis.separatrices(PENDULUM, p),
    "sweep": lambda p: da.sweep(PENDULUM, {theta: [1.0, 2.0]}, span=(0, 1), parameters=p),
}
BY_PLACE: dict[str, Callable[[Any], Any]] = {
    "compare": lambda at: da.compare(PENDULUM, VALUES, at),
    "controllability": lambda at: da.control.controllability(DRIVEN, at, VALUES),
    "existence_bound": lambda at: da.analysis.existence_bound(
        PENDULUM, -20.0, 0.0, at, parameters=VALUES
    ),
    "fit": lambda at: da.analysis.fit(PENDULUM, DATA, [l], at, parameters=VALUES),
    "gradient": lambda at: da.analysis.gradient(
        PENDULUM, [l], at, (0, 1), parameters=VALUES, final=theta
    ),
    "linearise": lambda at: da.linearise(PENDULUM, at, VALUES),
    "place_poles": lambda at: da.control.place_poles(DRIVEN, [-1, -2], at, parameters=VALUES),
    "simulate with arrays": lambda at: da.simulate(
        PENDULUM, at, (0, 1), parameters={**VALUES, l: [1.0, 2.0]}
    ),
    "sweep": lambda at: da.sweep(
        PENDULUM, {l: [1.0, 2.0]}, start=at, span=(0, 1), parameters={m: 1.0, g: 9.81}
    ),
}
WRONG_PARAMETERS = {
    "unknown": ({m: 1.0, l: 1.0, "k": 1.0}, "`k`|g has no value"),
    "twice": ({**VALUES, "l": 2.0}, "twice"),
    "not a number": ({**VALUES, l: float("nan")}, "l|bounds"),
    "an array": ({**VALUES, l: [1.0, 2.0]}, "number|one motion|One motion"),
}


@pytest.mark.parametrize("fault", WRONG_PARAMETERS)
@pytest.mark.parametrize("question", BY_PARAMETERS)
def test_parameters_that_are_not_meant_are_refused(question: str, fault: str) -> None:
    """They were passed over, the last of two was taken, or an error of Python came out."""
    values, words = WRONG_PARAMETERS[fault]
    with pytest.raises(da.errors.ModelError, match=words):
        BY_PARAMETERS[question](values)


@pytest.mark.parametrize("question", BY_PARAMETERS)
def test_values_that_the_model_does_not_use_are_warned_of(question: str) -> None:
    with pytest.warns(da.errors.UnusedParameterWarning, match="does not use the parameter `k`"):
        BY_PARAMETERS[question]({**VALUES, "k": 1.0})


@pytest.mark.parametrize("at", [{theta: 1.0, "theta": 2.0}, {theta: 1j}], ids=["twice", "complex"])
@pytest.mark.parametrize("question", BY_PLACE)
def test_a_place_that_is_none_is_refused(question: str, at: Any) -> None:
    with pytest.raises(da.errors.ModelError, match=r"`theta`"):
        BY_PLACE[question](at)


@pytest.mark.parametrize("question", ["fit", "gradient", "linearise", "compare", "sweep"])
def test_many_places_are_not_one(question: str) -> None:
    with pytest.raises(da.errors.ModelError):
        BY_PLACE[question]({theta: [1.0, 2.0]})


def test_a_flow_has_no_other_parameters() -> None:
    x = da.coordinates("x")
    k = da.parameters("k")
    with pytest.warns(da.errors.UnusedParameterWarning, match="does not use the parameter `w`"):
        da.describe(da.Flow({x: -k * x}), {k: 1.0, "w": 2.0})
    with pytest.raises(da.errors.ModelError, match="no parameter `w`"):
        da.describe(da.Flow({x: -k * x}), {"w": 2.0})


def test_what_is_masked_was_not_measured() -> None:
    """The mask of a column was ignored, and the outlier below it fitted."""
    masked = np.ma.masked_array([1.0, 0.95, 0.8, 50.0], mask=[False, False, False, True])
    unmeasured = np.array([1.0, 0.95, 0.8, np.nan])
    times = [0.0, 0.1, 0.2, 0.3]
    found, wanted = (
        da.analysis.fit(
            PENDULUM, {"t": times, "theta": column}, [l], {theta: 1.0}, parameters=VALUES
        )
        for column in (masked, unmeasured)
    )
    assert found[l] == wanted[l]


WRONG_CALLS: dict[str, Callable[[], Any]] = {
    "a region of another symbol": lambda: da.equilibria(PENDULUM, VALUES, within={"phi": (0, 1)}),
    "a region that is no pair": lambda: da.equilibria(PENDULUM, VALUES, within={theta: 3}),
    "a gain given twice": lambda: da.control.feedback(DRIVEN, {u: {theta: 1, "theta": 2}}),
    "an input given twice": lambda: da.control.feedback(DRIVEN, {u: {theta: 1}, "u": {theta: 2}}),
    "a place of another symbol": lambda: da.control.feedback(
        DRIVEN, {u: {theta: 1}}, at={"phi": 1}
    ),
    "a negative weight": lambda: da.control.lqr(DRIVEN, weights={theta: -1}, parameters=VALUES),
    "an effort that is text": lambda: da.control.lqr(DRIVEN, effort="little", parameters=VALUES),
    "a pole that is no number": lambda: da.control.place_poles(
        DRIVEN, [-1, float("nan")], parameters=VALUES
    ),
    "a bound that is no pair": lambda: da.analysis.fit(
        PENDULUM, DATA, [l], {theta: 1}, parameters=VALUES, bounds={l: 3}
    ),
    "an observation given twice": lambda: da.analysis.fit(
        PENDULUM,
        DATA,
        [l],
        {theta: 1},
        parameters=VALUES,
        observe={"theta": theta, theta: 2 * theta},
    ),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_what_would_be_passed_over_or_end_in_an_error_of_python_is_refused(call: str) -> None:
    with pytest.raises(da.errors.ModelError):
        WRONG_CALLS[call]()
