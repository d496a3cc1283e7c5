"""Constraints and quasi-velocities that are nonlinear in every velocity (Rumyantsev 1.1, 1.14).

References are written with NumPy and SciPy alone: M q_ddot = f + A^T mu with A q_ddot = b by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, exp, sin, sqrt

import dalembert as da
from dalembert.errors import FormError

FORMS = (
    "lagrange",
    "maggi",
    "voronets",
    "hamel",
    "gibbs-appell",
    "kane",
    "canonical-voronets",
    "canonical-quasi",
)
QUASI_FORMS = ("maggi", "hamel", "gibbs-appell", "kane", "canonical-quasi")


def reference(
    problem: Callable[[float, Any, Any], tuple[Any, Any, Any, Any]], q: Any, v: Any, times: Any
) -> Any:
    """(q, v) at times by SciPy; `problem` gives M, f, A, b at (t, q, v)."""
    n = len(q)

    def rates(t: float, y: Any) -> Any:
        mass, force, rows, right = problem(t, y[:n], y[n:])
        m = len(rows)
        matrix = np.block([[mass, -rows.T], [rows, np.zeros((m, m))]])
        return [*y[n:], *np.linalg.solve(matrix, [*force, *right])[:n]]

    span = (times[0], times[-1])
    return solve_ivp(rates, span, [*q, *v], "DOP853", times, rtol=1e-13, atol=1e-14).y


def ball() -> tuple[da.System, Any]:
    """A particle whose speed is prescribed along the way: |v|^2 = 1 + x^2/5."""
    x, y, z = da.coordinates("x y z")
    (g,) = da.parameters(["g"], positive=True)
    speed = da.velocity(x.dot**2 + y.dot**2 + z.dot**2 - 1 - x**2 / 5, name="speed")
    kinetic = (x.dot**2 + 2 * y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=g * z + x * y / 3, constraints=[speed])

    def problem(_: float, q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
        force = np.array([-q[1] / 3, -q[0] / 3, -1.3])
        return np.diag([1.0, 2.0, 1.0]), force, 2 * v[None, :], [2 * q[0] * v[0] / 5]

    return system, problem


@pytest.mark.parametrize("form", FORMS)
def test_a_particle_of_prescribed_speed(form: str) -> None:
    """It passes y_dot = 0 and z_dot = 0, where other velocities become dependent."""
    system, problem = ball()
    times = np.linspace(0, 3, 7)
    v = [0.6, 0.5, np.sqrt(0.39)]
    expected = reference(problem, [0, 0, 0], v, times)
    start = dict(zip(("x_dot", "y_dot", "z_dot"), v, strict=True))
    motion = da.simulate(
        system, start, (0, 3), parameters={"g": 1.3}, form=form, rtol=1e-12, at=times
    )
    assert np.abs(motion.y - expected).max() < 1e-10
    assert motion.worst_residual["velocity"] < 1e-12
    if form != "lagrange":
        assert all("branch d speed/d " in text for _, text in motion.switches)


@pytest.mark.parametrize("form", FORMS)
def test_two_constraints_that_share_their_velocities(form: str) -> None:
    """A cone x'^2 + y'^2 = z'^2 (1 + t/9) and a product y' w' = 1 + x/4, with time and a force."""
    x, y, z, w = da.coordinates("x y z w")
    cone = da.velocity(x.dot**2 + y.dot**2 - z.dot**2 * (1 + da.t / 9), name="cone")
    product = da.velocity(y.dot * w.dot - 1 - x / 4, name="product")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2 + w.dot**2 + x.dot * w.dot / 2) / 2
    system = da.System(
        [x, y, z, w],
        kinetic=kinetic,
        constraints=[cone, product],
        forces={x: -y.dot, z: sin(da.t), w: -w.dot / 3},
    )

    def problem(t: float, q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
        mass = np.eye(4)
        mass[0, 3] = mass[3, 0] = 0.25
        rows = np.array([[2 * v[0], 2 * v[1], -2 * v[2] * (1 + t / 9), 0], [0, v[3], 0, v[1]]])
        return mass, [-v[1], 0, np.sin(t), -v[3] / 3], rows, [v[2] ** 2 / 9, v[0] / 4]

    v = [0.6, 0.8, -1.0, 1.25]
    times = np.linspace(0, 1.5, 4)
    expected = reference(problem, np.zeros(4), v, times)
    start = dict(zip(system.velocities, v, strict=True))
    motion = da.simulate(system, start, (0, 1.5), form=form, rtol=1e-12, at=times)
    assert np.abs(motion.y - expected).max() < 1e-10


def test_appells_wheel_in_squares_is_appells_wheel() -> None:
    """z'^2 = a^2 (x'^2 + y'^2), affine in nothing, against z' = a sqrt(x'^2 + y'^2)."""
    x, y, z = da.coordinates("x y z")
    kinetic, potential = (x.dot**2 + y.dot**2 + z.dot**2) / 2, 9.81 * z
    wheels = [
        da.System([x, y, z], kinetic=kinetic, potential=potential, constraints=[constraint])
        for constraint in (
            da.velocity(z.dot - sqrt(x.dot**2 + y.dot**2) / 2, name="wheel"),
            da.velocity(z.dot**2 - (x.dot**2 + y.dot**2) / 4, name="wheel"),
        )
    ]
    start = {x.dot: 3, y.dot: 4, z.dot: 2.5}
    solved = da.simulate(wheels[0], start, (0, 1), rtol=1e-12, at=[0, 0.5, 1])
    for form in FORMS:
        squares = da.simulate(wheels[1], start, (0, 1), form=form, rtol=1e-12, at=[0, 0.5, 1])
        assert np.abs(squares.y - solved.y).max() < 1e-10
    closed = 5 - 9.81 * 0.5 / 1.25  # w = w0 - g a t/(1 + a^2) (Rumyantsev example 4.1)
    assert np.hypot(solved["x_dot"][-1], solved["y_dot"][-1]) == pytest.approx(closed, abs=1e-11)


def test_the_vertex_of_a_cone_ends_a_motion() -> None:
    """All velocities vanish together there: no partition is left, and that is said."""
    x, y, z = da.coordinates("x y z")
    wheel = da.velocity(z.dot**2 - (x.dot**2 + y.dot**2) / 4, name="wheel")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=9.81 * z, constraints=[wheel])
    for form in ("lagrange", "maggi", "hamel"):
        motion = da.simulate(system, {x.dot: 3, y.dot: 4, z.dot: 2.5}, (0, 3), form=form)
        assert not motion.success
        assert motion.t[-1] == pytest.approx(5 * 1.25 / (9.81 * 0.5), abs=1e-3)


