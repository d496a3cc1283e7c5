"""P, Phi, Omega_L and codistributions against exterior calculus by SymPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from sympy_multipliers import of_system

x, y, z = da.coordinates("x y z")
Q, V = [x, y, z], [x.dot, y.dot, z.dot]
L = (2 + sin(y)) * x.dot**2 / 2 + y.dot**2 + z.dot**2 / 2 + x.dot * z.dot * y / 3 - x * z**2
LINEAR = da.velocity(z.dot - y * x.dot, name="tilt")
AFFINE = da.velocity(z.dot - y * x.dot - 1, name="belt")
QUADRATIC = da.velocity(z.dot**2 - x.dot**2 - y.dot**2, name="appell")


def bundle(*constraints: Any) -> Any:
    return da.variational.tangent_bundle(da.System(Q, lagrangian=L, constraints=constraints))


def test_the_two_form_is_minus_the_exterior_derivative_of_the_momentum_form() -> None:
    found, symbols = bundle(), [*Q, *V]
    impulse = [*(sympy.diff(L, v) for v in V), 0, 0, 0]
    assert list(found.momentum_form) == impulse
    by_hand = sympy.Matrix(
        6,
        6,
        lambda i, j: -(sympy.diff(impulse[j], symbols[i]) - sympy.diff(impulse[i], symbols[j])),
    )
    assert sympy.simplify(found.two_form - by_hand) == sympy.zeros(6, 6)
    energy = sum(v * sympy.diff(L, v) for v in V) - L
    assert sympy.simplify(found.energy - energy) == 0


def test_the_tensors_do_not_depend_on_the_chart() -> None:
    """q = f(Q): the tangent map T of (Q, V) -> (q, v) has T P = P T, and carries Phi to Phi."""
    found = bundle()
    change = [x + sin(y) / 3, y + x * z / 5, z + cos(x) / 4]
    rates = [sum(sympy.diff(c, q) * v for q, v in zip(Q, V, strict=True)) for c in change]
    T = sympy.Matrix([*change, *rates]).jacobian([*Q, *V])
    P = found.principal_matrix
    assert (T * P - P * T).applyfunc(sympy.simplify) == sympy.zeros(6, 6)
    carried = T * found.fundamental
    assert sympy.simplify(carried - sympy.Matrix([0, 0, 0, *rates])) == sympy.zeros(6, 1)


def test_which_fields_are_second_order() -> None:
    found = bundle()
    assert found.is_second_order([*V, 1, x, y * z]).is_proved
    assert found.is_second_order([y.dot, x.dot, z.dot, 0, 0, 0]).is_refuted
    with pytest.raises(ModelError, match="6 components"):
        found.is_second_order(V)


@pytest.mark.parametrize(
    ("constraint", "ideal"), [(LINEAR, "proved"), (AFFINE, "refuted"), (QUADRATIC, "proved")]
)
def test_the_motion_needs_a_force_along_the_reactions(constraint: Any, ideal: str) -> None:
    """i_X Omega_L = dH_L - lambda P* theta along accelerations of SymPy alone."""
    found = bundle(constraint)
    judged = found.codistribution()
    assert judged.admissible.is_proved and judged.ideal.status == ideal
    q, v = np.array([0.3, 0.7, -0.2]), np.array([0.6, 0.8, 1.0])
    if constraint is not QUADRATIC:
        v[2] = q[1] * v[0] + (constraint is AFFINE)
    own = of_system(found.system, {})
    if constraint is QUADRATIC:  # its rows are not linear: solve for multipliers by hand
        state = dict(zip([*Q, *V], [*q, *v], strict=True))
        p = sympy.Matrix([sympy.diff(L, w) for w in V])
        M = np.array(p.jacobian(V).subs(state), dtype=float)
        f = sympy.Matrix([sympy.diff(L, w) for w in Q]) - p.jacobian(Q) * sympy.Matrix(V)
        f = np.array(f.subs(state), dtype=float).ravel()
        row = np.array([-2 * v[0], -2 * v[1], 2 * v[2]])
        a = np.linalg.solve(np.block([[M, -row[:, None]], [row, 0]]), [*f, 0.0])[:3]
    else:
        a = own.accelerations(q, v)
    state = dict(zip([*Q, *V], [*q, *v], strict=True))
    force = np.array(found.force_form([*V, *a]).subs(state), dtype=float).ravel()
    along = np.array(judged.reactions.subs(state), dtype=float).ravel()
    assert np.allclose(force[3:], 0, atol=1e-12) and np.abs(force[:3]).max() > 0.01
    assert np.linalg.norm(np.cross(force[:3], along[:3])) < 1e-12
    power = force[:3] @ v
    assert (abs(power) < 1e-12) == (ideal == "proved")


def test_forms_that_are_not_admissible() -> None:
    first, second = da.velocity(x.dot - y, name="first"), da.velocity(x.dot, name="second")
    assert bundle(first, second).codistribution().admissible.is_refuted
    wire = da.holonomic(x**2 + y**2 - 1)
    assert bundle(wire).codistribution().admissible.is_refuted
    assert bundle().codistribution([[1, 0, 0, 0, 0, 0]]).admissible.is_refuted
    assert bundle().codistribution([[y, 0, 0, 1, 0, 0]]).admissible.is_proved
    assert bundle().codistribution([]).admissible.is_proved


def test_given_forms_are_judged_on_the_constraints() -> None:
    """(z_dot - y x_dot) dz is no multiple of the constraint's differential, but ideal on it."""
    found = bundle(LINEAR)
    assert found.codistribution([[0, 0, 0, -y, 0, 1]]).ideal.is_proved
    assert found.codistribution([[0, 0, 0, 1, 0, 0]]).ideal.is_refuted


def test_time_is_refused() -> None:
    moving = da.System([x], kinetic=x.dot**2 / 2, potential=x * da.t)
    with pytest.raises(ModelError, match="without time"):
        da.variational.tangent_bundle(moving)


def test_it_prints() -> None:
    text = str(bundle(LINEAR))
    assert "Omega_L =" in text and "theta =\n    [0, -x_dot, 0, -y, 0, 1]" in text
    assert r"\Omega_L &= \begin{bmatrix}" in bundle().latex()
