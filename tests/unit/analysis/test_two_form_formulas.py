"""Two-forms as formulas: the snakeboard in the print's charts, and equations of SymPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, cot, sin, tan

import dalembert as da
from dalembert.errors import FormError, ModelError
from sympy_multipliers import of_system


def same(found: Any, expected: Any) -> bool:
    return all(sympy.simplify(a - b) == 0 for a, b in zip(found, expected, strict=True))


def board() -> tuple[da.System, dict[str, Any], dict[str, Any]]:
    system = da.gallery.load("snakeboard").system
    return system, {s.name: s for s in (*system.coordinates, *system.parameters)}, {}


def plane(x: Any, y: Any, angle: Any) -> dict[str, Any]:
    ahead, aside = {x: cos(angle), y: sin(angle)}, {x: -sin(angle), y: cos(angle)}
    return {"ahead": ahead, "aside": aside, "turn": {angle: 1}}


def own_fields(q: dict[str, Any]) -> dict[str, Any]:
    """p_psi, p_phi and the nonholonomic momentum of (5.9.64)."""
    wide = -2 * q["r"] * cos(q["phi"]) ** 2
    along = {q["x"]: wide * cos(q["theta"]), q["y"]: wide * sin(q["theta"])}
    section = along | {q["theta"]: sin(2 * q["phi"])}
    return {"p_psi": {q["psi"]: 1}, "p_phi": {q["phi"]: 1}, "p": section}


def test_the_print_s_canonical_chart_of_the_snakeboard() -> None:
    """(5.9.10): p_x = -m r/(m r^2 - J0) cot(phi) (p_theta - p_psi) cos(theta), and H_M."""
    system, q, _ = board()
    theta, psi, phi = (q[name] for name in ("theta", "psi", "phi"))
    chart = {"p_theta": theta.momentum, "p_psi": psi.momentum, "p_phi": phi.momentum}
    found = da.symmetry.two_form_formulas(system, chart)
    a, b, c = found.momenta
    m, r, J0, J1 = (q[name] for name in ("m", "r", "J0", "J1"))
    wide = m * r**2 - J0
    size = -m * r / wide * cot(phi) * (a - b)
    assert same(found.covector, [size * cos(theta), size * sin(theta), a, b, c])
    rest = b**2 / (2 * J0) + (a - b) ** 2 / (2 * wide) + c**2 / (4 * J1)
    expected = m * r**2 / (2 * wide**2) * cot(phi) ** 2 * (a - b) ** 2 + rest
    assert sympy.simplify(found.hamiltonian - expected) == 0
    # Omega_M is the exterior derivative of p dq with the sign of dq ^ dp, by hand.
    z = list(found.chart)
    theta_form = [*found.covector, 0, 0, 0]
    by_hand = sympy.Matrix(
        8, 8, lambda i, j: sympy.diff(theta_form[i], z[j]) - sympy.diff(theta_form[j], z[i])
    )
    assert same(found.whole, by_hand)
    H = found.frame.row_join(sympy.zeros(5, 3)).col_join(sympy.zeros(3, 3).row_join(sympy.eye(3)))
    assert same(found.restricted, H.T * by_hand * H)


@pytest.mark.long
def test_the_reduced_two_form_of_the_snakeboard() -> None:
    """(5.9.71): p_dot = 2 J0 cos(phi)^2 phi_dot psi_dot - tan(phi) phi_dot p on U and on D/G."""
    system, q, _ = board()
    group = plane(q["x"], q["y"], q["theta"])
    found = da.symmetry.two_form_formulas(system, own_fields(q), group)
    reduced = found.reduced
    assert reduced is not None
    p_psi, p_phi, p = found.momenta
    m, r, J0, J1, phi = (q[name] for name in ("m", "r", "J0", "J1", "phi"))
    D = m * r**2 - J0 * sin(phi) ** 2
    psi_dot = -tan(phi) * p / (2 * D) + m * r**2 * p_psi / (J0 * D)
    phi_dot = p_phi / (2 * J1)
    rate = 2 * J0 * cos(phi) ** 2 * phi_dot * psi_dot - tan(phi) * phi_dot * p
    assert same(reduced.rates, [psi_dot, phi_dot, 0, 0, rate])
    assert reduced.orthogonal.shape == (8, 5) and reduced.directions.shape == (5, 4)
    # U is orthogonal to the section, and X lies in H_bar with i_X Omega = dh.
    k = len(found.momenta)
    inside = sympy.zeros(2 * k, 1)
    inside[2] = 1  # the section, in the frame of H
    frame = found.frame.row_join(sympy.zeros(5, k)).col_join(
        sympy.zeros(k, k).row_join(sympy.eye(k))
    )
    for column in range(5):
        vector = reduced.orthogonal.col(column)
        assert sympy.simplify((vector.T * found.whole * frame * inside)[0]) == 0
    weights = sympy.Matrix([psi_dot, phi_dot, 0, 0])
    assert same(reduced.directions * weights, reduced.rates)
    slopes = sympy.Matrix([reduced.hamiltonian.diff(s) for s in reduced.chart])
    assert same(reduced.form.T * weights, reduced.directions.T * slopes)


def sleigh() -> tuple[da.System, dict[str, Any], dict[str, float]]:
    scenario = da.gallery.load("chaplygin-sleigh")
    return scenario.system, plane(*scenario.system.coordinates), dict(scenario.parameters)


def test_momenta_that_do_not_commute() -> None:
    """The sleigh: V and H is all of D, and the bracket of its momenta is not zero."""
    system, group, _ = sleigh()
    x, y, theta = system.coordinates
    fields = {"p_v": {x: cos(theta), y: sin(theta)}, "p_w": {theta: 1}}
    found = da.symmetry.two_form_formulas(system, fields, group)
    assert found.reduced is not None
    assert found.reduced.directions.shape == (2, 2) and found.reduced.form.shape == (2, 2)
    assert found.reduced.form[0, 1] != 0


@pytest.mark.parametrize("kind", ["fields", "velocities", "default"])
def test_rates_are_those_of_sympy_alone(kind: str) -> None:
    """Any chart gives the accelerations of Lagrange's equations with multipliers."""
    system, _, values = sleigh()
    x, y, theta = system.coordinates
    given: Any = None
    if kind == "fields":
        given = {"p_v": {x: cos(theta), y: sin(theta)}, "p_w": {theta: 1}}
    elif kind == "velocities":
        given = {"u": x.dot * cos(theta) + y.dot * sin(theta) + 0.3 * theta.dot, "w": theta.dot}
    found = da.symmetry.two_form_formulas(system, given)
    own, random = of_system(system, values), np.random.default_rng(2)
    q = random.uniform(0.3, 0.9, 3)
    u = own.allowed(q, random.uniform(-1, 1, 3))
    a = own.accelerations(q, u)
    numbers = {s: values[s.name] for s in system.parameters} | dict(
        zip((x, y, theta), q, strict=True)
    )
    linear = found.rates[:3, :].jacobian(list(found.momenta)).subs(numbers)
    momenta = np.linalg.lstsq(np.array(linear, dtype=float), u, rcond=None)[0]
    state = numbers | dict(zip(found.momenta, momenta, strict=True))
    assert np.allclose(np.array(found.rates[:3, :].subs(state), dtype=float).ravel(), u)
    chain = found.rates[:3, :].jacobian(list(found.chart)) * found.rates
    assert np.allclose(np.array(chain.subs(state), dtype=float).ravel(), a, atol=1e-10)


