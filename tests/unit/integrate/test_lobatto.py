"""Lobatto IIIA-IIIB steps: tables, orders with variable mass and constraints, symplecticity,
reversal, and what is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin, sqrt

import dalembert as da
from dalembert.errors import FormError, ModelError
from dalembert.integrate.methods.implicit.quadratures import (
    lobatto_pair,
    polynomial_table,
    quadrature,
)

x, y, z = da.coordinates("x y z")
a, b = da.coordinates("a b")
METHODS = {"lobatto2": 2, "lobatto4": 4, "lobatto6": 6}
COARSE = {"lobatto2": 0.01, "lobatto4": 0.05, "lobatto6": 0.05}


def ball_in_bowl() -> da.System:
    """A particle whose mass matrix depends on where it is, on an ellipsoid: beyond RATTLE."""
    return da.System(
        [x, y, z],
        kinetic=(1 + x**2) * x.dot**2 / 2
        + (1 + y**2 / 2) * y.dot**2 / 2
        + z.dot**2 / 2
        + x * y.dot * z.dot / 4,
        potential=4 * z + x * y,
        constraints=[da.holonomic(x**2 + y**2 / 2 + z**2 - 1, name="bowl")],
    )


def arm() -> da.System:
    """A double pendulum in angles."""
    return da.System(
        [a, b],
        kinetic=a.dot**2 + cos(a - b) * a.dot * b.dot + b.dot**2 / 2,
        potential=-9.81 * (2 * cos(a) + cos(b)),
    )


BOWL_START = {"x": 0.6, "y": 0.3, "z": -sqrt(1 - 0.36 - 0.045), "x_dot": 0.4, "y_dot": 0.9}
ARM_START = {"a": 1.0, "b": 0.3, "a_dot": 0.5}
CASES = {"bowl": (ball_in_bowl, BOWL_START), "arm": (arm, ARM_START)}


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_pair_is_symplectic_and_collocates(stages: int) -> None:
    c, weights, first, second = lobatto_pair(stages)
    assert np.array_equal(second + first.T, np.ones((stages, stages)))
    first, second = weights * first, weights * second
    for power in range(1, stages + 1):
        assert np.allclose(first @ c ** (power - 1), c**power / power, atol=1e-15)
    for power in range(1, stages - 1):
        assert np.allclose(second @ c ** (power - 1), c**power / power, atol=1e-15)
    for power in range(1, 2 * stages - 1):
        assert weights @ c ** (power - 1) == pytest.approx(1 / power, abs=1e-15)
    assert abs(weights @ c ** (2 * stages - 2) - 1 / (2 * stages - 1)) > 1e-4


@pytest.mark.parametrize(
    ("kind", "points"), [("gauss", 1), ("gauss", 2), ("gauss", 3), ("lobatto", 2), ("lobatto", 5)]
)
def test_polynomials_are_interpolated_exactly(kind: str, points: int) -> None:
    where, weights = quadrature(kind, points)
    for degree in (1, 2, 3, 4):
        table = polynomial_table(degree, kind, points)
        assert np.allclose(table.values @ table.control**degree, where**degree, atol=1e-14)
        assert np.allclose(
            table.derivatives @ table.control**degree, degree * where ** (degree - 1), atol=1e-13
        )
    assert weights.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_the_order_is_twice_the_stages_less_two(case: str, method: str) -> None:
    make, start = CASES[case]
    system = make()
    exact = da.simulate(system, start, (0, 2), form="hamilton", rtol=1e-14, at=[2.0]).y[:, -1]
    steps = (COARSE[method], COARSE[method] / 2)
    ends = [da.simulate(system, start, (0, 2), method=method, step=step).y[:, -1] for step in steps]
    errors = [np.abs(end - exact).max() for end in ends]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(METHODS[method], abs=0.5)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_both_constraints_hold_to_rounding_and_the_energy_does_not_drift(method: str) -> None:
    motion = da.simulate(ball_in_bowl(), BOWL_START, (0, 500), method=method, step=0.05, every=10)
    assert motion.success
    assert motion.worst_residual["position"] < 1e-14
    assert motion.worst_residual["velocity"] < 1e-13
    error = np.abs(motion.energy - motion.energy[0])
    half = len(error) // 2
    assert error[half:].max() < 1.5 * error[:half].max() + 1e-11


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_steps_back_return_to_the_start(method: str) -> None:
    there = da.simulate(ball_in_bowl(), BOWL_START, (0, 5), method=method, step=0.05)
    end = {symbol.name: value for symbol, value in zip(there.state, there.y[:, -1], strict=True)}
    back = da.simulate(ball_in_bowl(), end, (5, 0), method=method, step=0.05, project_start=False)
    assert np.allclose(back.y[:, -1], there.y[:, 0], atol=1e-12)


def test_two_stages_are_rattle_where_the_mass_is_constant() -> None:
    swing = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + 2 * y.dot**2 + z.dot**2) / 2,
        potential=9.81 * z + sin(x * y),
        constraints=[da.holonomic(x**2 + y**2 + z**2 - 1, name="rod")],
    )
    start = {"x": 0.6, "y": 0.0, "z": -0.8, "y_dot": 1.0}
    ours, rattle = (
        da.simulate(swing, start, (0, 5), method=method, step=0.02)
        for method in ("lobatto2", "rattle2")
    )
    assert np.allclose(ours.y[:3], rattle.y[:3], atol=1e-12)
    other = da.simulate(swing, start, (0, 5), method="variational-midpoint", step=0.02)
    assert np.abs(other.y[:3] - rattle.y[:3]).max() > 1e-6


def textbook_step(pair, q0, p0, h):
    """The equations of a step for a pendulum of variable mass, by a plain Newton method with
    differences.
    """
    c, weights, first, second = pair
    s, first, second = len(c), weights * first, weights * second

    def flow(q, p):
        inverse = np.diag([1 / (1 + q[0] ** 2), 1.0])
        return inverse @ p, np.array([p[0] ** 2 * q[0] / (1 + q[0] ** 2) ** 2, -9.81])

    def parts(unknowns):
        places = np.vstack([q0, unknowns[: 2 * (s - 1)].reshape(-1, 2)])
        momenta = unknowns[2 * (s - 1) : 2 * (2 * s - 1)].reshape(-1, 2)
        forces = unknowns[2 * (2 * s - 1) :]
        rates = [flow(q, p) for q, p in zip(places, momenta, strict=True)]
        speeds = np.array([rate[0] for rate in rates])
        pushes = np.array([rate[1] for rate in rates]) - 2 * places * forces[:, None]
        return places, momenta, speeds, pushes

    def residual(unknowns):
        places, momenta, speeds, pushes = parts(unknowns)
        end = p0 + h * weights @ pushes
        return np.concatenate([
            (places - q0 - h * first @ speeds)[1:].ravel(),
            (momenta - p0 - h * second @ pushes).ravel(),
            (places**2).sum(axis=1)[1:] - 1,
            [places[-1] @ flow(places[-1], end)[0]],
        ])  # fmt: skip

    unknowns = np.concatenate([np.tile(q0, s - 1), np.tile(p0, s), np.zeros(s)])
    for _ in range(40):
        value = residual(unknowns)
        moved = [(residual(unknowns + 1e-7 * e) - value) / 1e-7 for e in np.eye(len(unknowns))]
        unknowns = unknowns - np.linalg.solve(np.array(moved).T, value)
    places, _, _, pushes = parts(unknowns)
    return np.concatenate([places[-1], p0 + h * weights @ pushes])


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_one_step_is_that_of_the_textbook(stages: int) -> None:
    pendulum = da.System(
        [x, y],
        kinetic=(1 + x**2) * x.dot**2 / 2 + y.dot**2 / 2,
        potential=9.81 * y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )
    start = {"x": 0.6, "y": -0.8, "x_dot": 0.8, "y_dot": 0.6}
    motion = da.simulate(pendulum, start, (0, 0.1), method=f"lobatto{2 * stages - 2}", step=0.1)
    reference = textbook_step(
        lobatto_pair(stages), np.array([0.6, -0.8]), np.array([1.36 * 0.8, 0.6]), 0.1
    )
    assert np.allclose(motion.y[:, -1], reference, atol=1e-12)


def test_a_driven_pivot() -> None:
    pivot = sin(3 * da.t) / 5
    swing = da.System(
        [x, y],
        kinetic=((1 + x**2) * x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic((x - pivot) ** 2 + y**2 - 1, name="rod")],
    )
    start = {"x": 0.0, "y": -1.0, "x_dot": 0.6}
    motion = da.simulate(swing, start, (0, 3), method="lobatto6", step=0.02)
    other = da.simulate(swing, start, (0, 3), rtol=1e-12, form="hamilton", at=[3.0])
    assert np.allclose(motion.y[:, -1], other.y[:, -1], atol=1e-8)
    assert motion.worst_residual["velocity"] < 1e-12


def test_a_system_stated_by_its_hamiltonian() -> None:
    top = da.System(
        [a], hamiltonian=a.momentum**2 / (2 + sin(a)) + a.momentum * cos(a) / 3 - cos(a)
    )
    motion = da.simulate(top, {"a": 1.0, "p_a": 0.7}, (0, 10), method="lobatto4", step=0.02)
    other = da.simulate(
        top, {"a": 1.0, "p_a": 0.7}, (0, 10), rtol=1e-12, form="hamilton", at=[10.0]
    )
    assert np.allclose(motion.y[:, -1], other.y[:, -1], atol=1e-6)


@pytest.mark.long
def test_between_steps_and_from_a_file(tmp_path) -> None:
    motion = da.simulate(ball_in_bowl(), BOWL_START, (0, 2), method="lobatto6", step=0.05)
    exact = da.simulate(ball_in_bowl(), BOWL_START, (0, 2), form="hamilton", rtol=1e-13)
    assert np.allclose(motion.sol(1.2345), exact.sol(1.2345), atol=1e-6)
    motion.save(tmp_path / "bowl.nc")
    assert np.array_equal(da.load(tmp_path / "bowl.nc").y, motion.y)


def test_a_step_that_is_too_large_ends_with_a_sentence() -> None:
    far = da.simulate(ball_in_bowl(), BOWL_START, (0, 60), method="lobatto4", step=6.0)
    assert not far.success
    assert "smaller step" in far.message


REFUSED = {
    "velocities": (
        da.System(
            [x, y], kinetic=x.dot**2 + y.dot**2, constraints=[da.velocity(x.dot - y * y.dot)]
        ),
        {},
        "do no work",
    ),
    "form": (da.System([x], kinetic=x.dot**2), {"form": "lagrange"}, "momenta"),
    "mass": (da.System([x, y], kinetic=x.dot**2, potential=y**2), {}, "Legendre"),
    "dependent": (
        da.System(
            [x, y],
            kinetic=x.dot**2 + y.dot**2,
            constraints=[da.holonomic(k * (x**2 + y**2 - 1), name=f"c{k}") for k in (1, 2)],
        ),
        {},
        "2 constraints of rank 1",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_it_cannot_follow_is_refused(reason: str) -> None:
    system, options, words = REFUSED[reason]
    with pytest.raises(FormError, match=words):
        da.simulate(system, {}, (0, 1), method="lobatto4", step=0.1, **options)


def test_inputs_as_functions_and_steps_off_the_constraints_are_refused() -> None:
    push = da.inputs("push")
    driven = da.System([x], kinetic=x.dot**2, forces={x: push}, inputs=[push])
    with pytest.raises(FormError, match="expressions"):
        da.simulate(
            driven, {}, (0, 1), method="lobatto4", step=0.1, inputs={push: lambda time, state: 1.0}
        )
    with pytest.raises(ModelError, match="ends every step"):
        da.simulate(ball_in_bowl(), BOWL_START, (0, 1), method="lobatto4", step=0.1, project=False)
    given = da.simulate(driven, {}, (0, 1), method="lobatto4", step=0.1, inputs={push: 2 * da.t})
    assert given["x"][-1] == pytest.approx(1 / 6, abs=1e-14)