def test_branches_are_found_and_named() -> None:
    """z' = -1/2 and 1/2 for x'^2 + y'^2 + z'^2 = 1 at x' = 0.6, y' = sqrt(0.39)."""
    x, y, z = da.coordinates("x y z")
    speed = da.velocity(x.dot**2 + y.dot**2 + z.dot**2 - 1, name="speed")
    system = da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=[speed])
    state = {x.dot: 0.6, y.dot: np.sqrt(0.39)}
    found = da.analysis.velocity_branches(system, state, independent=("x_dot", "y_dot"))
    assert [branch.velocities["z_dot"] for branch in found] == pytest.approx([-0.5, 0.5])
    assert [branch.sign for branch in found] == [-1, 1]
    assert not da.analysis.velocity_branches(system, {x.dot: 2}, independent=("x_dot", "y_dot"))
    for given in ((x, y), (y, z), (x, z)):
        named = {q.dot: value for q, value in zip(given, (0.6, np.sqrt(0.39)), strict=True)}
        for branch in da.analysis.velocity_branches(system, named):
            assert not branch.velocities.keys() & {v.name for v in named}
            assert [abs(v) for v in branch.velocities.values()] == pytest.approx([0.5])
    with pytest.raises(da.errors.ModelError, match="no velocity `w`"):
        da.analysis.velocity_branches(system, state, independent=("w", "y_dot"))


# -- quasi-velocities ------------------------------------------------------------------------------


