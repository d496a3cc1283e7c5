"""Bloch and others, Internet Supplement, section 7.7: optimal control on adjoint orbits (7.7.1 to
7.7.12).

Random x and p in so(3), so(4), su(2) and su(3), written by real skew matrices. The library gives
rates, energies and motions; independent implementations are complex steps of the Hamiltonians of
the print and dense linear algebra with ad_x. <a, b> is -tr(a b)/2, a multiple of the negative
Killing form, which changes neither side of any claim.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from ....geometry.lie import LieGroup
from ....typing import Array
from ...independent.matrix_flows import (
    ALGEBRAS,
    APART,
    LIBRARY,
    SPAN,
    MatrixAlgebra,
    algebra,
    bracket,
    exponential,
    gap,
    inner,
    orbit_energy,
    orbit_path,
    orbit_rates,
    target,
)
from ...numeric import STEP, Residual, Residuals, derivative, distance, excess
from ...row_registry import listed
from .section_7_7_samples import (
    DRIVEN,
    OrbitPoint,
    brockett_points,
    driven_points,
    gaps,
    points,
    still,
    wave,
)


@listed("B-7.7.1")
def tangent_vectors() -> Residual:
    ranks = {"so(3)": 1, "so(4)": 2, "su(2)": 1, "su(3)": 2}

    def residual(s: OrbitPoint) -> Residual:
        here, x, u, _ = s
        moved = exponential(-1j * STEP * u) @ x @ exponential(1j * STEP * u)
        count = np.linalg.matrix_rank(here.ad(x), tol=1e-9)
        return gap(moved.imag / STEP, bracket(x, u)), count - here.dimension + ranks[here.name]

    spectra = (np.linalg.eigvalsh(1j * orbit_path(*kind)["x"]) for kind in DRIVEN[:3])
    return points.worst(residual), *map(still, spectra)


@listed("B-7.7-pairing")
def killing_form() -> Residuals:
    factors = {"so(3)": 1.0, "so(4)": 2.0, "su(2)": 2.0, "su(3)": 3.0}

    def residual(s: OrbitPoint) -> Residual:
        here, x, y, _ = s
        # Real matrices of twice the size double tr(x y) of su(n).
        kappa = np.trace(here.ad(x) @ here.ad(y))
        z = bracket(x, bracket(x, y)) + y
        return (
            distance(kappa, factors[here.name] * np.trace(x @ y)),
            excess(APART + np.trace(here.ad(x) @ here.ad(x))),
            distance(inner(bracket(x, y), z), inner(x, bracket(y, z))),
        )

    yield [points.worst(residual)]
    for group in (LieGroup.SO(3), LieGroup.SU(2), LieGroup.SU(3)):
        here = algebra(group.name.lower())
        ads = [here.ad(e) for e in np.array(group.generators, dtype=float)]
        traces = [[np.trace(a @ b) for b in ads] for a in ads]
        yield distance(group.algebra.killing_form, traces)


@listed("B-7.7.2")
def stationary_cost() -> Residual:
    found, turned = [], []
    for name, kind in DRIVEN:
        here, path = algebra(name), orbit_path(name, kind)
        x, u = path["x"], bracket(path["p"], path["x"])
        pull = OrbitPoint(here, x[0], x[0], kind).pull
        derivatives, (shape, rate) = np.array([pull(y) for y in x]), wave(path, tilted=True)
        for e in here.basis:
            eta = shape * e
            kinetic = path.integral(inner(u, rate * e + bracket(u, eta)))
            driven = path.integral(inner(derivatives, bracket(x, eta)))
            found.append(kinetic - driven)
            turned.append(abs(kinetic + driven))
    return found, excess(APART - max(turned))


@listed("B-7.7.3")
def controlled_motion() -> Residuals:
    for name in ALGEBRAS:
        here, x, a, _ = points(name)[0]
        b, shape = bracket(a, x) + here.basis[0], (2, *x.shape)

        def rates(t: float, y: Array, a: Array = a, b: Array = b) -> Array:
            place, g = y.reshape(2, len(a), len(a))
            u = np.cos(t) * a + np.sin(2 * t) * b
            return np.concatenate([bracket(place, u).ravel(), (g @ u).ravel()])

        start = np.concatenate([x.ravel(), np.eye(len(x)).ravel()])
        end = solve_ivp(rates, (0, SPAN), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        place, g = end.reshape(shape)
        spectra = (np.linalg.eigvalsh(1j * matrix) for matrix in (place, x))
        yield gap(place, g.T @ x @ g), distance(*spectra)


@listed("B-7.7.4", over=driven_points)
def maximum_principle(s: OrbitPoint) -> Residual:
    u = bracket(s.p, s.x)
    return gaps(s.rates, (bracket(s.x, u), bracket(s.p, u) - s.pull(s.x)))


def _best_control(here: MatrixAlgebra, x: Array, p: Array) -> Array:
    """The u where the derivative of <p, [x, u]> - 1/2 |u|^2 vanishes: its Hessian is minus one."""
    linear = np.array([inner(p, bracket(x, e)) for e in here.basis])
    return np.asarray(here.matrix(np.linalg.solve(np.eye(here.dimension), linear)))


@listed("B-7.7.5", over=driven_points)
def control_hamiltonian(s: OrbitPoint) -> Residual:
    u = _best_control(s.here, s.x, s.p)
    found = s.canonical(lambda y, q: inner(q, bracket(y, u)) - inner(u, u) / 2 + s.stored(y))
    return gaps(found, s.rates)


@listed("B-7.7.5-slope", over=points)
def derivative_along_controls(s: OrbitPoint) -> Residual:
    here, x, p, _ = s
    u = here.vector(x @ x @ x + p)
    found = derivative(lambda c: inner(p, bracket(x, here.matrix(c))) - c @ c / 2, u)
    return gap(found, -here.vector(bracket(x, p)) - u)


@listed("B-7.7.6")
def optimal_control() -> Residual:
    random = np.random.default_rng(6)

    def residual(s: OrbitPoint) -> Residual:
        here, x, p, _ = s
        u = bracket(p, x)
        rates = [gap(s.rates[0], bracket(x, u))] if here.name in LIBRARY else []
        best = inner(p, bracket(x, u)) - inner(u, u) / 2
        others = [u + here.random(random) for _ in range(5)]
        lost = [excess(inner(p, bracket(x, v)) - inner(v, v) / 2 - best) for v in others]
        return gap(u, _best_control(here, x, p)), *rates, *lost

    return points.worst(residual)


@listed("B-7.7.7", over=driven_points)
def optimal_hamiltonian(s: OrbitPoint) -> Residual:
    here, x, p, kind = s
    u = _best_control(here, x, p)
    printed = -inner(x, bracket(p, bracket(p, x))) / 2 + s.stored(x)
    whole = inner(p, bracket(x, u)) - inner(u, u) / 2 + s.stored(x)
    return distance(printed, whole), distance(orbit_energy(here, kind, x, p), whole)


@listed("B-Theorem-7.7.2", over=driven_points)
def canonical_equations(s: OrbitPoint) -> Residual:
    found = s.canonical(lambda y, q: -inner(y, bracket(q, bracket(q, y))) / 2 + s.stored(y))
    return gaps(found, s.rates)


@listed("B-7.7.8", over=brockett_points)
def brockett_equations(s: OrbitPoint) -> Residual:
    n, u = target(s.here.name), bracket(s.p, s.x)
    return gaps(s.rates, (bracket(s.x, u), bracket(s.p, u) - bracket(n, bracket(n, s.x))))


@listed("B-Corollary-7.7.3", over=points)
def brockett_potential(s: OrbitPoint) -> Residual:
    here, x, n, _ = s

    def value(c: Array) -> Array:
        across = bracket(here.matrix(c), n)
        return np.asarray(-inner(across, across) / 2)

    double = bracket(n, bracket(n, x))
    found = derivative(value, here.vector(x))
    return distance(value(here.vector(x)), inner(x, double) / 2), gap(found, here.vector(double))


@listed("B-7.7-decomposition", over=points)
def decomposition(s: OrbitPoint) -> Residuals:
    here, l, x, _ = s
    for place in (l, here.basis[0]):
        kernel = here.kernel(place)
        left, sizes, _ = np.linalg.svd(here.ad(place))
        image = left[:, sizes > 1e-10 * sizes[0]]
        part = here.image_part(place, x)
        yield [
            image.T @ kernel,
            image.shape[1] + kernel.shape[1] - here.dimension,
            bracket(place, x - part),
            part - here.matrix(image @ (image.T @ here.vector(part))),
        ]


@listed("B-7.7-inverse", over=points)
def inverse_on_the_image(s: OrbitPoint) -> Residual:
    here, x, p, _ = s
    u = bracket(p, x)
    x_dot = orbit_rates(here, "brockett", x, p)[0] if here.name in LIBRARY else bracket(x, u)
    inverses = here.inverse(x, x_dot), here.inverse(x, bracket(x, p))
    return gaps(inverses, (u, here.image_part(x, p)))


@listed("B-7.7.9", over=brockett_points)
def second_order_equation(s: OrbitPoint) -> Residual:
    n, (x_dot, p_dot) = target(s.here.name), s.rates
    moved, turned = s.x + 1j * STEP * x_dot, s.p + 1j * STEP * p_dot
    x_ddot = np.imag(bracket(moved, bracket(turned, moved))) / STEP
    force = bracket(s.x, bracket(s.x, bracket(n, bracket(n, s.x))))
    return gap(x_ddot, bracket(x_dot, s.here.inverse(s.x, x_dot)) + force)


@listed("B-Proposition-7.7.4")
def equivalent_motions() -> Residuals:
    for name in LIBRARY:
        here, path = algebra(name), orbit_path(name, "brockett")
        x, p = path["x"][0], path["p"][0]
        start = np.concatenate([here.vector(m) for m in (x, bracket(x, bracket(p, x)))])

        def rates(_: float, y: Array, here: MatrixAlgebra = here) -> Array:
            n, (place, speed) = target(here.name), here.matrix(y.reshape(2, -1))
            force = bracket(place, bracket(place, bracket(n, bracket(n, place))))
            change = bracket(speed, here.inverse(place, speed)) + force
            return np.concatenate([y[here.dimension :], here.vector(change)])

        end = solve_ivp(rates, (0, SPAN), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        other = orbit_rates(here, "brockett", x, here.image_part(x, p) + 0.3 * x)[0]
        d = here.dimension
        yield gaps((here.matrix(end[:d]), other), (path["x"][-1], here.matrix(start[d:])))


def _lagrangian(here: MatrixAlgebra, x: Array, x_dot: Array) -> float:
    u, across = here.inverse(x, x_dot), bracket(x, target(here.name))
    return float(inner(u, u) + inner(across, across)) / 2


@listed("B-7.7.10", over=brockett_points)
def lagrangian(s: OrbitPoint) -> Residual:
    u = bracket(s.p, s.x)
    return distance(_lagrangian(s.here, s.x, s.rates[0]), inner(u, u) / 2 - s.stored(s.x))


@listed("B-7.7.10-kinetic", over=points)
def kinetic_energy(s: OrbitPoint) -> Residual:
    here, x, a, _ = s
    once = here.inverse(x, bracket(x, a))
    return distance(inner(once, once), -inner(here.inverse(x, once), bracket(x, a)))


@listed("B-7.7.10-momentum", over=brockett_points)
def momentum(s: OrbitPoint) -> Residual:
    here, x, p, _ = s
    x_dot = s.rates[0]
    found = -here.inverse(x, here.inverse(x, x_dot))
    inverse = np.linalg.pinv(here.ad(x), rcond=1e-10)
    derivatives = derivative(lambda c: (inverse @ c) @ (inverse @ c) / 2, here.vector(x_dot))
    return gap(here.vector(found), derivatives), gap(found, here.image_part(x, p))


@listed("B-7.7.10-legendre", over=brockett_points, misprint={"printed": True})
def legendre_transformation(s: OrbitPoint, printed: bool = False) -> Residual:
    here, x, p, kind = s
    x_dot = s.rates[0]
    value = _lagrangian(here, x, x_dot)
    whole = value if printed else -inner(here.inverse(x, here.inverse(x, x_dot)), x_dot) - value
    return distance(whole, orbit_energy(here, kind, x, p))
