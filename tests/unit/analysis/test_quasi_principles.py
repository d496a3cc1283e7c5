"""Transitivity symbols and Hamilton's principle in nonlinear quasi-velocities, under constraints
that are nonlinear in every velocity (Rumyantsev 1.10, 1.21, 3.4, 3.12, 3.13).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import pi, sin

import dalembert as da
from dalembert.errors import ModelError

x, y, z = da.coordinates("x y z")
SPEED = x.dot**2 + y.dot**2 + z.dot**2 - 1 - x**2 / 5
STATE = {x: 0.3, y: -0.2, x.dot: 0.6, z.dot: 0.5, y.dot: float(np.sqrt(1 + 0.09 / 5 - 0.61))}
BENT = {"u": x.dot + y.dot**3 / 3, "w": z.dot * x.dot + sin(y)}


def ball() -> da.System:
    return da.System(
        [x, y, z],
        kinetic=(x.dot**2 + 2 * y.dot**2 + z.dot**2) / 2,
        potential=1.3 * z + x * y / 3,
        constraints=[da.velocity(SPEED, name="speed")],
        forces={x: -y.dot},
    )


def by_hand(phi: sympy.Expr, rates: dict[Any, Any]) -> list[float]:
    """A_s of (1.10) for y_dot = phi(q, x_dot, z_dot), by SymPy alone."""
    free, found = (x, z), []
    full = {x.dot: rates[x], z.dot: rates[z]}
    for q in free:
        entry = sympy.diff(phi, q.dot)
        rate = sum(sympy.diff(entry, v) * a for v, a in full.items())
        rate += sympy.diff(entry, x) * x.dot + sympy.diff(entry, y) * phi
        value = rate - sympy.diff(phi, q) - sympy.diff(phi, y) * sympy.diff(phi, q.dot)
        found.append(float(value.subs({s: v for s, v in STATE.items() if s != y.dot})))
    return found


def test_coefficients_of_a_branch_are_those_of_its_root() -> None:
    """y' = +sqrt(1 + x^2/5 - x'^2 - z'^2), solved by hand, on accelerations of the caller's own."""
    found = da.variational.transitivity(ball(), independent=["x", "z"])
    rates = {x: 0.4, z: -0.7}
    given = {**STATE, x.ddot: 0.4, z.ddot: -0.7}
    phi = sympy.sqrt(1 + x**2 / 5 - x.dot**2 - z.dot**2)
    assert found.at(given).coefficients[:, 0] == pytest.approx(by_hand(phi, rates), abs=1e-12)
    assert found.vanishes is False
    with pytest.raises(ModelError, match=r"2 solutions .*y_dot = -0\.6.* or y_dot = 0\.6"):
        found.at({s: v for s, v in given.items() if s != y.dot})


def test_symbols_of_nonlinear_quasi_velocities() -> None:
    """W = -f_v T (1.20), with f_v by SymPy; W of a total derivative u = d(x y)/dt vanishes."""
    found = da.variational.transitivity(ball(), quasi_velocities=BENT).at(STATE)
    rows = sympy.Matrix([*BENT.values(), SPEED]).jacobian([x.dot, y.dot, z.dot]).subs(STATE)
    assert found.derivatives == pytest.approx(np.array(rows.tolist(), dtype=float), abs=1e-14)
    assert pytest.approx(-found.derivatives @ found.T, abs=1e-12) == found.W
    assert np.abs(found.W).min() > 1e-3
    exact = {"u": x.dot * y + x * y.dot, "w": z.dot}
    turned = da.variational.transitivity(ball(), quasi_velocities=exact).at(STATE).W
    assert np.abs(turned[:2]).max() < 1e-12
    assert np.abs(turned[2]).max() > 1e-2


@pytest.mark.parametrize("quasi", [None, BENT, {"u": x.dot + y * y.dot, "w": z.dot}])
def test_the_forms_of_the_principle_agree(quasi: Any) -> None:
    """At every instant; their integral is the boundary term, and no other curve has that."""
    start = {x.dot: 0.6, y.dot: 0.5, z.dot: float(np.sqrt(0.39))}
    motion = da.simulate(ball(), start, (0, 0.8), rtol=1e-12)
    names = ("x", "z") if quasi is None else ("u", "w")
    variation = {names[0]: sin(pi * da.t / 0.8), names[1]: da.t * (0.8 - da.t) + 0.1}
    options = {"independent": ["x", "z"]} if quasi is None else {"quasi_velocities": quasi}
    found = da.variational.principle_integrands(motion, variation, **options)
    assert found.spread < 1e-13
    assert found.defect < 1e-12
    assert abs(found.boundary) > 1e-3
    assert np.abs(found.suslov_constraints).max() < 1e-12
    assert np.abs(found.hoelder_constraints).max() > 1e-2


def test_stationarity_takes_constraints_that_are_nonlinear_in_every_velocity() -> None:
    """Appell's wheel in squares: every motion is stationary, as for the solved constraint."""
    wheel = da.velocity(z.dot**2 - (x.dot**2 + y.dot**2) / 4, name="wheel")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=9.81 * z, constraints=[wheel])
    motion = da.simulate(system, {x.dot: 3, y.dot: 4, z.dot: 2.5}, (0, 0.5), rtol=1e-11)
    assert da.variational.stationarity(motion).is_stationary
    start = {x.dot: 0.6, y.dot: 0.5, z.dot: float(np.sqrt(0.39))}
    motion = da.simulate(ball(), start, (0, 0.8), rtol=1e-11)
    assert not da.variational.stationarity(motion).is_stationary
    assert da.variational.stationarity(ball(), start=start).all_motions is False


def test_hamilton_jacobi_takes_a_constraint_in_squares() -> None:
    """Appell's wheel as z'^2 = a^2 (x'^2 + y'^2): H_1 of the print, on the branch z' > 0."""
    m, g, a = da.parameters("m g a", positive=True)
    wheel = da.velocity(z.dot**2 - a**2 * (x.dot**2 + y.dot**2), name="wheel")
    kinetic = m * (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=m * g * z, constraints=[wheel])
    found = da.variational.hamilton_jacobi(system).variational
    pi_x, pi_y, pi_z = found.momenta
    length = sympy.sqrt(pi_x**2 + pi_y**2) + a * pi_z
    printed = length**2 / (2 * m * (1 + a**2)) + m * g * z  # Rumyantsev, example 4.1
    assert sympy.simplify(found.hamiltonian - printed) == 0
    assert found.branch[0] == sympy.Gt(2 * z.dot, 0)