def skate() -> tuple[da.System, Any]:
    x, y, theta = da.coordinates("x y theta")
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    kinetic = (x.dot**2 + y.dot**2) / 2 + theta.dot**2 / 4 + x.dot * theta.dot / 10
    system = da.System(
        [x, y, theta], kinetic=kinetic, constraints=[blade], forces={x: 1 + y.dot, theta: -x.dot}
    )

    def problem(_: float, q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
        mass = np.array([[1, 0, 0.1], [0, 1, 0], [0.1, 0, 0.5]])
        rows = np.array([[np.sin(q[2]), -np.cos(q[2]), 0]])
        right = [-v[2] * (v[0] * np.cos(q[2]) + v[1] * np.sin(q[2]))]
        return mass, [1 + v[1], 0, -v[0]], rows, right

    return system, problem


@pytest.mark.parametrize("form", QUASI_FORMS)
@pytest.mark.parametrize("kind", ["linear", "affine", "nonlinear"])
def test_every_form_takes_quasi_velocities(form: str, kind: str) -> None:
    """The same motion by SciPy; they are columns, and a start may name them."""
    system, problem = skate()
    x, y, theta = system.coordinates
    along = x.dot * cos(theta) + y.dot * sin(theta)
    stated = {
        "linear": {"forward": along, "turn": theta.dot + x.dot / 3},
        "affine": {"forward": along + sin(da.t + x), "turn": theta.dot},
        "nonlinear": {"forward": along**3 + along, "turn": exp(theta.dot / 2) + x.dot},
    }[kind]
    times = np.linspace(0, 2, 5)
    expected = reference(problem, [0, 0, -0.4], [0.6 * np.cos(0.4), -0.6 * np.sin(0.4), 1], times)
    equations = da.derive(system, form, quasi_velocities=stated)
    symbols = {
        s: float(v)
        for s, v in zip((*system.coordinates, *system.velocities), expected.T[0], strict=True)
    }
    values = {name: float(value.subs({**symbols, da.t: 0})) for name, value in stated.items()}
    for start in (
        {"theta": -0.4, "x_dot": 0.6 * np.cos(0.4), "y_dot": -0.6 * np.sin(0.4), "theta_dot": 1},
        {"theta": -0.4, **values},
    ):
        motion = da.simulate(equations, start, (0, 2), rtol=1e-12, at=times)
        assert np.abs(motion.y - expected).max() < 1e-10
        for name in stated:
            assert motion[name][0] == pytest.approx(values[name], abs=1e-12)
    if kind == "nonlinear":
        assert equations.state == (*system.coordinates, *system.velocities)


@pytest.mark.parametrize("form", QUASI_FORMS)
def test_nonlinear_quasi_velocities_under_a_nonlinear_constraint(form: str) -> None:
    """u = x' y' fails to determine the velocities on the way; velocities take over, and back."""
    system, problem = ball()
    x, y, z = system.coordinates
    stated = {"u": x.dot * y.dot, "w": z.dot + y.dot}
    times, v = np.linspace(0, 2, 5), [0.6, 0.5, np.sqrt(0.39)]
    expected = reference(problem, [0, 0, 0], v, times)
    start = dict(zip(("x_dot", "y_dot", "z_dot"), v, strict=True))
    equations = da.derive(system, form, quasi_velocities=stated)
    motion = da.simulate(equations, start, (0, 2), parameters={"g": 1.3}, rtol=1e-12, at=times)
    assert np.abs(motion.y - expected).max() < 1e-10
    assert np.abs(motion["u"] - expected[3] * expected[4]).max() < 1e-10


def test_forms_without_quasi_velocities_say_so() -> None:
    with pytest.raises(FormError, match="has no option `quasi_velocities`"):
        da.derive(skate()[0], "voronets", quasi_velocities={})


def test_momenta_are_columns_where_they_have_no_formula() -> None:
    """y = dL/dx' of a relativistic particle, by hand; a start may name it."""
    x, y = da.coordinates("x y")
    system = da.System([x, y], lagrangian=-2 * sqrt(4 - x.dot**2 - y.dot**2) - x * y / 3)
    motion = da.simulate(system, {x.dot: 0.6, y.dot: 0.1}, (0, 1), form="canonical-voronets")
    by_hand = 2 * motion["x_dot"] / np.sqrt(4 - motion["x_dot"] ** 2 - motion["y_dot"] ** 2)
    assert np.abs(motion["y_x"] - by_hand).max() < 1e-12
    start = {"y_x": motion["y_x"][0], "y_y": motion["y_y"][0]}
    again = da.simulate(system, start, (0, 1), form="canonical-voronets")
    assert np.abs(again["x"][-1] - motion["x"][-1]) < 1e-9
