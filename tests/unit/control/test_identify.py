"""Identification by the transcribed program: against truths, SciPy, `fit` and a smoother."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from sympy import cos, sin

import dalembert as da
from dalembert.control import identify
from dalembert.errors import ModelError


def pendulum() -> tuple[da.System, Any, Any, Any, Any]:
    th, u = da.coordinates("th"), da.inputs("u")
    w2, c = da.parameters("w2 c")
    system = da.System(
        [th],
        kinetic=th.dot**2 / 2,
        potential=-w2 * cos(th),
        forces={th: u - c * th.dot},
        inputs=[u],
        name="pendulum",
    )
    return system, th, u, w2, c


def drive(time: Any) -> Any:
    return 0.8 * np.sin(1.7 * time)


def measured(count: int, sigma: float, seed: int) -> dict[str, Any]:
    """SciPy's pendulum with noise; a third of the angles and two thirds of the rates are lost."""

    def right(time: float, z: Any) -> list[float]:
        return [z[1], -4.0 * np.sin(z[0]) - 0.3 * z[1] + drive(time)]

    times, random = np.linspace(0, 8, count), np.random.default_rng(seed)
    run = solve_ivp(right, (0, 8), [1.0, 0.0], t_eval=times, rtol=1e-11, atol=1e-12)
    values = run.y + sigma * random.normal(size=run.y.shape)
    values[0, ::3] = np.nan
    values[1, np.arange(count) % 3 != 1] = np.nan
    return {"t": times, "th": values[0], "th_dot": values[1]}


def test_parameters_and_starts_are_those_of_scipy() -> None:
    """Least squares by SciPy, its motions and differences; values, errors, covariance."""
    system, th, u, w2, c = pendulum()
    data = measured(90, 0.05, 1)
    given = 0.8 * sin(1.7 * da.t)
    found = identify(
        system, data, {w2: (0.1, 50), c: (0, 5)}, inputs={u: given}, sigma=0.05, tolerance=1e-8
    )
    seen = np.array([data["th"], data["th_dot"]])
    here = ~np.isnan(seen)

    def residuals(p: Any) -> Any:
        def right(time: float, z: Any) -> list[float]:
            return [z[1], -p[0] * np.sin(z[0]) - p[1] * z[1] + drive(time)]

        run = solve_ivp(right, (0, 8), p[2:], t_eval=data["t"], rtol=1e-11, atol=1e-12)
        return ((run.y - seen) / 0.05)[here]

    best = least_squares(residuals, [4.0, 0.3, 1.0, 0.0], x_scale="jac", xtol=1e-13, ftol=1e-13)
    names = ("w2", "c", "th", "th_dot")
    values = np.array([found.parameters[name] for name in names])
    assert np.max(np.abs(values - best.x)) < 1e-6
    assert abs(2 * found.fit.cost - np.sum(best.fun**2)) < 1e-5
    covariance = np.linalg.inv(best.jac.T @ best.jac)
    order = [list(found.parameters).index(name) for name in names]
    ours = found.fit.covariance[np.ix_(order, order)]
    assert np.max(np.abs(ours / covariance - 1)) < 1e-3
    assert found.replay_distance < 1e-6
    truth = np.array([4.0, 0.3, 1.0, 0.0])
    errors = np.array([found.uncertainty[name] for name in names])
    assert np.all(np.abs(values - truth) < 4 * errors)
    assert th.name in found.parameters


def test_it_agrees_with_fit() -> None:
    """The same regression by motions from the start; the scatter is estimated by both."""
    system, th, u, w2, c = pendulum()
    data = measured(60, 0.02, 2)
    drive_u = 0.8 * sin(1.7 * da.t)
    ours = identify(
        system,
        data,
        {w2: (0.1, 50), c: (0, 5)},
        {th: (None, None)},
        inputs={u: drive},
        tolerance=1e-8,
    )
    other = da.analysis.fit(
        system.driven({u: drive_u}), data, [w2, c, th, th.dot], {th: 1.0, th.dot: 0.0},
        parameters={w2: 4.0, c: 0.3},
    )  # fmt: skip
    for name in ("w2", "c", "th", "th_dot"):
        assert abs(ours.parameters[name] - other.parameters[name]) < 1e-6
        assert abs(ours.uncertainty[name] / other.uncertainty[name] - 1) < 1e-4
        pair, theirs = ours.fit.intervals[name], other.intervals[name]
        assert np.allclose(pair, theirs, atol=1e-5)
    assert abs(ours.fit.scale / other.scale - 1) < 1e-6
    assert np.allclose(ours.fit.residuals, other.residuals, atol=1e-6, equal_nan=True)


def test_a_poor_guess_does_no_harm() -> None:
    """Forty turns of an oscillator: `fit` from the same guess stays in a local minimum."""
    x, k = da.coordinates("x"), da.parameters("k")
    spring = da.System([x], kinetic=x.dot**2 / 2, potential=k / 2 * x**2)
    times = np.linspace(0, 40, 161)
    noise = 0.02 * np.random.default_rng(3).normal(size=times.size)
    data = {"t": times, "x": np.cos(2 * times) + noise}
    data["x"][50:80] = np.nan
    stuck = da.analysis.fit(spring, data, [k], {x: 1.0}, parameters={k: 20.0})
    found = identify(spring, data, {k: (0.01, 40)}, guess={k: 20.0})
    assert abs(stuck.parameters["k"] - 4.0) > 1.0
    assert abs(found.parameters["k"] - 4.0) < 4 * found.uncertainty["k"]
    assert found.uncertainty["k"] < 1e-3


