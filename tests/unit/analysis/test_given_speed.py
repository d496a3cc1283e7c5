"""Hamilton-Jacobi under a constraint that gives the speed, v^T N v = c: the stationary value of
pi . v - L by SciPy, and the vakonomic motion by integrating (5.9) with SciPy.
"""

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import dalembert as da

x, y, z = da.coordinates("x y z")
CASES = {
    "unit speed": (
        da.System(
            [x, y, z],
            kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
            potential=z + x**2 / 2,
            constraints=[da.velocity(x.dot**2 + y.dot**2 + z.dot**2 - 1, name="f")],
        ),
        lambda q: np.eye(3),
        lambda q: 1.0,
        lambda q, v: v @ v / 2 - q[2] - q[0] ** 2 / 2,
    ),
    "speed by place": (
        da.System(
            [x, y],
            kinetic=(x.dot**2 + 2 * y.dot**2) / 2,
            potential=x,
            constraints=[da.velocity(x.dot**2 + 2 * y.dot**2 - 1 - x**2, name="f")],
        ),
        lambda q: np.diag([1.0, 2.0]),
        lambda q: 1 + q[0] ** 2,
        lambda q, v: (v[0] ** 2 + 2 * v[1] ** 2) / 2 - q[0],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_hamiltonian_is_the_stationary_value(name: str) -> None:
    system, norm, size, lagrangian = CASES[name]
    found = da.variational.hamilton_jacobi(system)
    symbols = (*system.coordinates, *found.momenta.values())
    value = sympy.lambdify(symbols, found.hamiltonian)
    rates = sympy.lambdify(symbols, list(found.velocities.values()))
    random = np.random.default_rng(4)
    for _ in range(5):
        n = len(system.coordinates)
        q, pi = random.normal(size=n), np.abs(random.normal(size=n)) + 0.2

        def on_sphere(u, q=q):
            return u * np.sqrt(size(q) / (u @ norm(q) @ u))

        best = minimize(
            lambda u, q=q, pi=pi: lagrangian(q, on_sphere(u)) - pi @ on_sphere(u), pi, tol=1e-13
        )
        assert abs(value(*q, *pi) + best.fun) < 1e-9
        np.testing.assert_allclose(rates(*q, *pi), on_sphere(best.x), atol=1e-5)


def test_the_canonical_equations_are_the_vakonomic_motion() -> None:
    system = CASES["unit speed"][0]
    found = da.variational.hamilton_jacobi(system)
    symbols = (*system.coordinates, *found.momenta.values())
    rates = sympy.lambdify(symbols, [found.canonical_equations[s] for s in symbols])
    v, chi = np.array([0.6, 0.0, 0.8]), 0.4
    pi = (1 + 2 * chi) * v
    end = solve_ivp(lambda _, s: rates(*s), (0, 0.5), [0.1, 0, 0, *pi], rtol=1e-12, atol=1e-12).y[
        :, -1
    ]
    start = {x: 0.1, x.dot: 0.6, z.dot: 0.8, "chi_f": chi}
    motion = da.simulate(system, start, (0, 0.5), form="vakonomic", rtol=1e-12)
    ours = [motion[q.name][-1] for q in system.coordinates]
    np.testing.assert_allclose(ours, end[:3], atol=1e-9)


def test_a_complete_integral_of_free_motion_at_unit_speed() -> None:
    free = CASES["unit speed"][0].replacing(potential=0)
    found = da.variational.hamilton_jacobi(free)
    assert found.integral is not None and found.integral.verdict.is_proved
