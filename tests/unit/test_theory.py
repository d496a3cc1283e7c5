"""The theory pages: every form has one, with numbers from the script; and the equations that they
display are true.

Each displayed equation is written out here in plain SymPy, without the library's derivations, and
evaluated at random states with the accelerations of Lagrange's equations. A page with a wrong sign
would have a residual of the size of its terms.
"""

from __future__ import annotations

import json
import re
import runpy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "docs" / "theory"
SECTIONS = (
    "Where it comes from",
    "What it needs",
    "Derivation",
    "Example",
    "When to use it",
    "What it costs",
    "Neighbours",
)


@pytest.mark.parametrize("form", da.forms())
def test_every_form_has_a_page_with_all_sections_that_the_site_shows(form):
    text = (THEORY / f"{form}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(SECTIONS)
    assert f"`{form}`" in text.split("## ")[0]
    assert f"theory/{form}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_tables_are_what_the_script_makes_of_its_measurements():
    script = runpy.run_path(str(ROOT / "scripts" / "form_costs.py"))
    found = json.loads((THEORY / "costs.json").read_text(encoding="utf-8"))
    measured = {form for records in found.values() for form in records}
    assert measured == set(da.forms()) - {"gauss", "udwadia-kalaba"}
    for form in measured:
        assert script["form_table"](form, found) in (THEORY / f"{form}.md").read_text(
            encoding="utf-8"
        )
    assert script["all_tables"](found) in (THEORY / "costs.md").read_text(encoding="utf-8")


# -- displayed equations ---------------------------------------------------------------------------

T = sp.Symbol("t")
Q = sp.symbols("x y z")
V = sp.symbols("vx vy vz")
Z = sp.symbols("ax ay az")
X, Y, W = Q
VX, VY, VZ = V
LAGRANGIAN = ((2 + Y**2) * VX**2 + VY**2 + 3 * VZ**2) / 2 + VX * VZ * Y / 3 - X * W - Y**2
FORCE = sp.Matrix([-VX / 2, X + VY / 5, Y - W])
#: v_z = phi(q, v_x, v_y), which depends on all coordinates: linear, and nonlinear in the
#: velocities.
LINEAR = (Y + W / 2) * VX + X * VY
NONLINEAR = LINEAR + sp.sqrt(1 + VX**2 + VY**2)


def rate(value: Any) -> Any:
    """The time derivative along the motion of a function of q and v (and t)."""
    along = zip((*Q, *V), (*V, *Z), strict=True)
    return sum((sp.diff(value, a) * b for a, b in along), sp.diff(value, T))


def gradient(value: Any, symbols: Any) -> Any:
    return sp.Matrix([sp.diff(value, a) for a in symbols])


class Case:
    """The system with v_z = phi, and its motion at random states by Lagrange's multipliers."""

    def __init__(self, phi: Any) -> None:
        self.phi, self.f = phi, VZ - phi
        self.on = {VZ: phi}
        self.frame = sp.Matrix([[1, 0], [0, 1], [sp.diff(phi, VX), sp.diff(phi, VY)]])
        self.lc = LAGRANGIAN.subs(self.on)
        self.dependent_momentum = sp.diff(LAGRANGIAN, VZ)
        self.applied = self.frame.T * FORCE

    @cached_property
    def states(self) -> list[dict[Any, float]]:
        momenta = gradient(LAGRANGIAN, V)
        mass = momenta.jacobian(V)
        right = FORCE + gradient(LAGRANGIAN, Q) - momenta.jacobian(Q) * sp.Matrix(V)
        row = sp.Matrix([self.f]).jacobian(V)
        bend = -(sp.Matrix([self.f]).jacobian(Q) * sp.Matrix(V))[0]
        blocks = sp.lambdify((*Q, *V), (mass, right, row, bend, self.phi), "numpy")
        rng, found = np.random.default_rng(20), []
        for _ in range(2):
            point = rng.uniform(-1, 1, 6)
            point[5] = blocks(*point)[4]
            M, h, A, b, _ = blocks(*point)
            whole = np.block([[M, -A.T], [A, np.zeros((1, 1))]])
            solved = np.linalg.solve(whole, [*h.ravel(), b])
            symbols = (*Q, *V, *Z, sp.Symbol("mu"))
            found.append(dict(zip(symbols, [*point, *solved], strict=True)))
        return found

    def residual(self, expressions: Any, further: Any = None) -> float:
        """The largest of some expressions of q, v, z and mu at the states; `further` symbols are
        given by expressions.
        """
        symbols, more = list(self.states[0]), further or {}
        value = sp.lambdify([*symbols, *more], sp.Matrix(list(expressions)), "numpy", cse=True)
        extra = sp.lambdify(symbols, list(more.values()), "numpy")
        found = [value(*state.values(), *extra(*state.values())) for state in self.states]
        return max(float(np.abs(array).max()) for array in found)


@pytest.fixture(scope="module")
def linear() -> Case:
    return Case(LINEAR)


@pytest.fixture(scope="module")
def nonlinear() -> Case:
    return Case(NONLINEAR)


@pytest.fixture(scope="module", params=["linear", "nonlinear"])
def case(request) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


def dynamics() -> Any:
    """d/dt L_v - L_q - Q."""
    return gradient(LAGRANGIAN, V).applyfunc(rate) - gradient(LAGRANGIAN, Q) - FORCE


def test_lagrange_has_the_reaction_on_the_side_of_the_forces(case):
    mu = sp.Symbol("mu")
    balance = dynamics() - mu * gradient(case.f, V)
    assert case.residual([*balance, rate(case.f)]) < 1e-12
    assert case.residual(dynamics() + mu * gradient(case.f, V)) > 1e-2


def test_maggi_and_gibbs_appell(case):
    assert case.residual(case.frame.T * dynamics()) < 1e-12
    momenta = gradient(LAGRANGIAN, V)
    mass = momenta.jacobian(V)
    c = momenta.jacobian(Q) * sp.Matrix(V) - gradient(LAGRANGIAN, Q)
    bound = rate(case.phi)  # a_z from the constraint; it contains a_x and a_y alone
    a = sp.Matrix([Z[0], Z[1], bound])
    S = (a.T * mass * a)[0] / 2 + (a.T * c)[0]
    assert case.residual(gradient(S, Z[:2]) - case.applied) < 1e-12


def test_voronets(case):
    """And without its terms in A it would be wrong."""
    phi, on = case.phi, case.on

    def moved(value: Any) -> Any:
        return rate(value)  # functions of q, v_x and v_y

    euler, terms = [], []
    for s in range(2):
        derivative = sp.diff(phi, V[s])
        transitivity = moved(derivative) - sp.diff(phi, Q[s]) - sp.diff(phi, W) * derivative
        euler.append(
            moved(sp.diff(case.lc, V[s]))
            - sp.diff(case.lc, Q[s])
            - sp.diff(case.lc, W) * derivative
            - case.applied[s]
        )
        terms.append(case.dependent_momentum.subs(on) * transitivity)
    assert case.residual([a - b for a, b in zip(euler, terms, strict=True)]) < 1e-12
    assert case.residual(euler) > 1e-2


def test_curvature_of_the_constrained_lagrangian(linear):
    A = [-sp.diff(LINEAR, v) for v in V[:2]]

    def lift(a: int, value: Any) -> Any:
        return sp.diff(value, Q[a]) - A[a] * sp.diff(value, W)

    B = sp.Matrix(2, 2, lambda a, b: lift(b, A[a]) - lift(a, A[b]))
    momentum = linear.dependent_momentum.subs(linear.on)
    for a in range(2):
        left = (
            rate(sp.diff(linear.lc, V[a])) - sp.diff(linear.lc, Q[a]) + A[a] * sp.diff(linear.lc, W)
        )
        force = -momentum * sum(B[a, b] * V[b] for b in range(2)) + linear.applied[a]
        assert linear.residual([left - force]) < 1e-12
        bracket = lift(0, -A[1]) - lift(1, -A[0])  # [h_x, h_y] along the fibre
        assert sp.simplify(bracket - B[0, 1]) == 0


@pytest.mark.long
def test_hamel_of_both_kinds(nonlinear):
    """Quasi-velocities eta_1 = (2 + y^2) v_x, eta_2 = v_y - x v_x, and the constraint."""
    eta = sp.symbols("eta1:4")
    f = sp.Matrix([(2 + Y**2) * VX, VY - X * VX, nonlinear.f])
    vx = eta[0] / (2 + Y**2)
    vy = eta[1] + X * vx
    inverse = sp.Matrix([vx, vy, eta[2] + nonlinear.phi.subs({VX: vx, VY: vy}, simultaneous=True)])
    star = LAGRANGIAN.subs(dict(zip(V, inverse, strict=True)), simultaneous=True)
    back = dict(zip(eta, f, strict=True))

    def here(value: Any) -> Any:
        return sp.sympify(value).subs(back, simultaneous=True)

    frame = inverse.jacobian(eta[:2])
    for s in range(2):
        W_s = [
            sum(
                here(frame[j, s]) * (rate(sp.diff(f[r], V[j])) - sp.diff(f[r], Q[j]))
                for j in range(3)
            )
            for r in range(3)
        ]
        T_s = [
            rate(here(frame[i, s]))
            - here(sum(frame[j, s] * sp.diff(inverse[i], Q[j]) for j in range(3)))
            for i in range(3)
        ]
        spread = here(sum(frame[j, s] * sp.diff(star, Q[j]) for j in range(3)))
        applied = sum(here(frame[j, s]) * FORCE[j] for j in range(3))
        plain = rate(here(sp.diff(star, eta[s]))) - spread - applied
        first = plain + sum(here(sp.diff(star, eta[r])) * W_s[r] for r in range(3))
        second = plain - sum(sp.diff(LAGRANGIAN, V[i]) * T_s[i] for i in range(3))
        assert nonlinear.residual([first, second]) < 1e-11
        assert nonlinear.residual([plain]) > 1e-2
        between = [W_s[r] + sum(sp.diff(f[r], V[i]) * T_s[i] for i in range(3)) for r in range(3)]
        assert nonlinear.residual(between) < 1e-12


@pytest.mark.long
def test_poincare_chetaev_with_the_bracket_of_a_frame(nonlinear):
    e = sp.Matrix([[1, Y, 0], [0, 1, X], [W, 0, 1]])  # columns
    w = sp.symbols("w1:4")
    star = LAGRANGIAN.subs(dict(zip(V, e * sp.Matrix(w), strict=True)), simultaneous=True)
    back = dict(zip(w, e.inv() * sp.Matrix(V), strict=True))

    def here(value: Any) -> Any:
        return value.subs(back, simultaneous=True)

    def bracket(a: int, b: int) -> Any:
        return e[:, b].jacobian(Q) * e[:, a] - e[:, a].jacobian(Q) * e[:, b]

    momenta, mu = gradient(LAGRANGIAN, V), sp.Symbol("mu")
    for a in range(3):
        turned = sum((here(w[b]) * bracket(b, a) for b in range(3)), sp.zeros(3, 1))
        right = (momenta.T * turned)[0] + here((e[:, a].T * gradient(star, Q))[0])
        right += (e[:, a].T * (FORCE + mu * gradient(nonlinear.f, V)))[0]
        assert nonlinear.residual([rate(here(sp.diff(star, w[a]))) - right]) < 1e-11


@pytest.mark.long
def test_the_two_form_on_the_constraint_manifold_and_the_canonical_form(linear):
    """In the chart (q, y): v = F dH/dy and y_dot from the restricted two-form, and by Voronets'
    symbols.
    """
    y, frame = sp.symbols("y1:3"), linear.frame
    independent = sp.hessian(linear.lc, V[:2]).inv() * sp.Matrix(y)
    velocities = frame * independent
    at = dict(zip(V, velocities, strict=True))
    p = gradient(LAGRANGIAN, V).subs(at, simultaneous=True)
    H = (p.T * velocities)[0] - LAGRANGIAN.subs(at, simultaneous=True)
    P, derivative = p.jacobian(Q), gradient(H, Q)
    chart = [sp.diff(linear.lc, v) for v in V[:2]]
    rates = sp.Matrix([rate(value) for value in chart])
    turning = frame.T * (P.T - P) * sp.Matrix(V)
    force = frame.T * (FORCE - derivative)
    symbols = []
    for s in range(2):
        bend = sp.diff(LINEAR, V[s])
        transitivity = rate(bend) - sp.diff(LINEAR, Q[s]) - sp.diff(LINEAR, W) * bend
        symbols.append(linear.dependent_momentum * transitivity)
    expected = [
        *(rates - turning - force),
        *(rates - sp.Matrix(symbols) - force),
        *(frame * gradient(H, y) - sp.Matrix(V)),
    ]
    assert linear.residual(expected, dict(zip(y, chart, strict=True))) < 1e-11
    assert linear.residual([*(rates - force)], dict(zip(y, chart, strict=True))) > 1e-2


def test_extremals_are_vakonomic_and_differ_from_dalembert(linear):
    """xi = p + f_v^T chi turns one into the other; along d'Alembert's motion Euler's equations of L
    + chi f fail.
    """
    chi, lam = sp.Symbol("chi"), LAGRANGIAN + sp.Symbol("chi") * linear.f
    derivative = gradient(lam, V)
    bend = derivative.applyfunc(rate) - gradient(lam, Q) - FORCE  # and chi_dot f_v
    xi = sp.symbols("xi1:4")
    u = sp.symbols("u1:3")
    allowed = sp.Matrix([*u, LINEAR.subs({VX: u[0], VY: u[1]}, simultaneous=True)])
    Lambda = (
        LAGRANGIAN.subs(dict(zip(V, allowed, strict=True)), simultaneous=True)
        - (sp.Matrix(xi).T * allowed)[0]
    )
    back = {**dict(zip(xi, derivative, strict=True)), u[0]: VX, u[1]: VY}
    numbers = {chi: sp.Rational(3, 7)}

    def there(value: Any) -> Any:
        return sp.Matrix([value]).subs(back, simultaneous=True).subs(numbers)

    assert linear.residual(there([sp.diff(Lambda, a) for a in u])) < 1e-12
    assert (
        linear.residual(there([sp.diff(Lambda, q) for q in Q]) - gradient(lam, Q).subs(numbers).T)
        < 1e-12
    )
    # What chi_dot f_v cannot take up is what is left along the virtual displacements.
    assert linear.residual((linear.frame.T * bend).subs(numbers)) > 1e-2


def test_the_bracket_of_the_implicit_forms_is_eulers_expression():
    """For a Lagrangian on a bundle, v = sigma(q) q_dot, in both the Lagrangian and the Hamiltonian
    words.
    """
    u, p = sp.symbols("u1:3"), sp.symbols("p1:3")
    sigma = sp.Matrix([[Y, sp.sin(X), 1], [W, 1, X * Y]])
    fibre = (u[0] ** 2 * (2 + X) + u[1] ** 2) / 2 + Y * u[0] - X * W
    values = dict(zip(u, sigma * sp.Matrix(V), strict=True))
    whole = fibre.subs(values, simultaneous=True)
    euler = gradient(whole, V).applyfunc(rate) - gradient(whole, Q)
    momenta = gradient(fibre, u).subs(values, simultaneous=True)
    solved = sp.solve([sp.diff(fibre, a) - b for a, b in zip(u, p, strict=True)], u)
    hamiltonian = (sum(a * b for a, b in zip(p, u, strict=True)) - fibre).subs(
        solved, simultaneous=True
    )
    by_p = gradient(hamiltonian, Q).subs(dict(zip(p, momenta, strict=True)), simultaneous=True)
    turning = sp.Matrix(
        [
            sum(
                momenta[m] * (sp.diff(sigma[m, j], Q[i]) - sp.diff(sigma[m, i], Q[j])) * V[j]
                for m in range(2)
                for j in range(3)
            )
            for i in range(3)
        ]
    )
    moved = sigma.T * momenta.applyfunc(rate)
    derivative = gradient(fibre, Q).subs(values, simultaneous=True)
    assert (moved - derivative - turning - euler).applyfunc(sp.expand).is_zero_matrix
    assert (moved + by_p - turning - euler).applyfunc(sp.cancel).is_zero_matrix


def test_an_orthonormal_frame_turns_by_its_brackets():
    """eta_dot_s = eta_r <v, [e_r, e_s]> - e_s(V) on a skate with its mass centre off the blade,
    against its equations.
    """
    theta, (J, a) = sp.Symbol("theta"), (sp.Rational(3, 2), sp.Rational(2, 5))
    q, eta = (*Q[:2], theta), sp.Matrix(sp.symbols("eta1:3"))
    s, c = sp.sin(theta), sp.cos(theta)
    mass = sp.Matrix([[1, 0, -a * s], [0, 1, a * c], [-a * s, a * c, J + a**2]])
    root = sp.sqrt(J + a**2)
    e = [
        sp.Matrix([c, s, 0]),
        sp.Matrix([0, 0, 1]) / root,
    ]  # the kinetic product of the two vanishes
    frame = sp.Matrix.hstack(*e)
    assert (frame.T * mass * frame - sp.eye(2)).applyfunc(sp.simplify).is_zero_matrix
    potential, v = X * Y, frame * eta

    def bracket(one: Any, other: Any) -> Any:
        return other.jacobian(q) * one - one.jacobian(q) * other

    rates = [
        sum(eta[r] * (v.T * mass * bracket(e[r], e[k]))[0] for r in range(2))
        - (gradient(potential, q).T * e[k])[0]
        for k in range(2)
    ]
    forward, turn = eta[0], eta[1] / root  # u_dot = a w^2 - force, (J + a^2) w_dot = -a u w by hand
    by_hand = [a * turn**2 - (Y * c + X * s), -a * forward * turn / root]
    assert all(sp.simplify(one - other) == 0 for one, other in zip(rates, by_hand, strict=True))
