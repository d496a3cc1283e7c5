"""The multiplier problem of two degrees of freedom, with Helmholtz's conditions by SymPy alone."""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from dalembert.analysis.variational.douglas import douglas
from dalembert.analysis.variational.helmholtz_conditions import SecondOrder

x, y, z = da.coordinates("x y z")
c = da.parameters("c", positive=True)


def euler_gap(lagrangian, coordinates, forces):
    """d/dt L_v - L_q along a = F, by SymPy: zero where the motion is that of L."""
    rates = {q: q.dot for q in coordinates} | {
        q.dot: force for q, force in zip(coordinates, forces, strict=True)
    }
    gaps = []
    for q in coordinates:
        momentum = sympy.diff(lagrangian, q.dot)
        along = sympy.diff(momentum, da.t)
        along += sum(sympy.diff(momentum, s) * rate for s, rate in rates.items())
        gaps.append(sympy.simplify(along - sympy.diff(lagrangian, q)))
    return gaps


def solve(forces, coordinates=(x, y)):
    equations = [q.ddot - f for q, f in zip(coordinates, forces, strict=True)]
    return da.variational.helmholtz(equations, list(coordinates))


def test_douglas_own_example_has_no_lagrangian():
    found = solve([x**2 + y**2, sympy.S.Zero])
    assert found.existence.is_refuted and found.multiplier is None
    assert found.case == "III" and "singular" in found.existence.grounds
    assert "no multiplier makes them so" in str(found)


def test_three_independent_conditions_refute():
    V = x**2 * y + y**3 + x**4
    found = solve([-V.diff(x) - c * x.dot, -V.diff(y)])
    assert found.existence.is_refuted and found.case == "IV"


@pytest.mark.parametrize(
    ("forces", "metric"),
    [
        ([y, -x * y.dot], sympy.diag(1, -1 / y.dot)),
        (
            [-(4 * x**3 + 2 * x * y) / (1 + x.dot**2), -(x**2) - 3 * y**2],
            sympy.diag(1 + x.dot**2, 1),
        ),
    ],
)
def test_multipliers_that_depend_on_velocities_are_found_with_their_lagrangian(forces, metric):
    found = solve(forces)
    assert found.existence.is_proved and found.case == "III"
    ratio = sympy.simplify(found.multiplier[0, 0] / metric[0, 0])
    assert sympy.simplify(found.multiplier - ratio * metric).is_zero_matrix
    if found.lagrangian is None:  # a logarithm of y_dot, which has no rule here
        assert metric[1, 1] == -1 / y.dot and "cannot be integrated" in found.note
        return
    assert euler_gap(found.lagrangian, (x, y), forces) == [0, 0]
    hessian = sympy.hessian(found.lagrangian, (x.dot, y.dot))
    assert sympy.simplify(hessian - found.multiplier).is_zero_matrix


def test_the_first_case_exists_and_separated_equations_do():
    assert solve([x.dot * y, y.dot * y]).existence.status in {
        "proved",
        "not established",
        "refuted",
    }
    frame = SecondOrder((), (x, y))
    free = douglas(frame, [sympy.S.Zero, sympy.S.Zero])
    assert free.case == "I" and free.existence.is_proved
    second = douglas(frame, [-c * x.dot - x, -2 * c * y.dot - 3 * y])
    assert second.case == "II" and second.existence.is_proved


def test_the_form_of_the_factor_may_fail_to_be_closed():
    """Case III with a regular g_0, and no factor mu: the curl of d ln mu by SymPy."""
    V = x**2 * y + y**3 + x**4
    turned = [-V.diff(x) - x * x.dot, -V.diff(y) - x * y.dot]
    found = douglas(SecondOrder((), (x, y)), turned)
    # isotropic damping x v has N = (x/2) 1, so that g_0 = 1 and d ln mu/dt = x is no total rate
    assert found.existence.is_refuted


def test_more_degrees_of_freedom_are_refuted_by_rank():
    V = x**2 * y + y**3 + x**4 + z**2 * x + z**4
    forces = [-V.diff(x) - c * x.dot, -V.diff(y) - 2 * c * z.dot, -V.diff(z) + y * x.dot]
    found = solve(forces, (x, y, z))
    assert found.existence.is_refuted and found.case == ""


def test_one_degree_of_freedom_always_has_a_multiplier():
    found = da.variational.helmholtz([x.ddot - c * (1 - x**2) * x.dot + x], [x])
    assert found.existence.is_proved and found.multiplier is None
    unasked = da.variational.helmholtz([x.ddot - y, y.ddot + x * y.dot], [x, y], search=False)
    assert unasked.existence.status == "not established"
    assert unasked.to_json()["existence"]["status"] == "not established"


@pytest.mark.parametrize(
    "lagrangian",
    [
        (x.dot**2 + 2 * y.dot**2) / 2 + x**2 * y.dot - x**3 * y - y**4,
        ((1 + x**2) * x.dot**2 + y.dot**2 + x.dot * y.dot * y) / 2 + x * y**2 * x.dot - x * y,
        (x.dot**2 + y.dot**2) / 2 * sympy.exp(da.t) + x * y.dot - x**2 * y + da.t * y**3,
        x.dot**2 / 2 + y.dot**2 / 2 + x.dot**4 / 12 + y * x.dot**2 - x**2 * y**2,
    ],
)
def test_equations_of_a_lagrangian_are_never_refuted(lagrangian):
    """Gyroscopic terms, metrics that bend, time: F of Euler's equations, solved by SymPy."""
    v, q = sympy.Matrix([x.dot, y.dot]), (x, y)
    momenta = sympy.Matrix([sympy.diff(lagrangian, s) for s in v])
    mass = momenta.jacobian(v)
    force = sympy.Matrix([sympy.diff(lagrangian, s) for s in q])
    force -= momenta.jacobian(sympy.Matrix(q)) * v + momenta.diff(da.t)
    forces = list(mass.LUsolve(force).applyfunc(sympy.simplify))
    found = douglas(SecondOrder((), q), forces)
    assert not found.existence.is_refuted
    if found.multiplier is not None:
        ratio = sympy.simplify(found.multiplier[0, 0] / mass[0, 0])
        assert sympy.simplify(found.multiplier - ratio * mass).is_zero_matrix