def test_momenta_that_are_no_chart_are_refused() -> None:
    system, group, _ = sleigh()
    x, y, theta = system.coordinates
    with pytest.raises(ModelError, match="1 of 2"):
        da.symmetry.two_form_formulas(system, {"p": {theta: 1}})
    with pytest.raises(FormError, match="leaves the constraints"):
        da.symmetry.two_form_formulas(system, {"p": {theta: 1}, "s": {x: 1}})
    ahead = {x: cos(theta), y: sin(theta)}
    with pytest.raises(FormError, match="depend on each other"):
        da.symmetry.two_form_formulas(
            system, {"p": ahead, "s": {x: 2 * cos(theta), y: 2 * sin(theta)}}
        )
    grown = {x: (1 + x**2) * cos(theta), y: (1 + x**2) * sin(theta)}
    with pytest.raises(FormError, match="not invariant"):
        da.symmetry.two_form_formulas(system, {"p": grown, "w": {theta: 1}}, group)


def test_affine_constraints_and_gyroscopic_terms_are_refused() -> None:
    x, y = da.coordinates("x y")
    kinetic = (x.dot**2 + y.dot**2) / 2
    belt = da.System([x, y], kinetic=kinetic, constraints=[da.velocity(x.dot - y * y.dot - 1)])
    with pytest.raises(FormError, match="linear constraints"):
        da.symmetry.two_form_formulas(belt)
    with pytest.raises(FormError, match="kinetic less potential"):
        da.symmetry.two_form_formulas(da.System([x, y], lagrangian=kinetic + x * y.dot))
