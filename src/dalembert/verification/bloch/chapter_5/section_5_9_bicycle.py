"""Bloch and others, Internet Supplement, section 5.9: the bicycle, singular in all and regular on D
(5.9.82-5.9.89).

Forms are held against the library's two-form, carried over from its own chart by complex steps.
"""

from __future__ import annotations

import numpy as np
from numpy import cos, sin

from ....errors import FormError
from ....formulations.registry import derive
from ....runtime.gauss.constrained_solve import rank
from ...independent.planar_bundles import frame, planar
from ...independent.planar_charts import canonical_rates
from ...numeric import Residual, distance
from ...row_registry import Corrected, listed
from .section_5_9_states import OFF, Bicycle, bicycles, lagrangian_off, library_blocks


@listed("B-5.9.82-lagrangian", over=bicycles)
def lagrangian(b: Bicycle) -> Residual:
    u = b.s.u + OFF
    x, y, theta, psi, phi = u
    one, two = cos(b.theta) * x + sin(b.theta) * y, -sin(b.theta) * x + cos(b.theta) * y
    s, co = sin(b.psi), cos(b.psi)
    squares = (one + b.a * s * theta) ** 2 + (two - b.a * co * psi + b.c * theta) ** 2
    squares += (-b.a * s * psi) ** 2
    found = -b.m * b.g * b.a * co + b.J / 2 * phi**2 + b.m / 2 * squares
    return distance(lagrangian_off(b.s, u), found)


@listed("B-5.9.82-constraints", over=bicycles)
def constraints(b: Bicycle) -> Residual:
    co, s = cos(b.theta), sin(b.theta)
    rows = np.array([[-b.phi * co, -b.phi * s, 1, 0, 0], [-s, co, 0, 0, 0]])
    return distance(library_blocks(b.s, "lagrange").A, rows), rows @ canonical_rates(b.s)[0]


@listed("B-5.9.82-singular")
def singular_legendre() -> Residual:
    try:
        derive(planar("bicycle").system, "hamilton")
        return 1.0
    except FormError:
        pass
    found = []
    for b in bicycles:
        metric = library_blocks(b.s, "lagrange").G
        own = library_blocks(b.s, "bates-sniatycki").G
        found += [np.linalg.matrix_rank(metric, tol=1e-10) - 4, rank(metric, 1e-10).rank - 4]
        found.append(rank(own, 1e-10).rank - 3)
    return found


@listed("B-5.9.82-section", over=bicycles)
def section(b: Bicycle) -> Residual:
    return library_blocks(b.s, "lagrange").A @ b.symmetry[:5]


@listed("B-5.9.82-momentum", over=bicycles)
def momentum(b: Bicycle) -> Residual:
    s, st, ct = sin(b.psi), sin(b.theta), cos(b.theta)
    roll, yaw = b.a * cos(b.psi) * b.psi_dot, b.theta_dot
    ahead = ct * b.x_dot + st * b.y_dot + b.a * s * yaw
    side = -st * b.x_dot + ct * b.y_dot - roll + b.c * yaw
    found = (
        b.m * (b.x_dot + b.a * s * ct * yaw + roll * st - b.c * st * yaw) * ct
        + b.m * (b.y_dot + b.a * s * st * yaw - roll * ct + b.c * ct * yaw) * st
        + b.m * ahead * b.a * b.phi * s
        + b.m * side * b.c * b.phi
    )
    return distance(found, b.symmetry[:5] @ b.library_momenta)


@listed("B-5.9.82-sum", over=bicycles)
def momentum_by_body_velocity(b: Bicycle) -> Corrected:
    one, two, three = b.s.xi
    ahead = one + b.a * sin(b.psi) * three
    levers = b.m * b.a * b.phi * sin(b.psi) * ahead
    last = b.m * b.phi * (b.c * two - b.c * b.a * cos(b.psi) * b.psi_dot + b.c**2 * three)
    inside = np.linalg.solve(b.s.library.frame, b.s.xi) + b.s.library.connection @ b.s.v
    p = float(b.s.library.inertia[0, 0] * inside[0])
    right, printed = b.m * ahead + levers + last, b.m * ahead + levers * last
    return Corrected(distance(p, right), distance(p, printed))


#: A_psi, Gamma and I at m = a = 1, c = 1/2, psi = 1/20, phi = 1/10, in 80-bit arithmetic.
AT_START = (
    [-0.04931998668789826, 0, -0.004931998668789826],
    [0.9876340191069217, 0, 0.09876340191069218],
    1.0125208130277452,
)


@listed("B-5.9.82")
def connection() -> Residual:
    def residual(b: Bicycle) -> Residual:
        c, e = b.s.library, np.array([1, 0, b.phi])
        found = c.frame @ c.connection
        return (
            distance(found[:, 0], -b.c * b.a * b.phi * cos(b.psi) / b.K * e),
            found[:, 1],
            distance(c.frame @ c.lift[:, 0], e / (b.m * b.K)),
        )

    values = {"m": 1.0, "a": 1.0, "c": 0.5, "g": 9.81, "j0": 0.5, "j1": 0.0, "j2": 0.0}
    c = planar("bicycle").coefficients.at({"psi": 0.05, "phi": 0.1}, values)
    numbers = c.frame @ c.connection[:, 0], c.frame @ c.lift[:, 0], c.inertia[0, 0]
    return bicycles.worst(residual), *map(distance, numbers, AT_START)


@listed("B-5.9.83", over=bicycles)
def locked_inertia(b: Bicycle) -> Residual:
    return distance(b.s.library.inertia[0, 0] / b.m, b.K)


@listed("B-5.9.84-legendre", over=bicycles)
def constrained_legendre(b: Bicycle) -> Residual:
    s, co, xi = sin(b.psi), cos(b.psi), b.s.xi[0]
    ahead, side = b.m * b.n * xi, b.m * (b.c * b.phi * xi - b.a * co * b.psi_dot)
    found = [
        ahead * cos(b.theta) - side * sin(b.theta),
        ahead * sin(b.theta) + side * cos(b.theta),
        b.m * b.a * s * b.n * xi + b.m * (b.c**2 * b.phi * xi - b.c * b.a * co * b.psi_dot),
        b.m * b.a**2 * b.psi_dot - b.m * b.a * b.c * co * b.phi * xi,
        b.J * b.phi_dot,
    ]
    return distance(b.library_momenta, found)


@listed("B-5.9.84", over=bicycles)
def body_momenta(b: Bicycle) -> Residual:
    return distance(frame(b.theta).T @ b.library_momenta[:3], b.mu(b.chart))


@listed("B-5.9.85", over=bicycles)
def denominator(b: Bicycle) -> Residual:
    E = np.zeros((5, 3))
    E[:, 0], E[3, 1], E[4, 2] = b.symmetry[:5], 1, 1
    found = np.linalg.det(E.T @ library_blocks(b.s, "lagrange").G @ E)
    return distance(found, b.m * b.a**2 * b.m * b.F * b.J)


@listed("B-5.9.86", over=bicycles)
def momentum_by_momenta(b: Bicycle) -> Residual:
    return distance(b.library_momenta @ b.symmetry[:5], b.p)


@listed("B-5.9.86-manifold", over=bicycles)
def constraint_manifold(b: Bicycle) -> Residual:
    return distance(b.library_momenta[:3], frame(b.theta) @ b.mu(b.chart))


@listed("B-5.9.87", over=bicycles)
def distribution(b: Bicycle) -> Residual:
    return b.gap_of_allowed()


@listed("B-5.9.88", over=bicycles)
def symmetries(b: Bicycle) -> Residual:
    return b.gap_of_symmetry()
