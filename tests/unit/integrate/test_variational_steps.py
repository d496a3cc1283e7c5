"""Variational integrators: identities with other methods, momentum maps, symplecticity, forces,
time, and constraints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da

x, y, z = da.coordinates("x y z")
a, b = da.coordinates("a b")
METHODS = {
    "variational-midpoint": 2,
    "galerkin4": 4,
    "galerkin6": 6,
    "galerkin-lobatto4": 4,
    "galerkin-lobatto6": 6,
}
SOME = [
    pytest.param(method, marks=[pytest.mark.long] if "lobatto" in method else [])
    for method in METHODS
]
COARSE = {2: 0.01, 4: 0.04, 6: 0.05}
SYMPLECTIC = (*METHODS, "lobatto2", "lobatto4", "lobatto6")

WELL = da.System(
    [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3
)
WELL_START = {"x": 0.3, "y": 0.1, "x_dot": 0.2}
ARM = da.System(
    [a, b],
    kinetic=a.dot**2 + cos(a - b) * a.dot * b.dot + b.dot**2 / 2,
    potential=-9.81 * (2 * cos(a) + cos(b)),
)
ARM_START = {"a": 1.0, "b": 0.3, "a_dot": 0.5, "b_dot": -0.72}
SPHERE = da.System(
    [x, y, z],
    kinetic=((1 + x**2 + y**2) * (x.dot**2 + y.dot**2) + z.dot**2) / 2,
    potential=3 * z,
    constraints=[da.holonomic(x**2 + y**2 + z**2 - 1, name="sphere")],
)
SPHERE_START = {"x": 0.6, "y": 0.0, "z": -0.8, "y_dot": 1.0}


def end(system: da.System, start, method: str, step: float, until: float = 2.0, **options):
    motion = da.simulate(system, start, (0, until), method=method, step=step, **options)
    assert motion.success, motion.message
    return motion


def measured_order(system: da.System, start, method: str, until: float = 2.0) -> float:
    exact = da.simulate(system, start, (0, until), form="hamilton", rtol=1e-14, at=[until]).y[:, -1]
    step = COARSE[METHODS[method]]
    errors = [
        np.abs(end(system, start, method, h, until).y[:, -1] - exact).max()
        for h in (step, step / 2)
    ]
    return float(np.log2(errors[0] / errors[1]))


@pytest.mark.parametrize("method", METHODS)
def test_the_order_with_a_variable_mass(method: str) -> None:
    assert measured_order(ARM, ARM_START, method) == pytest.approx(METHODS[method], abs=0.4)


@pytest.mark.parametrize("method", SOME)
def test_the_order_on_a_constraint(method: str) -> None:
    assert measured_order(SPHERE, SPHERE_START, method) == pytest.approx(METHODS[method], abs=0.4)


IDENTITIES = [
    ("variational-midpoint", "gauss2"),
    ("galerkin4", "gauss4"),
    ("galerkin6", "gauss6"),
    ("galerkin-lobatto4", "lobatto4"),
    ("galerkin-lobatto6", "lobatto6"),
]


@pytest.mark.parametrize(("ours", "other"), IDENTITIES)
def test_with_constant_mass_it_is_a_known_method(ours: str, other: str) -> None:
    found, reference = (
        end(WELL, WELL_START, method, 0.1, 10.0, form="hamilton") for method in (ours, other)
    )
    assert np.allclose(found.y, reference.y, atol=1e-13)


@pytest.mark.parametrize(("ours", "other"), IDENTITIES)
def test_with_variable_mass_gauss_stays_and_lobatto_differs(ours: str, other: str) -> None:
    """Collocation at Gauss's points in (q, p) is variational for any mass; in (q, v) it is another
    method.
    """
    found, reference = (
        end(ARM, ARM_START, method, 0.05, form="hamilton") for method in (ours, other)
    )
    if "lobatto" in ours:
        assert np.abs(found.y - reference.y).max() > 1e-9
        return
    assert np.allclose(found.y, reference.y, atol=1e-12)
    by_velocities = end(ARM, ARM_START, other, 0.05, form="lagrange")
    assert np.abs(by_velocities.y[:2] - found.y[:2]).max() > 1e-9


# -- what is kept ----------------------------------------------------------------------------------


def derivative_of(
    step: Callable[[np.ndarray], np.ndarray], at: np.ndarray, width: float = 2e-3
) -> np.ndarray:
    """The Jacobian by central differences of order 6."""
    columns = []
    for e in np.eye(len(at)):
        weighted = (
            weight * (step(at + k * width * e) - step(at - k * width * e))
            for k, weight in ((1, 45), (2, -9), (3, 1))
        )
        columns.append(sum(weighted) / (60 * width))
    return np.array(columns).T


def symplectic_defect(derivative: np.ndarray) -> float:
    n = len(derivative) // 2
    form = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    return float(np.abs(derivative.T @ form @ derivative - form).max())


def step_of(
    system: da.System, method: str, h: float, **options
) -> Callable[[np.ndarray], np.ndarray]:
    equations = da.derive(system, "hamilton")
    names = [symbol.name for symbol in equations.state]

    def step(at: np.ndarray) -> np.ndarray:
        start = dict(zip(names, at, strict=True))
        return da.simulate(equations, start, (0, h), method=method, step=h, **options).y[:, -1]

    return step


@pytest.mark.parametrize("method", SYMPLECTIC)
def test_a_step_is_symplectic(method: str) -> None:
    derivative = derivative_of(step_of(ARM, method, 0.1), np.array([1.0, 0.3, 0.4, 0.2]))
    assert symplectic_defect(derivative) < 1e-8
    assert np.linalg.norm(derivative - np.eye(4)) > 0.1


def test_other_methods_are_not_symplectic() -> None:
    """A classical Runge-Kutta step, and a variational step under friction, which shrinks the form
    by exp(-c h).
    """
    equations = da.derive(ARM, "hamilton").compile()

    def classical(at: np.ndarray, h: float = 0.1) -> np.ndarray:
        k1 = equations.rates(0, at)
        k2 = equations.rates(0, at + h / 2 * k1)
        k3 = equations.rates(0, at + h / 2 * k2)
        return at + h / 6 * (k1 + 2 * k2 + 2 * k3 + equations.rates(0, at + h * k3))

    assert symplectic_defect(derivative_of(classical, np.array([1.0, 0.3, 0.4, 0.2]))) > 1e-6
    rubbed = WELL.replacing(forces={x: -x.dot / 2, y: -y.dot / 2})
    derivative = derivative_of(step_of(rubbed, "galerkin6", 0.1), np.array([0.3, 0.1, 0.2, 0.0]))
    assert symplectic_defect(derivative) == pytest.approx(1 - np.exp(-0.05), rel=1e-6)


@pytest.mark.parametrize("method", SYMPLECTIC)
def test_a_step_on_a_constraint_is_symplectic(method: str) -> None:
    """In the angles of a sphere and their momenta, which embed T*S in the space of (q, p)."""
    step = step_of(SPHERE, method, 0.1, project_start=False)

    def frame(u: float, w: float) -> tuple[np.ndarray, np.ndarray]:
        place = np.array([np.sin(u) * np.cos(w), np.sin(u) * np.sin(w), -np.cos(u)])
        along_u = np.array([np.cos(u) * np.cos(w), np.cos(u) * np.sin(w), np.sin(u)])
        return place, np.array([along_u, [-place[1], place[0], 0.0]]).T

    def in_angles(at: np.ndarray) -> np.ndarray:
        place, along = frame(at[0], at[1])
        radius = 1 + place[0] ** 2 + place[1] ** 2
        mass = np.diag([radius, radius, 1.0])
        momentum = mass @ along @ np.linalg.solve(along.T @ mass @ along, at[2:])
        after = step(np.concatenate([place, momentum]))
        u, w = np.arccos(-after[2]), np.arctan2(after[1], after[0])
        return np.concatenate([[u, w], frame(u, w)[1].T @ after[3:]])

    derivative = derivative_of(in_angles, np.array([0.8, 0.3, 0.3, 0.6]), 4e-3)
    assert symplectic_defect(derivative) < 1e-8


@pytest.mark.parametrize("method", SOME)
def test_the_momentum_of_a_symmetry_is_kept_to_rounding(method: str) -> None:
    """Rotations about z, of a system with variable mass on a sphere; energy is not kept exactly."""
    motion = end(SPHERE, SPHERE_START, method, 0.1, 200.0)
    q, p = motion.y[:3], motion.y[3:]
    momentum = q[0] * p[1] - q[1] * p[0]
    assert np.ptp(momentum) < 1e-12
    assert np.ptp(motion.energy) > 1e-11


def test_a_cyclic_coordinate_keeps_its_momentum_exactly() -> None:
    turning = da.System(
        [a, b], kinetic=(2 + cos(a)) * b.dot**2 / 2 + a.dot**2 / 2, potential=sin(a)
    )
    motion = end(turning, {"a": 0.4, "a_dot": 0.3, "b_dot": 0.7}, "galerkin4", 0.1, 100.0)
    assert np.ptp(motion.y[3]) == 0.0


@pytest.mark.parametrize("method", SOME)
def test_the_energy_does_not_drift(method: str) -> None:
    motion = end(SPHERE, SPHERE_START, method, 0.05, 1000.0, every=10)
    error = np.abs(motion.energy - motion.energy[0])
    half = len(error) // 2
    assert error[half:].max() < 1.5 * error[:half].max() + 1e-11
    assert motion.worst_residual["position"] < 1e-14
    assert motion.worst_residual["velocity"] < 1e-13


# -- forces and time -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SOME)
def test_forces_and_a_lagrangian_of_time_keep_the_order(method: str) -> None:
    driven = da.System(
        [a],
        lagrangian=(1 + sin(3 * da.t) / 4) * (1 + cos(a) / 2) * a.dot**2 / 2
        + cos(a)
        + a.dot * sin(a + da.t),
        forces={a: -a.dot / 3 + cos(2 * da.t)},
    )
    assert measured_order(driven, {"a": 1.0, "a_dot": 0.2}, method) == pytest.approx(
        METHODS[method], abs=0.4
    )


@pytest.mark.parametrize("method", ["galerkin4", "lobatto4"])
def test_inputs_with_laws_of_velocities_and_momenta_keep_the_order(method: str) -> None:
    """Feedback: the law is one of (q, p) where the step is, and of (q, v) where the discrete
    Lagrangian is.
    """
    rate, push = da.inputs("rate push")
    laws = {rate: -a.dot / 3 + sin(b), push: cos(2 * da.t) - b.momentum / 5}
    fed = ARM.replacing(forces={a: rate * cos(b), b: push}, inputs=laws)
    exact = da.simulate(fed, ARM_START, (0, 2), rtol=1e-13, at=[2.0])
    symbols = ("a", "b", "a_dot", "b_dot")
    goal = np.array([exact[name][-1] for name in symbols])
    runs = [end(fed, ARM_START, method, step) for step in (0.04, 0.02)]
    errors = [np.abs(np.array([run[name][-1] for name in symbols]) - goal).max() for run in runs]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.4)


def test_weak_friction_takes_the_energy_it_should() -> None:
    """The power of friction over a long time, where a method with artificial damping would take
    more.
    """
    c = 1e-4
    rubbed = WELL.replacing(dissipation=c * (x.dot**2 + y.dot**2) / 2)
    motion = end(rubbed, {"x": 0.01, "y_dot": 0.01}, "galerkin6", 0.2, 2000.0, every=10)
    assert motion.energy[-1] / motion.energy[0] == pytest.approx(np.exp(-c * 2000.0), rel=1e-3)


def test_a_driven_constraint() -> None:
    pivot = sin(3 * da.t) / 5
    swing = da.System(
        [x, y],
        kinetic=((1 + x**2) * x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic((x - pivot) ** 2 + y**2 - 1, name="rod")],
        forces={x: -x.dot / 5},
    )
    start = {"x": 0.0, "y": -1.0, "x_dot": 0.6}
    motion = end(swing, start, "galerkin6", 0.02)
    other = da.simulate(swing, start, (0, 2), rtol=1e-12, form="hamilton", at=[2.0])
    assert np.allclose(motion.y[:, -1], other.y[:, -1], atol=1e-8)
    assert motion.worst_residual["velocity"] < 1e-12
