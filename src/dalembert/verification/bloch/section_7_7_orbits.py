"""Bloch and others, Internet Supplement, section 7.7: optimal control on adjoint orbits (7.7.1 to 7.7.12).

Random x and p in so(3), so(4), su(2) and su(3), written by real skew matrices. The library gives rates, energies and motions;
independent implementations are complex steps of the Hamiltonians of the print and dense linear algebra with ad_x. <a, b> is
-tr(a b)/2, a multiple of the negative Killing form, which changes neither side of any claim.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...geometry.lie import LieGroup
from ..independent.matrix_flows import (
    ALGEBRAS,
    APART,
    LIBRARY,
    SPAN,
    Algebra,
    algebra,
    both,
    bracket,
    exponential,
    gap,
    inner,
    orbit_energy,
    orbit_path,
    orbit_rates,
    over_points,
    points,
    potential,
    target,
)
from ..numeric import STEP, derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random x and p in so(3), so(4), su(2) and su(3)"
STATED = "random x and p in so(3), su(2) and so(4)"
#: The kinds of flows whose Hamiltonian has a potential, by algebra.
DRIVEN = (("so(3)", "brockett"), ("so(3)", "potential"), ("su(2)", "brockett"), ("su(2)", "potential"), ("so(4)", "brockett"))


def stored(here: Algebra, kind: str, x: Any) -> Any:
    """V(x) of a kind of flow."""
    if kind == "brockett":
        across = bracket(x, target(here.name))
        return -inner(across, across) / 2
    return potential(x, target(here.name).round()) if kind == "potential" else 0 * x[0, 0]


def pull(here: Algebra, kind: str, x: Any) -> Any:
    """V_x as a matrix, by complex steps."""
    return here.matrix(derivative(lambda c: stored(here, kind, here.matrix(c)), here.vector(x)))


def canonical(here: Algebra, energy: Any, x: Any, p: Any) -> tuple[Any, Any]:
    """x_dot = H_p and p_dot = -H_x by complex steps of H(x, p)."""
    d = here.dimension
    state = np.concatenate([here.vector(x), here.vector(p)])
    found = derivative(lambda z: energy(here.matrix(z[:d]), here.matrix(z[d:])), state)
    return here.matrix(found[d:]), -here.matrix(found[:d])


def reduced_energy(here: Algebra, kind: str) -> Any:
    """1/2 |[p, x]|^2 + V(x), eq. 7.7.11."""
    return lambda x, p: inner(bracket(p, x), bracket(p, x)) / 2 + stored(here, kind, x)


def against_library(residual: Any) -> float:
    """The worst residual over kinds of driven flows and random points."""
    return worst(residual(kind, *point) for name, kind in DRIVEN for point in points(name))


@claim(
    "B-7.7.1",
    "The tangent vectors of an adjoint orbit at x are the brackets [x, u]; a generic orbit has the dimension of the algebra"
    " less its rank",
    how=f"{RANDOM}: complex steps of exp(-s u) x exp(s u), the rank of ad_x, the spectrum of x along the library's motions",
)
def tangent_vectors() -> float:
    ranks = {"so(3)": 1, "so(4)": 2, "su(2)": 1, "su(3)": 2}

    def residual(here: Algebra, x: Any, u: Any) -> float:
        moved = exponential(-1j * STEP * u) @ x @ exponential(1j * STEP * u)
        count = np.linalg.matrix_rank(here.ad(x), tol=1e-9)
        return largest(gap(moved.imag / STEP, bracket(x, u)), float(count != here.dimension - ranks[here.name]))

    spectra = [np.linalg.eigvalsh(1j * orbit_path(*kind)["x"]) for kind in DRIVEN[:3]]
    return largest(over_points(residual), *(distance(s, np.broadcast_to(s[0], s.shape)) for s in spectra))


@claim(
    "B-7.7-pairing",
    "-kappa(x, y) = -tr(ad_x ad_y) is positive definite and invariant: -(n - 2) tr(x y) on so(n), -2 n tr(x y) on su(n)",
    how=f"{RANDOM}: the library's Killing forms of so(3), su(2) and su(3), traces of ad, <[a, b], c> = <a, [b, c]>",
)
def killing_form() -> float:
    factors = {"so(3)": 1.0, "so(4)": 2.0, "su(2)": 2.0, "su(3)": 3.0}

    def residual(here: Algebra, x: Any, y: Any) -> float:
        # Real matrices of twice the size double tr(x y) of su(n).
        kappa = np.trace(here.ad(x) @ here.ad(y))
        z = bracket(x, bracket(x, y)) + y
        return largest(
            distance(kappa, factors[here.name] * np.trace(x @ y)),
            excess(APART + np.trace(here.ad(x) @ here.ad(x))),
            distance(inner(bracket(x, y), z), inner(x, bracket(y, z))),
        )

    found = []
    for group in (LieGroup.SO(3), LieGroup.SU(2), LieGroup.SU(3)):
        here = algebra(group.name.lower())
        coordinates = np.array(group.generators, dtype=float)
        ads = [here.ad(e) for e in coordinates]
        found.append(distance(group.algebra.killing_form, [[np.trace(a @ b) for b in ads] for a in ads]))
    return largest(over_points(residual), *found)


@claim(
    "B-7.7.2",
    "Along (7.7.4) the first variation of the cost, the integral of 1/2 |u|^2 - V(x), vanishes for all variations with fixed"
    " ends; with the other sign of V it does not",
    how="the library's motions on so(3), su(2) and so(4) with Brockett's and a quartic potential: x + s [x, eta] and"
    " u + s (eta_dot + [u, eta]) under quadrature",
)
def stationary_cost() -> float:
    found, turned = [], []
    for name, kind in DRIVEN:
        here, path = algebra(name), orbit_path(name, kind)
        x, u = path["x"], bracket(path["p"], path["x"])
        derivatives = np.array([pull(here, kind, y) for y in x])
        wave = np.sin(np.pi * path.t / SPAN) * (1 + path.t)
        rate = np.pi / SPAN * np.cos(np.pi * path.t / SPAN) * (1 + path.t) + np.sin(np.pi * path.t / SPAN)
        for e in here.basis:
            eta = wave[:, None, None] * e
            kinetic = path.integral(inner(u, rate[:, None, None] * e + bracket(u, eta)))
            driven = path.integral(inner(derivatives, bracket(x, eta)))
            found.append(kinetic - driven)
            turned.append(abs(kinetic + driven))
    return largest(worst(found), excess(APART - max(turned)))


@claim(
    "B-7.7.3",
    "x_dot = [x, u(t)] keeps x on the orbit of x(0): x(t) = g^-1 x(0) g with g_dot = g u, whatever the control is",
    how=f"{RANDOM} with controls that depend on time: SciPy's integrations of x and of g",
)
def controlled_motion() -> float:
    found = []
    for name in ALGEBRAS:
        here, x, a = next(points(name, 1))
        size = x.shape[0]
        b = bracket(a, x) + here.basis[0]

        def rates(t: float, y: Any, a: Any = a, b: Any = b, size: int = size) -> Any:
            place, g = y.reshape(2, size, size)
            u = np.cos(t) * a + np.sin(2 * t) * b
            return np.concatenate([bracket(place, u).ravel(), (g @ u).ravel()])

        start = np.concatenate([x.ravel(), np.eye(size).ravel()])
        end = solve_ivp(rates, (0, SPAN), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        place, g = end.reshape(2, size, size)
        found += [gap(place, g.T @ x @ g), distance(np.linalg.eigvalsh(1j * place), np.linalg.eigvalsh(1j * x))]
    return worst(found)


@claim(
    "B-7.7.4",
    "x_dot = [x, [p, x]], p_dot = [p, [p, x]] - V_x",
    how=f"{STATED}, Brockett's and a quartic potential: the library's rates, V_x by complex steps",
)
def maximum_principle() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        u = bracket(p, x)
        x_dot, p_dot = orbit_rates(here, kind, x, p)
        return largest(gap(x_dot, bracket(x, u)), gap(p_dot, bracket(p, u) - pull(here, kind, x)))

    return against_library(residual)


@claim(
    "B-7.7.5",
    "H(x, p, u) = <p, [x, u]> - 1/2 |u|^2 + V(x): at the best control its derivatives give the equations of motion",
    how=f"{STATED}: u by a dense solve, complex steps of H with u held, against the library's rates",
)
def control_hamiltonian() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        held = _best_control(here, x, p)
        found = canonical(here, lambda y, q: inner(q, bracket(y, held)) - inner(held, held) / 2 + stored(here, kind, y), x, p)
        return largest(*(gap(a, b) for a, b in zip(found, orbit_rates(here, kind, x, p), strict=True)))

    return against_library(residual)


def _best_control(here: Algebra, x: Any, p: Any) -> Any:
    """The u where the derivative of <p, [x, u]> - 1/2 |u|^2 vanishes: its Hessian is minus one."""
    linear = np.array([inner(p, bracket(x, e)) for e in here.basis])
    return here.matrix(np.linalg.solve(np.eye(here.dimension), linear))


@claim(
    "B-7.7.5-slope",
    "dH/du = -<[x, p], .> - <u, .>",
    how=f"{RANDOM} and random u: complex steps of H",
)
def derivative_along_controls() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        u = x @ x @ x + p
        found = derivative(lambda c: inner(p, bracket(x, here.matrix(c))) - c @ c / 2, here.vector(u))
        return gap(found, -here.vector(bracket(x, p)) - here.vector(u))

    return over_points(residual)


@claim(
    "B-7.7.6",
    "The optimal control is u* = [p, x], and every other control has a smaller H",
    how=f"{RANDOM}: a dense solve for u, the library's x_dot = [x, u*], H at random other controls",
)
def optimal_control() -> float:
    random = np.random.default_rng(6)

    def residual(here: Algebra, x: Any, p: Any) -> float:
        u = bracket(p, x)
        rates = [gap(orbit_rates(here, "free", x, p)[0], bracket(x, u))] if here.name in LIBRARY else []
        best = inner(p, bracket(x, u)) - inner(u, u) / 2
        others = [u + here.random(random) for _ in range(5)]
        lost = [excess(inner(p, bracket(x, v)) - inner(v, v) / 2 - best) for v in others]
        return largest(gap(u, _best_control(here, x, p)), *rates, *lost)

    return over_points(residual)


@claim(
    "B-7.7.7",
    "H* = -1/2 <x, [p, [p, x]]> + V(x)",
    how=f"{STATED}: the library's energy, H at a dense solution for u",
)
def optimal_hamiltonian() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        u = _best_control(here, x, p)
        printed = -inner(x, bracket(p, bracket(p, x))) / 2 + stored(here, kind, x)
        whole = inner(p, bracket(x, u)) - inner(u, u) / 2 + stored(here, kind, x)
        return largest(distance(printed, whole), distance(orbit_energy(here, kind, x, p), whole))

    return against_library(residual)


@claim(
    "B-Theorem-7.7.2",
    "(7.7.4) are the canonical equations of H*",
    how=f"{STATED}: complex steps of H* against the library's rates",
)
def canonical_equations() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        found = canonical(here, lambda y, q: -inner(y, bracket(q, bracket(q, y))) / 2 + stored(here, kind, y), x, p)
        return largest(*(gap(a, b) for a, b in zip(found, orbit_rates(here, kind, x, p), strict=True)))

    return against_library(residual)


@claim(
    "B-7.7.8",
    "With V = -1/2 |[x, n]|^2 the equations are x_dot = [x, [p, x]], p_dot = [p, [p, x]] - [n, [n, x]]",
    how=f"{STATED}: the library's rates with Brockett's potential against the brackets",
)
def brockett_equations() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        n, u = target(here.name), bracket(p, x)
        x_dot, p_dot = orbit_rates(here, "brockett", x, p)
        return largest(gap(x_dot, bracket(x, u)), gap(p_dot, bracket(p, u) - bracket(n, bracket(n, x))))

    return over_points(residual, LIBRARY)


@claim(
    "B-Corollary-7.7.3",
    "-1/2 |[x, n]|^2 = 1/2 <x, [n, [n, x]]>, and its gradient is [n, [n, x]]",
    how=f"{RANDOM}: both values, and complex steps",
)
def brockett_potential() -> float:
    def residual(here: Algebra, x: Any, n: Any) -> float:
        across = bracket(x, n)
        double = bracket(n, bracket(n, x))
        found = derivative(lambda c: -inner(bracket(here.matrix(c), n), bracket(here.matrix(c), n)) / 2, here.vector(x))
        return largest(distance(-inner(across, across) / 2, inner(x, double) / 2), gap(found, here.vector(double)))

    return over_points(residual)


@claim(
    "B-7.7-decomposition",
    "The algebra is the orthogonal sum of the image and the kernel of ad_l",
    how=f"{RANDOM}: bases by singular values, generic and degenerate l",
)
def decomposition() -> float:
    def residual(here: Algebra, l: Any, x: Any) -> float:
        found = []
        for place in (l, here.basis[0]):
            matrix, kernel = here.ad(place), here.kernel(place)
            left, sizes, _ = np.linalg.svd(matrix)
            image = left[:, sizes > 1e-10 * sizes[0]]
            part = here.image_part(place, x)
            found += [
                worst((image.T @ kernel).ravel()),
                float(image.shape[1] + kernel.shape[1] != here.dimension),
                worst(bracket(place, x - part).ravel()),
                worst((part - here.matrix(image @ (image.T @ here.vector(part)))).ravel()),
            ]
        return worst(found)

    return over_points(residual)


@claim(
    "B-7.7-inverse",
    "ad_x^-1 is well defined on the image of ad_x, and along the flow ad_x^-1(x_dot) = [p, x]",
    how=f"{RANDOM}: pseudo-inverses of ad_x; x_dot from the library; the kernel of ad_x meets the image in zero alone",
)
def inverse_on_the_image() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        u = bracket(p, x)
        x_dot = orbit_rates(here, "brockett", x, p)[0] if here.name in LIBRARY else bracket(x, u)
        return largest(gap(here.inverse(x, x_dot), u), gap(here.inverse(x, bracket(x, p)), here.image_part(x, p)))

    return over_points(residual)


@claim(
    "B-7.7.9",
    "x_ddot = [x_dot, ad_x^-1 x_dot] + ad_x^2 ad_n^2 x",
    how=f"{STATED}: complex steps of [x, [p, x]] along the library's rates, ad_x^-1 by a pseudo-inverse",
)
def second_order_equation() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        n = target(here.name)
        x_dot, p_dot = orbit_rates(here, "brockett", x, p)
        moved, turned = x + 1j * STEP * x_dot, p + 1j * STEP * p_dot
        x_ddot = np.imag(bracket(moved, bracket(turned, moved))) / STEP
        force = bracket(x, bracket(x, bracket(n, bracket(n, x))))
        return gap(x_ddot, bracket(x_dot, here.inverse(x, x_dot)) + force)

    return over_points(residual, LIBRARY)


@claim(
    "B-Proposition-7.7.4",
    "(7.7.8) and (7.7.9) have the same motions of x; p is fixed up to what commutes with x",
    how="so(3), su(2) and so(4): SciPy's integration of the second-order equation against the library's motion, from p and from"
    " p with another part in the kernel of ad_x",
    tolerance=1e-8,
)
def equivalent_motions() -> float:
    found = []
    for name in LIBRARY:
        here, path = algebra(name), orbit_path(name, "brockett")
        n, d = target(name), algebra(name).dimension
        x, p = path["x"][0], path["p"][0]
        start = np.concatenate([here.vector(m) for m in (x, bracket(x, bracket(p, x)))])

        def rates(_: float, y: Any, here: Algebra = here, n: Any = n, d: int = d) -> Any:
            place, speed = here.matrix(y[:d]), here.matrix(y[d:])
            force = bracket(place, bracket(place, bracket(n, bracket(n, place))))
            return np.concatenate([y[d:], here.vector(bracket(speed, here.inverse(place, speed)) + force)])

        end = solve_ivp(rates, (0, SPAN), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        other = orbit_rates(here, "brockett", x, here.image_part(x, p) + 0.3 * x)[0]
        found += [gap(here.matrix(end[:d]), path["x"][-1]), gap(other, here.matrix(start[d:]))]
    return worst(found)


@claim(
    "B-7.7.10",
    "The integrand of the cost is L = 1/2 (|ad_x^-1 x_dot|^2 + |[x, n]|^2)",
    how=f"{STATED}: 1/2 |u|^2 - V with u = [p, x] against L at the library's x_dot",
)
def lagrangian() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        found = _lagrangian(here, x, orbit_rates(here, "brockett", x, p)[0])
        u = bracket(p, x)
        return distance(found, inner(u, u) / 2 - stored(here, "brockett", x))

    return over_points(residual, LIBRARY)


def _lagrangian(here: Algebra, x: Any, x_dot: Any) -> float:
    u, across = here.inverse(x, x_dot), bracket(x, target(here.name))
    return float(inner(u, u) + inner(across, across)) / 2


@claim(
    "B-7.7.10-kinetic",
    "1/2 |ad_x^-1 x_dot|^2 = -1/2 <ad_x^-2 x_dot, x_dot>",
    how=f"{RANDOM}: pseudo-inverses of ad_x",
)
def kinetic_energy() -> float:
    def residual(here: Algebra, x: Any, a: Any) -> float:
        once = here.inverse(x, bracket(x, a))
        return distance(inner(once, once), -inner(here.inverse(x, once), bracket(x, a)))

    return over_points(residual)


@claim(
    "B-7.7.10-momentum",
    "p = dL/dx_dot = -ad_x^-2 x_dot, the part of p in the image of ad_x",
    how=f"{STATED}: complex steps of L along the orbit; the library's x_dot",
)
def momentum() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        x_dot = orbit_rates(here, "brockett", x, p)[0]
        found = -here.inverse(x, here.inverse(x, x_dot))
        inverse = np.linalg.pinv(here.ad(x), rcond=1e-10)
        derivatives = derivative(lambda c: (inverse @ c) @ (inverse @ c) / 2, here.vector(x_dot))
        return largest(gap(here.vector(found), derivatives), gap(found, here.image_part(x, p)))

    return over_points(residual, LIBRARY)


@claim(
    "B-7.7.10-legendre",
    "<p, x_dot> - L with p = -ad_x^-2 x_dot is H*; L itself with this p, as the print has it, is not",
    how=f"{STATED}: the library's energy and x_dot",
)
def legendre_transformation() -> Corrected:
    def residual(here: Algebra, x: Any, p: Any, printed: bool) -> float:
        x_dot = orbit_rates(here, "brockett", x, p)[0]
        value = _lagrangian(here, x, x_dot)
        whole = value if printed else -inner(here.inverse(x, here.inverse(x, x_dot)), x_dot) - value
        return distance(whole, orbit_energy(here, "brockett", x, p))

    return both(residual, LIBRARY)
