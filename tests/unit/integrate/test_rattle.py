"""RATTLE and its compositions: orders, constraints to rounding, no drift of the energy, and what is
refused.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError, ModelError
from dalembert.integrate.methods.compositions import composition

x, y, u, v = da.coordinates("x y u v")
m, k = da.parameters("m k", positive=True)
METHODS = {"rattle2": 2, "rattle4": 4, "rattle6": 6, "rattle8": 8}


def double_pendulum() -> da.System:
    """Two masses on rods, in Cartesian coordinates, with a spring that makes the force depend on
    the position.
    """
    return da.System(
        [x, y, u, v],
        kinetic=(m * (x.dot**2 + y.dot**2) + u.dot**2 + v.dot**2) / 2,
        potential=9.81 * (m * y + v) + k / 2 * (u - 1) ** 2,
        constraints=[
            da.holonomic(x**2 + y**2 - 1, name="upper"),
            da.holonomic((u - x) ** 2 + (v - y) ** 2 - 1, name="lower"),
        ],
    )


PARAMETERS = {"m": 1.5, "k": 2.0}
START = {
    "x": np.sin(1.0),
    "y": -np.cos(1.0),
    "u": np.sin(1.0) + np.sin(0.4),
    "v": -np.cos(1.0) - np.cos(0.4),
}


def run(method: str, step: float, end: float = 2.0, **options) -> da.Motion:
    return da.simulate(
        double_pendulum(),
        START,
        (0, end),
        parameters=PARAMETERS,
        method=method,
        step=step,
        **options,
    )


@pytest.mark.parametrize("order", METHODS.values())
def test_coefficients_satisfy_the_conditions_of_their_order(order: int) -> None:
    gamma = composition(order)
    assert gamma.sum() == pytest.approx(1, abs=1e-15)
    assert np.array_equal(gamma, gamma[::-1])
    for power in range(3, order, 2):
        assert np.sum(gamma**power) == pytest.approx(0, abs=1e-14)
    if order < 8:
        assert abs(np.sum(gamma ** (order + 1))) > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_the_order_is_the_one_it_says(method: str) -> None:
    exact = da.simulate(
        double_pendulum(), START, (0, 2), parameters=PARAMETERS, rtol=1e-14, at=[2.0]
    ).y[:, -1]
    coarse = {"rattle2": 0.01, "rattle4": 0.02, "rattle6": 0.05, "rattle8": 0.1}[method]
    errors = [np.abs(run(method, step).y[:, -1] - exact).max() for step in (coarse, coarse / 2)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(METHODS[method], abs=0.35)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_hold_to_rounding_and_the_energy_does_not_drift(method: str) -> None:
    motion = run(method, 0.01, 200.0, every=10)
    assert motion.success
    assert motion.worst_residual["position"] < 1e-14
    assert motion.worst_residual["velocity"] < 1e-13
    error = np.abs(motion.energy - motion.energy[0])
    half = len(error) // 2
    assert error[half:].max() < 3 * error[:half].max() + 1e-11


@pytest.mark.long
def test_higher_orders_have_smaller_energy_errors() -> None:
    errors = [np.ptp(run(method, 0.02, 20.0).energy) for method in METHODS]
    assert errors[0] > 30 * errors[1] > 900 * errors[2] > 9000 * errors[3]


@pytest.mark.parametrize("method", METHODS)
def test_steps_back_return_to_the_start(method: str) -> None:
    there = run(method, 0.02)
    end = {symbol.name: value for symbol, value in zip(there.state, there.y[:, -1], strict=True)}
    back = da.simulate(
        double_pendulum(),
        end,
        (2, 0),
        parameters=PARAMETERS,
        method=method,
        step=0.02,
        project_start=False,
    )
    assert np.allclose(back.y[:, -1], there.y[:, 0], atol=1e-11)


def test_one_step_is_that_of_the_formulas() -> None:
    """In NumPy, with the multipliers found by plain iteration."""
    h, mass = 0.05, np.diag([1.5, 1.5, 1, 1])
    q, w = np.array(list(START.values())), np.zeros(4)

    def derivatives(q):
        a, b, c, d = q
        return np.array(
            [[2 * a, 2 * b, 0, 0], [2 * (a - c), 2 * (b - d), 2 * (c - a), 2 * (d - b)]]
        )

    def gaps(q):
        a, b, c, d = q
        return np.array([a * a + b * b - 1, (c - a) ** 2 + (d - b) ** 2 - 1])

    def field(q):
        return np.linalg.solve(mass, -np.array([0, 9.81 * 1.5, 2.0 * (q[2] - 1), 9.81]))

    along = np.linalg.solve(mass, derivatives(q).T)
    half, multipliers = w + h / 2 * field(q), np.zeros(2)
    for _ in range(60):
        new = q + h * half - along @ multipliers
        multipliers = multipliers + np.linalg.solve(derivatives(new) @ along, gaps(new))
    half = (new - q) / h
    late, rows = half + h / 2 * field(new), derivatives(new)
    late = late - np.linalg.solve(mass, rows.T) @ np.linalg.solve(
        rows @ np.linalg.solve(mass, rows.T), rows @ late
    )
    motion = run("rattle2", h, h)
    assert np.allclose(motion.y[:, -1], [*new, *late], atol=1e-13)


def test_without_constraints_it_is_the_method_of_verlet() -> None:
    oscillator = da.System([x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2)
    motion = da.simulate(
        oscillator, {x: 1.0}, (0, 0.2), parameters={"m": 2.0, "k": 3.0}, method="rattle2", step=0.1
    )
    q, w, h = 1.0, 0.0, 0.1
    for _ in range(2):
        w -= h / 2 * 1.5 * q
        q += h * w
        w -= h / 2 * 1.5 * q
    assert motion.y[:, -1] == pytest.approx([q, w], abs=1e-15)


def test_a_driven_pivot() -> None:
    """g depends on time, and so do velocities on the constraint."""
    pivot = sin(3 * da.t) / 5
    swing = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic((x - pivot) ** 2 + y**2 - 1, name="rod")],
    )
    start = {"x": 0.0, "y": -1.0, "x_dot": 0.6}
    motion = da.simulate(swing, start, (0, 3), method="rattle6", step=0.01)
    other = da.simulate(swing, start, (0, 3), rtol=1e-12, at=[3.0])
    assert np.allclose(motion.y[:, -1], other.y[:, -1], atol=1e-8)
    assert motion.worst_residual["velocity"] < 1e-12


@pytest.mark.long
def test_a_long_chain() -> None:
    count = 30
    xs, ys = (
        da.coordinates(" ".join(f"x{i}" for i in range(count))),
        da.coordinates(" ".join(f"y{i}" for i in range(count))),
    )
    before = [(sympy.Integer(0), sympy.Integer(0)), *zip(xs, ys, strict=True)]
    chain = da.System(
        [*xs, *ys],
        kinetic=sum(a.dot**2 + b.dot**2 for a, b in zip(xs, ys, strict=True)) / 2,
        potential=9.81 * sum(ys),
        constraints=[
            da.holonomic((a - c) ** 2 + (b - d) ** 2 - 1, name=f"rod{i}")
            for i, ((c, d), a, b) in enumerate(zip(before[:-1], xs, ys, strict=True))
        ],
    )
    start = {q.name: float(i + 1) for i, q in enumerate(xs)} | {q.name: 0.0 for q in ys}
    motion = da.simulate(chain, start, (0, 2), method="rattle4", step=0.005, every=20)
    assert motion.worst_residual["position"] < 1e-12
    assert np.ptp(motion.energy) < 1e-5


def test_between_steps_there_is_a_shorter_step() -> None:
    motion, exact = (
        run("rattle6", 0.02),
        da.simulate(double_pendulum(), START, (0, 2), parameters=PARAMETERS, rtol=1e-13),
    )
    assert np.allclose(motion.sol(1.2345), exact.sol(1.2345), atol=1e-6)


@pytest.mark.long
def test_it_comes_back_from_a_file(tmp_path) -> None:
    motion = run("rattle4", 0.02)
    motion.save(tmp_path / "swing.nc")
    assert np.array_equal(da.load(tmp_path / "swing.nc").y, motion.y)


def test_a_step_that_is_too_large_ends_with_a_sentence() -> None:
    motion = run("rattle2", 1.0, 5.0)
    assert not motion.success
    assert "smaller step" in motion.message


REFUSED = {
    "mass": (da.System([x], kinetic=(1 + x**2) * x.dot**2), "constant mass"),
    "friction": (da.System([x], kinetic=x.dot**2, forces={x: -x.dot}), "depends on velocities"),
    "velocities": (
        da.System(
            [x, y], kinetic=x.dot**2 + y.dot**2, constraints=[da.velocity(x.dot - y * y.dot)]
        ),
        "do no work",
    ),
    "dependent": (
        da.System(
            [x, y],
            kinetic=x.dot**2 + y.dot**2,
            constraints=[
                da.holonomic(x**2 + y**2 - 1, name="a"),
                da.holonomic(2 * x**2 + 2 * y**2 - 2, name="b"),
            ],
        ),
        "2 constraints of rank 1",
    ),
    "angles": (
        da.System([x, y], kinetic=x.dot**2 + y.dot**2 + cos(x - y) * x.dot * y.dot),
        "constant mass",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_it_cannot_follow_is_refused(reason: str) -> None:
    system, words = REFUSED[reason]
    with pytest.raises(FormError, match=words):
        da.simulate(system, {}, (0, 1), method="rattle4", step=0.1)


def test_it_cannot_be_told_to_leave_the_constraints() -> None:
    with pytest.raises(ModelError, match="every step on the constraints"):
        run("rattle2", 0.1, project=False)


def test_flows_are_refused() -> None:
    with pytest.raises(FormError, match="positions and velocities"):
        da.simulate(da.Flow({x: -x}), {x: 1.0}, (0, 1), method="rattle4", step=0.1)


def test_it_needs_the_form_of_lagrange() -> None:
    with pytest.raises(FormError, match='form="lagrange"'):
        da.simulate(
            double_pendulum(),
            START,
            (0, 1),
            parameters=PARAMETERS,
            method="rattle4",
            step=0.1,
            form="maggi",
        )