def test_an_unknown_force_is_that_of_a_smoother() -> None:
    """A mass under white noise: the estimate is the Rauch-Tung-Striebel smoother's (NumPy)."""
    x, w = da.coordinates("x"), da.inputs("w")
    mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: w}, inputs=[w])
    times, s, sigma = np.linspace(0, 3, 16), 0.7, 0.1
    random = np.random.default_rng(4)
    data = np.sin(times) + sigma * random.normal(size=times.size)
    data[[3, 4, 9]] = np.nan
    found = identify(mass, {"t": times, "x": data}, process={w: s}, sigma=sigma)
    h = times[1] - times[0]
    F = np.array([[1, h], [0, 1]])
    Q = s**2 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
    # information form of the whole Gaussian problem: states at all times
    n = times.size
    information, right = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for i in range(n - 1):
        row = np.zeros((2, 2 * n))
        row[:, 2 * i : 2 * i + 2], row[:, 2 * i + 2 : 2 * i + 4] = -F, np.eye(2)
        information += row.T @ np.linalg.inv(Q) @ row
    for i in range(n):
        if not np.isnan(data[i]):
            information[2 * i, 2 * i] += sigma**-2
            right[2 * i] += data[i] / sigma**2
    covariance = np.linalg.inv(information)
    states = (covariance @ right).reshape(n, 2)
    ours = np.array([np.interp(times, found.t, row) for row in found.states]).T
    assert np.max(np.abs(ours - states)) < 1e-7
    assert abs(found.uncertainty["x"] - np.sqrt(covariance[0, 0])) < 1e-7
    assert abs(found.uncertainty["x_dot"] - np.sqrt(covariance[1, 1])) < 1e-6
    assert abs(found.fit.covariance[0, 1] - covariance[0, 1]) < 1e-6


def test_constraints_are_kept() -> None:
    """A pendulum in x and y with a rod of unknown length; starts obey the rod."""
    x, y = da.coordinates("x y")
    length, g = da.parameters("length g")
    rod = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=g * y,
        constraints=[da.holonomic(x**2 + y**2 - length**2, name="rod")],
    )
    times = np.linspace(0, 4, 41)

    def right(_: float, z: Any) -> list[float]:
        return [z[1], -9.81 / 1.3 * np.sin(z[0])]

    run = solve_ivp(right, (0, 4), [0.8, 0.2], t_eval=times, rtol=1e-12, atol=1e-12)
    data = {"t": times, "x": 1.3 * np.sin(run.y[0]), "y": -1.3 * np.cos(run.y[0])}
    found = identify(rod, data, {length: (0.5, 3), g: (1, 30)})
    assert abs(found.parameters["length"] - 1.3) < 1e-7
    assert abs(found.parameters["g"] - 9.81) < 1e-5
    assert len(found.parameters) == 4  # two of the four starts are independent
    assert found.replay_distance < 1e-6


def test_what_the_data_do_not_determine_is_named() -> None:
    """Only the ratio of stiffness and mass shows in a free oscillation."""
    x = da.coordinates("x")
    k, m = da.parameters("k m")
    spring = da.System([x], kinetic=m * x.dot**2 / 2, potential=k / 2 * x**2)
    times = np.linspace(0, 5, 31)
    data = {"t": times, "x": np.cos(2 * times)}
    both = {k: (0.5, 40), m: (0.5, 10)}
    found = identify(spring, data, both, {x: 1, x.dot: 0}, guess={m: 2, k: 7})
    assert len(found.fit.undetermined) == 1
    assert "do not determine" in found.summary()
    told = identify(spring, data, both, {x: 1, x.dot: 0}, priors={m: (2.0, 0.1)}, sigma=0.01)
    assert abs(told.parameters["k"] - 8.0) < 1e-5
    assert abs(told.uncertainty["m"] - 0.1) < 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"process": {"u": 1.0}}, "standard deviations"),
        ({"process": {"u": -1.0}, "sigma": 0.1}, "must be positive"),
        ({"process": {"u": 1.0}, "inputs": {"u": 1}, "sigma": 0.1}, "known or unknown"),
        ({"inputs": {"v": 1.0}}, "no such input"),
        ({"priors": {"c": 1.0}, "inputs": {"u": 0}}, "mean, standard deviation"),
        ({"intervals": 1, "inputs": {"u": 0}}, "two intervals"),
        ({"inputs": {"u": 0}, "observe": {"th": "tth"}}, "no quantity"),
    ],
)
def test_wrong_requests_are_refused(options: dict[str, Any], words: str) -> None:
    system, _, _, w2, c = pendulum()
    with pytest.raises(ModelError, match=words):
        identify(system, measured(20, 0.1, 0), {w2: (0.1, 50), c: (0, 5)}, **options)
