"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 1.2, quasi-coordinates (eqs. 1.14 to 1.23)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.instant_samples import (
    Instant,
    QuasiInstant,
    free_quasi_instants,
    instants,
    library_definition,
    library_quasi,
    over_quasi_instants,
)
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim
from .transitivity_equations import BOUND, SOLVED

QUASI = "random quasi-velocities"


@claim(
    "R-1.14",
    "Quasi-velocities eta = f(q, q_dot, t) may be nonlinear; they need a regular f_v",
    how=f"{QUASI}: the library's eta against NumPy's off the constraints; f_v by hand against complex steps, and its"
    " determinant",
)
def quasi_velocities() -> float:
    def regular(view: QuasiInstant) -> float:
        by_steps = derivative(lambda v: view.quasi.definition(view.q, v, view.time), view.v)
        return largest(distance(view.rows, by_steps), excess(1e-3 - abs(np.linalg.det(view.rows))))

    found = [regular(view) for view in free_quasi_instants(bent=True)]
    for view in free_quasi_instants(bent=False):
        found.append(distance(library_definition(view.quasi.model.kind)(view.time, view.q, view.v), view.eta))
    return worst(found)


@claim(
    "R-1.15",
    "Their inverse q_dot = F(q, eta, t) satisfies eta = f identically",
    how=f"{QUASI}: the library's F at quasi-velocities off the constraints, put into f, and against Newton's method",
)
def inverse_of_quasi_velocities() -> float:
    found = []
    for view in free_quasi_instants(bent=False):
        model = view.quasi.model
        v = library_quasi(model.kind)(view.time, view.q, view.eta, np.zeros(model.k))["velocities"]
        guess = v + 0.01
        found.append(distance(view.quasi.definition(view.q, v, view.time), view.eta))
        found.append(distance(v, view.quasi.inverse(view.q, view.eta, view.time, guess).real))
    return worst(found)


@claim(
    "R-1.16",
    "f_si F_ir and F_si f_ir are unit matrices",
    how=f"{QUASI}: f_v by hand times the library's F_eta; complex steps of Newton's inverse times f_v, both orders",
)
def inverse_matrices() -> float:
    def residual(view: QuasiInstant) -> float:
        F, one = view.by_eta(view.velocities), np.eye(len(view.q))
        return largest(distance(view.rows @ F, one), distance(F @ view.rows, one))

    library = over_quasi_instants(lambda s, view: distance(view.rows @ view.library["frame"], np.eye(len(s.q))[:, : s.k]))
    return largest(library, *(residual(view) for view in free_quasi_instants(bent=True)))


def _along(function: Any, view: QuasiInstant, way: Any) -> float:
    """The derivative of a function of (q, eta, t) along a direction of q."""
    return float(derivative(lambda e: function(view.q + e[0] * way, view.eta, view.time), [0.0])[0])


def _lagrangian_in_eta(view: QuasiInstant) -> Any:
    model = view.quasi.model
    return lambda q, eta, time: model.lagrangian(q, view.velocities(q, eta, time), time)


@claim(
    "R-1.17",
    "d/dpi_s = F_is d/dq_i at fixed quasi-velocities, and d/dq_i = f_si d/dpi_s",
    how=f"{QUASI}: the library's dL*/dpi against complex steps of L* along F_is; back to dL*/dq by f_v",
)
def quasi_coordinates() -> float:
    def residual(s: Instant, view: QuasiInstant) -> float:
        function = _lagrangian_in_eta(view)
        along = [_along(function, view, way) for way in view.frame.T]
        by_position = derivative(lambda x: function(x, view.eta, view.time), view.q)
        return largest(
            distance(view.library["lagrangian_by_pi"], along[: s.k]), distance(np.array(along) @ view.rows, by_position)
        )

    return over_quasi_instants(residual)


@claim(
    "R-1.18",
    "dq_i = F_is dpi_s and dpi_s = f_si dq_i; the virtual displacements are those with dpi_alpha = 0",
    how=f"{QUASI}: the library's F_eta on random dpi against the displacements by Chetaev's rule, and back by f_v",
)
def displacements_in_quasi_coordinates() -> float:
    def residual(s: Instant, view: QuasiInstant) -> float:
        dq, dpi = view.library["frame"] @ s.sigma, np.concatenate([s.sigma, np.zeros(s.twin.r)])
        return largest(distance(view.rows @ dq, dpi), distance(dq, s.frame @ dq[: s.k]))

    return over_quasi_instants(residual)


def _quasi_variation(view: QuasiInstant, dpi: Any, dpi_rate: Any) -> Any:
    """d eta for dq = F_eta dpi with d(dq)/dt = d(q_dot), (n,)."""
    turning = view.rate(lambda q, v, time: np.linalg.inv(view.quasi.rows(q, v, time)))
    dq, dv = view.frame @ dpi, turning @ dpi + view.frame @ dpi_rate
    return derivative(lambda e: view.quasi.definition(view.q + e[0] * dq, view.v + e[0] * dv, view.time), [0.0])[:, 0]


@claim(
    "R-1.19",
    "d(dpi_i)/dt - d(eta_i) = W_r^i dpi_r = -f_ij T_r^j dpi_r for all n of them",
    how=f"{QUASI} with no closed inverse: complex steps of eta along varied curves off the constraints against W and T; and the"
    " library's W on the constraints",
)
def quasi_transitivity() -> float:
    random, found = np.random.default_rng(21), []
    for view in free_quasi_instants(bent=True):
        dpi, dpi_rate = random.uniform(-1, 1, (2, len(view.q)))
        left = dpi_rate - _quasi_variation(view, dpi, dpi_rate)
        found += [distance(view.W @ dpi, left), distance(-view.rows @ view.T @ dpi, left)]

    def residual(s: Instant, view: QuasiInstant) -> float:
        dpi, dpi_rate = (np.concatenate([part, np.zeros(s.twin.r)]) for part in (s.sigma, s.sigma_dot))
        return distance(view.library["W"] @ s.sigma, dpi_rate - _quasi_variation(view, dpi, dpi_rate))

    return largest(worst(found), over_quasi_instants(residual))


@claim(
    "R-1.20",
    "W_r^i = -f_ij T_r^j",
    how=f"{QUASI}: the library's W against f_v by hand times the library's T; complex steps off the constraints",
)
def symbols_of_both_kinds() -> float:
    off = worst(distance(-view.rows @ view.T, view.W) for view in free_quasi_instants(bent=True))
    on = over_quasi_instants(lambda s, view: distance(view.library["W"], -view.rows @ view.library["T"]))
    return largest(on, off)


@claim(
    "R-1.21",
    "W_j^i = F_rj (d f_ir/dt - f_i,q_r) and T_j^r = d F_rj/dt - dF_r/dpi_j",
    how=f"{QUASI}: the library's W and T against complex steps of f_v and of Newton's inverse",
)
def symbols_of_quasi_velocities() -> float:
    def residual(s: Instant, view: QuasiInstant) -> float:
        return largest(distance(view.library["W"], view.W[:, : s.k]), distance(view.library["T"], view.T[:, : s.k]))

    return over_quasi_instants(residual)


@claim(
    "R-1.22",
    "On the constraints d(eta_alpha) = -W_r^alpha dpi_r = f_alpha,i T_r^i dpi_r",
    how=f"{QUASI}: complex steps of the constraints along varied curves against the library's W and T",
)
def variation_of_bound_quasi_velocities() -> float:
    def residual(s: Instant, view: QuasiInstant) -> float:
        dpi, dpi_rate = (np.concatenate([part, np.zeros(s.twin.r)]) for part in (s.sigma, s.sigma_dot))
        varied = _quasi_variation(view, dpi, dpi_rate)[s.k :]
        by_inverse = view.rows[s.k :] @ view.library["T"] @ s.sigma
        return largest(distance(-view.library["W"][s.k :] @ s.sigma, varied), distance(by_inverse, varied))

    return over_quasi_instants(residual)


def _plain_symbols(s: Instant) -> Any:
    """The library's W for eta_s = q_dot_s and eta_alpha = q_dot_alpha - phi, (n, k)."""
    eta = np.concatenate([s.w, np.zeros(s.twin.r)])
    return library_quasi(s.twin.kind, stated=False)(s.time, s.q, eta, s.z[: s.k])["W"]


@claim(
    "R-1.23",
    "For eta_s = q_dot_s and eta_alpha = q_dot_alpha - phi the symbols are A_s^alpha = -W_s^alpha; the print has A = W",
    how=f"{BOUND} in solved form: the library's A against the library's W, and against complex steps",
)
def symbols_agree() -> Corrected:
    right, printed = [], []
    for s in instants(SOLVED):
        bound = _plain_symbols(s)[s.k :]
        right += [distance(-bound, s.library["symbols"]), distance(-bound, s.symbols)]
        printed.append(distance(bound, s.library["symbols"]))
    return Corrected(worst(right), worst(printed))


@claim(
    "R-1.23-identities",
    "The transitivity equations of the free ones, eta_s = q_dot_s, are then identities",
    how=f"{BOUND} in solved form: the first k rows of the library's W; those of other quasi-velocities must not vanish",
)
def free_transitivity() -> float:
    found = [worst(_plain_symbols(s)[: s.k].ravel()) for s in instants(SOLVED)]
    turned = over_quasi_instants(lambda s, view: worst(view.library["W"][: s.k].ravel()))
    return largest(worst(found), excess(1e-3 - turned))
